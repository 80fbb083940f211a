#include "planner/validation/serving_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace sextant {
namespace {

/// Times that only another unit explains.
void refuse_seconds(ServingRow const& row) {
    // assumed: no server answers faster, and no device takes less for an iteration
    constexpr double least_ttft_ms = 1;
    constexpr double least_tpot_ms = 0.1;
    for (auto const& [name, ms, least] :
         {std::tuple{"ttft_ms", row.ttft_ms, least_ttft_ms}, {"tpot_ms", row.tpot_ms, least_tpot_ms}})
        if (ms && *ms > 0 && *ms < least)
            throw RowSkip(fmt::format("{} is below {:g} (seconds? the column is in milliseconds)", name, least));
}

/// Figures of a closed loop that contradict each other: tokens a second times the time of a request are the tokens of
/// those in flight. What a run's beginning and end, with fewer in flight, take away stays within the factor (assumed).
void refuse_contradictions(ServingRow const& row, ServedCase const& out) {
    constexpr double apart = 1.5;
    ServedFigures const& m = out.measured;
    if (!m.output_tokens_per_s || !m.ttft || !m.tpot || !row.output_len) return;
    double const seconds = (*m.ttft + (out.request.output - 1) * *m.tpot) / units::s;
    double const share = *m.output_tokens_per_s * seconds / (out.amount * out.request.output);
    if (share <= apart && share * apart >= 1) return;
    double const gpus = static_cast<double>(row.num_gpus.value_or(row.tp.value_or(1)));
    constexpr double near = 1.25;
    bool const per_gpu = gpus > 1 && share * gpus < near && share * gpus * near > 1;
    throw RowSkip(fmt::format("output_tokens_per_s contradicts concurrency, ttft and tpot by more than {:g} times{}",
                              apart, per_gpu ? " (per GPU? the column is of all GPUs)" : ""));
}

}  // namespace

void apply_measured(ServingRow const& row, ServedCase& out) {
    refuse_seconds(row);
    ServedFigures& m = out.measured;
    double const output = out.request.output;
    if (row.ttft_ms && *row.ttft_ms > 0) m.ttft = *row.ttft_ms * units::ms;
    if (row.tpot_ms && *row.tpot_ms > 0) m.tpot = *row.tpot_ms * units::ms;
    if (row.output_tokens_per_s && *row.output_tokens_per_s > 0) m.output_tokens_per_s = row.output_tokens_per_s;
    if (row.output_len && row.ttft_ms && row.e2e_ms && output > 1 && (!m.tpot || row.notes_have("use e2e and ttft"))) {
        m.tpot = std::max(1e-6, *row.e2e_ms - *row.ttft_ms) / (output - 1) * units::ms;
        out.assumptions.emplace_back("tpot from the end-to-end latency and ttft");
    }
    if (out.load == ServedLoad::closed_loop) refuse_contradictions(row, out);
    bool const closed = out.load == ServedLoad::static_batch || out.load == ServedLoad::closed_loop;
    if (closed && !m.output_tokens_per_s && m.ttft && m.tpot && row.output_len) {
        m.output_tokens_per_s = out.amount * output / ((*m.ttft + (output - 1) * *m.tpot) / units::s);
        out.assumptions.emplace_back("throughput from ttft and tpot by Little's law");
    }
}

}  // namespace sextant

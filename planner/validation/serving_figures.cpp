#include "planner/validation/serving_figures.hpp"

#include "core/measurements/row_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

/// Tokens a second of a closed loop times the time of a request over the tokens of those in flight: 1 but for what a
/// run's beginning and end, with fewer in flight, take away. Nothing where a figure is missing.
std::optional<double> share_in_flight(ServingRow const& row, ServedCase const& out) {
    ServedFigures const& m = out.measured;
    if (out.load != ServedLoad::closed_loop) return std::nullopt;
    if (!m.output_tokens_per_s || !m.ttft || !m.tpot || !row.output_len) return std::nullopt;
    double const seconds = (*m.ttft + (out.request.output - 1) * *m.tpot) / units::s;
    return *m.output_tokens_per_s * seconds / (out.amount * out.request.output);
}

constexpr double apart = 1.5;  // assumed: as far as figures of one row may be from each other

bool contradict(std::optional<double> share) { return share && (*share > apart || *share * apart < 1); }

/// Figures that contradict each other.
void refuse_contradictions(ServingRow const& row, ServedCase const& out) {
    auto const share = share_in_flight(row, out);
    if (!contradict(share)) return;
    double const gpus = static_cast<double>(row.num_gpus.value_or(row.tp.value_or(1)));
    constexpr double near = 1.25;
    bool const per_gpu = gpus > 1 && *share * gpus<near&& * share * gpus * near> 1;
    throw RowSkip(fmt::format("output_tokens_per_s contradicts concurrency, ttft and tpot by more than {:g} times{}",
                              apart, per_gpu ? " (per GPU? the column is of all GPUs)" : ""));
}

/// Output tokens a second from requests, or from all tokens, a second; not where they contradict the other figures:
/// those are the source's own.
void derive_throughput(ServingRow const& row, ServedCase& out) {
    auto& rate = out.measured.output_tokens_per_s;
    if (rate || !row.output_len) return;
    double const output = out.request.output;
    char const* from = "requests a second";
    if (row.requests_per_s && *row.requests_per_s > 0) {
        rate = *row.requests_per_s * output;
    } else if (row.total_tokens_per_s && *row.total_tokens_per_s > 0) {
        rate = *row.total_tokens_per_s * output / (out.request.prompt + output);
        from = "tokens of prompts and answers a second";
    }
    if (contradict(share_in_flight(row, out)))
        rate.reset();
    else if (rate)
        out.assumptions.push_back(fmt::format("throughput from {}", from));
}

/// What follows from the time of a request where so many are in flight: tokens a second.
void apply_littles_law(ServingRow const& row, ServedCase& out) {
    bool const closed = out.load == ServedLoad::static_batch || out.load == ServedLoad::closed_loop;
    ServedFigures& m = out.measured;
    if (!closed || m.output_tokens_per_s || !row.output_len) return;
    out.rate_in_flight = true;
    double const output = out.request.output;
    if (m.ttft && m.tpot) {
        m.output_tokens_per_s = out.amount * output / ((*m.ttft + (output - 1) * *m.tpot) / units::s);
        out.assumptions.emplace_back("throughput from ttft and tpot by Little's law");
    } else if (row.e2e_ms && *row.e2e_ms > 0) {
        m.output_tokens_per_s = out.amount * output / (*row.e2e_ms / 1000);
        out.assumptions.emplace_back("throughput from the end-to-end latency by Little's law");
    }
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
    refuse_contradictions(row, out);
    derive_throughput(row, out);
    apply_littles_law(row, out);
}

}  // namespace sextant

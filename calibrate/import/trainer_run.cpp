#include "calibrate/import/trainer_run.hpp"

#include "calibrate/import/iteration_times.hpp"
#include "core/measurements/row_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

namespace sextant {
namespace {

std::string trainer_cell(double value) { return fmt::format("{:.6g}", value); }

/// Seconds of a step: of steps behind the warm-up where they are timed, else of the whole run without evaluations.
double step_time(TrainerRun const& run) {
    if (run.step_seconds > 0) return run.step_seconds;
    if (!(run.runtime > 0))
        throw RowSkip(
            "no train_runtime: the run did not end, or this is the state of a checkpoint (trainer.save_state() writes "
            "that of the whole run into the output folder)");
    constexpr double enough = 0.1;  // three decimals: within half a per cent
    if (run.steps < 1) {
        if (run.steps_per_s < enough)
            throw RowSkip(
                "how many steps there were is not said, and a rate below 0.1 has too few digits "
                "(trainer_state.json says both)");
        auto const steps = std::llround(std::min(run.steps_per_s * run.runtime, 1e15));
        return steady_figure({{.last = steps, .count = steps, .figure = 1 / run.steps_per_s}});
    }
    double const training = run.runtime - run.evaluations;
    if (training < run.runtime / 2) throw RowSkip("evaluations take more than half of the run");
    return steady_figure(
        {{.last = run.steps, .count = run.steps, .figure = training / static_cast<double>(run.steps)}});
}

/// Sequences of a step from how many samples all steps took: the one whole number that they can come from, a multiple
/// of what the ranks take at a time where that is known. The last batch of an epoch may be smaller.
std::optional<double> batch_of_samples(TrainerRun const& run, ImportRequest const& request) {
    auto const steps = static_cast<double>(run.steps);
    if (!(run.samples_per_s > 0) || run.steps < 1 || !(run.runtime > 0)) return std::nullopt;
    double const mean = run.samples_per_s * run.runtime / steps;
    double const rounding = 0.0006 / run.samples_per_s + 1e-5;
    double const steps_of_epoch = std::max(2.0, steps / std::max(run.epochs, 1e-9));
    auto const ranks = number_cell(request.cells, "num_gpus");
    bool const is_divided =
        request.cells.contains("tp") || request.cells.contains("pp") || request.cells.contains("cp");
    double const unit = ranks && run.micro_batch > 0 && !is_divided ? *ranks * run.micro_batch : 1;
    double const least = mean * (1 - rounding), most = mean * (1 + rounding) / (1 - 1 / steps_of_epoch);
    double const batch = unit * std::ceil(least / unit);
    if (batch > most || batch + unit <= most) return std::nullopt;
    return batch;
}

/// What a step holds: sequences and their length. Of both and of the tokens that were seen any two make the third.
void put_step_load(TrainerRun const& run, ImportRequest const& request, CellRow& row) {
    double const tokens = run.tokens_step > 0 ? run.tokens / run.tokens_step : 0;
    auto batch = number_cell(request.cells, "global_batch_seqs");
    auto length = number_cell(request.cells, "seq_len");
    if (!batch && run.batch > 0) batch = run.batch;
    if (!batch) batch = batch_of_samples(run, request);
    if (tokens > 0 && batch && !length) length = std::max(1.0, std::round(tokens / *batch));
    if (tokens > 0 && length && !batch) batch = std::max(1.0, std::round(tokens / *length));
    constexpr double near = 0.1;  // batches are padded to their longest sequence
    if (tokens > 0 && batch && length && std::abs(*batch * *length - tokens) > near * tokens)
        throw RowSkip(
            fmt::format("{:.0f} tokens a step were seen, and seq_len and global_batch_seqs make {:.0f} (sequences that "
                        "are neither packed nor padded are shorter: leave seq_len out and it is their mean)",
                        tokens, *batch * *length));
    if (batch) put(row, "global_batch_seqs", trainer_cell(*batch));
    if (length) put(row, "seq_len", trainer_cell(*length));
}

}  // namespace

bool is_preference_metric(std::string_view name) {
    constexpr std::array begins{std::string_view("rewards/"), std::string_view("completions/"),
                                std::string_view("objective/"), std::string_view("logps/")};
    return name == "reward" || name == "completion_length" ||
           std::any_of(begins.begin(), begins.end(), [&](std::string_view part) { return name.starts_with(part); });
}

CellRow row_of_trainer_run(TrainerRun const& run, ImportRequest const& request, std::string_view wrote) {
    if (run.is_preference)
        throw RowSkip("a step that generates or compares answers (DPO, GRPO, PPO) is no step of these");
    CellRow row;
    put_source(row, request, fmt::format("log of {},", wrote));
    put(row, "framework", std::string(wrote));
    put(row, "iter_time_s", trainer_cell(step_time(run)));
    put_step_load(run, request, row);
    if (run.micro_batch > 0) put(row, "micro_batch", trainer_cell(run.micro_batch));
    double const peak_gib = run.reserved_gib > 0 ? run.reserved_gib : run.allocated_gib;
    if (peak_gib > 0) put(row, "peak_mem_gb_per_gpu", trainer_cell(1e-9 * 0x1p30 * peak_gib));
    if (peak_gib > 0 && !(run.reserved_gib > 0)) put(row, "notes", "peak is max allocated");
    return row;
}

}  // namespace sextant

#pragma once

#include "planner/report.hpp"
#include "planner/run_plan/run_energy.hpp"
#include "planner/run_plan/run_goodput.hpp"
#include "planner/search.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// What a training run stands on besides model, tokens and the number of accelerators.
struct RunSetting {
    ClusterSpec cluster;
    FrameworkProfile framework;
    MemoryLimit limit;
    SearchConstraints constraints;
    std::optional<std::int64_t> sequence;      ///< default: the model's, up to 8,192
    std::optional<std::int64_t> document;      ///< tokens per packed document
    std::int64_t longest_sequence = 0;         ///< of unequal ones, whose mean is the workload's; 0: all are equal
    std::optional<std::int64_t> global_batch;  ///< sequences; default: `usual_global_batch`
    PowerModel power;
    FailureRecord const* failures = nullptr;  ///< of the catalogue; null: nothing fails and nothing is saved
    unsigned threads = 0;
    std::atomic<bool> const* stop = nullptr;
    std::function<void(std::string const& what)> progress;  ///< called before each search

    [[nodiscard]] bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

/// The best plan that a search found for one step.
struct PlannedStep {
    std::int64_t accelerators = 0;
    std::optional<StepReport> report;   ///< absent: there is none
    std::vector<Candidate> best;        ///< of each layout, as many as were asked for; the first is the report's
    std::optional<RunGoodput> goodput;  ///< absent: nothing fails
    double stage_work = 1;              ///< of the mean stage over the slowest (`mean_stage_work`)
    std::string reason;                 ///< why there is none
    bool interrupted = false;
};

/// Searches the fastest plan on so many accelerators, timed by walking its schedule. A number that the cluster cannot
/// give or at which a constraint leaves nothing to search is a reason as well, not an error.
/// @param layouts of which the best plan is wanted (`PlannedStep::best`)
PlannedStep plan_step(RunSetting const& setting, ModelSpec const& model, Workload const& workload,
                      std::int64_t accelerators, std::size_t layouts = 1);

/// Sequence and global batch of a run of so many tokens.
/// @throws InputError: a sequence longer than a learned position table, or one of the three out of range.
Workload run_workload(RunSetting const& setting, ModelSpec const& model, double tokens);

/// A whole run of one model over so many tokens.
struct TrainingRun {
    StepReport step;
    double tokens = 0;
    double steps = 0;    ///< whole ones: tokens over the tokens of a step, rounded up
    Seconds productive;  ///< steps * step time
    Seconds wall;        ///< with failures and checkpoints: productive over the effective training time ratio
    std::optional<RunGoodput> goodput;  ///< absent: nothing fails
    double accelerator_hours = 0;
    std::optional<Dollars> cost;
    RunEnergy energy;
    [[nodiscard]] double effective_share() const { return productive / wall; }
    [[nodiscard]] double tokens_per_second() const { return tokens / wall.base(); }
};

/// @pre planned.report
TrainingRun training_run(RunSetting const& setting, PlannedStep const& planned, double tokens);

/// Tokens of the whole steps that fit into this much wall clock. @pre planned.report
double tokens_within(PlannedStep const& planned, Seconds wall);

}  // namespace sextant

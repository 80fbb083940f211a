#pragma once

#include "cli/view/table.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/parallel_plan.hpp"
#include "simulator/critical_path.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/memory_timeline.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What `sextant simulate` found out about one plan.
struct SimulationReport {
    TaskGraph const& graph;
    TaskTimes const& times;

    std::string headline{};    ///< model, machines, workload: the first line
    std::string plan_label{};  ///< the second
    std::string model{};       ///< these and the workload for the JSON header
    std::string cluster{};
    std::string framework{};
    ParallelPlan plan{};
    std::string schedule{};  ///< that was simulated, where it is none of a plan; empty: the plan's
    std::int64_t sequence = 0;
    std::int64_t document = 0;  ///< tokens per packed document, 0: none
    std::int64_t global_batch = 0;
    std::string network{};      ///< "fair", "ideal"
    std::string granularity{};  ///< "op", "layer", "stage"

    Simulation::State state = Simulation::State::finished;
    std::int64_t steps = 1;   ///< that were simulated: what ranks, ops and links did is of all of them
    Seconds step_time{};      ///< the mean of them
    StepInterval interval{};  ///< 80 % interval of a step's time, as factors: what the framework's constants are worth
    double tokens_per_second = 0;
    std::int64_t accelerators = 1;
    double mfu = 0;

    std::optional<Seconds> closed_form{};         ///< the same plan by formula
    std::optional<Seconds> without_contention{};  ///< the same graph, every communication alone
    std::vector<Seconds> repetitions{};  ///< step times of the seeds, in their order; empty: one run, no chance
    std::uint64_t first_seed = 0;

    StepAnalysis analysis{};
    CriticalPath path{};
    std::vector<MemoryTimeline> memory{};  ///< by rank, or none
    std::optional<Bytes> usable_memory{};
    std::vector<double> reserved_factors{};  ///< by rank, what the framework reserves of what is allocated; empty: that
    std::vector<LinkUse> links{};            ///< in any order
    std::int64_t activities = 0;
    /// Of the simulation itself. Empty where the report must be the same each time.
    std::optional<Seconds> wall_time{};
    std::vector<std::string> notes{};  ///< what-ifs, what is assumed
};

/// The rank that needs most memory; none without memory over time.
std::optional<std::size_t> fullest_rank(SimulationReport const& report);

/// Most that the framework reserves on a rank; zero without memory over time.
Bytes most_reserved(SimulationReport const& report);

/// Whether what is reserved is usable, on every rank.
bool fits_memory(SimulationReport const& report);

/// The report for people, at most 80 columns wide beside headline and notes (which wrap at 100):
///
///     step time   24.5 ms  (80 %: 19.9 ms to 29.1 ms)
///     bubble      27.3 % of the step on average; busiest rank 3 (stage 3): 25.0 %
///     ...
///     times in ms
///     rank  stage  compute   tp   pp    idle  bubble   memory
std::string simulation_text(SimulationReport const& report);

/// One row per simulated rank, SI units in the header: for csv and markdown.
Table simulation_table(SimulationReport const& report);

/// `format` "simulation", version 1: SI base units, unit-suffixed keys. Memory over time is left out where it has more
/// than 20,000 changes.
std::string simulation_json(SimulationReport const& report);
/// The same of one that did not come to its end: what was asked, `state` and `message`.
std::string unfinished_simulation_json(SimulationReport const& report, std::string const& message);

/// The links by use, fullest first; of equals the first of the list.
std::vector<LinkUse> by_use(std::vector<LinkUse> links);

/// Quantile of times in any order, linear between two. @pre not empty.
Seconds time_quantile(std::vector<Seconds> const& sample, double share);

}  // namespace sextant::cli

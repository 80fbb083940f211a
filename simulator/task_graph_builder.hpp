#pragma once

#include "simulator/closed_form.hpp"
#include "simulator/schedules/schedule.hpp"
#include "simulator/slower_traffic.hpp"
#include "simulator/step_program.hpp"
#include "simulator/task_graph.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace sextant {

/// Whether ranks that do the same at the same time are simulated once.
enum class Folding : std::uint8_t {
    folded,    ///< one rank per pipeline stage stands for all of the stage
    unfolded,  ///< every rank of the plan
};

/// A rank, or a node of them, that computes more slowly than the rest.
struct Straggler {
    std::int64_t rank = 0;  ///< number in the cluster
    double factor = 1;      ///< on the time of its compute
};

struct GraphOptions {
    Granularity granularity = Granularity::op;
    Folding folding = Folding::folded;
    std::int64_t steps = 1;
    std::int64_t prefetch = 1;  ///< layers whose weights are gathered ahead of the one at work
    double jitter = 0;          ///< of every kernel's time: standard deviation of its logarithm; the mean stays
    std::uint64_t seed = 1;
    std::vector<Straggler> stragglers{};
    std::vector<SlowerTraffic> slower{};         ///< what the links of the step slow of data parallelism
    PipelineSchedule const* schedule = nullptr;  ///< instead of the plan's own, e.g. one read from a file
    std::int64_t most_tasks = 20'000'000;
    std::atomic<bool> const* stop = nullptr;  ///< set by an interrupt: the graph is not finished
};

/// `GraphOptions::stop` was set before a graph was complete.
struct BuildInterrupted : std::exception {
    [[nodiscard]] char const* what() const noexcept override { return "interrupted: the tasks are not complete"; }
};

/// Stages, microbatches and chunks of a plan.
ScheduleShape shape_of(ParallelPlan const& plan, Workload const& workload);
/// The schedule that a plan names, for its stages and microbatches. @throws InputError when it cannot run them.
PipelineSchedule schedule_of(ParallelPlan const& plan, Workload const& workload);

/// One training step (or several) as priced tasks, in the order in which streams run them.
///
/// - Slots of the pipeline schedule become tasks of the blocks of their stage, `granularity` deep. A pass over a chunk
///   pays one exposed transfer to (or from) its neighbour, as the closed form counts it.
/// - Collectives that compute waits for stand between the tasks; what a framework hides runs beside them.
/// - Data parallelism: per layer or bucket, gradients are reduced behind the backward pass of the last microbatch (ZeRO
///   2, 3: of every one), weights gathered `prefetch` layers ahead of the forward pass. Where both run, transfers and
///   compute slow each other (`overlap_in_pass`).
/// - All ranks wait for one another before the optimizer (the norm of the gradients).
/// Unfolded, every rank has its own tasks and a collective is one task of its group.
/// @throws InputError when the plan breaks a rule, the schedule does not suit it, or the graph would be too large.
/// @throws BuildInterrupted
TaskGraph build_task_graph(ClosedForm& form, ParallelPlan const& plan, GraphOptions const& options);

}  // namespace sextant

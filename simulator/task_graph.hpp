#pragma once

#include "core/ops/op.hpp"
#include "core/units.hpp"
#include "cost_models/collective_time.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// What executes a task. The tasks of one stream of one rank never overlap: their dependencies say so.
enum class Stream : std::uint8_t {
    compute,
    layer_communication,  ///< collectives inside a layer that compute waits for: tp, cp, ep
    overlapped,           ///< the part of them that runs beside compute
    data_parallel,        ///< gradient reduction and weight gathers
    pipeline,             ///< between stages
    to_host,              ///< copy engines
    from_host,
};
inline constexpr std::size_t stream_count = 7;
std::string_view name_of(Stream stream);

/// What a task counts as in the report; the same parts as `StepBreakdown`.
enum class TaskPart : std::uint8_t {
    gemm,
    attention,
    memory_bound,
    host,  ///< kernel gaps and waiting for the host's launches
    recompute,
    tp,
    cp,
    ep,
    pp,
    dp,
    optimizer,
    offload,
    fixed,
    compute,  ///< a whole layer or stage, at coarse granularity
};
std::string_view name_of(TaskPart part);

/// Which half of the step a task belongs to.
enum class TaskPass : std::uint8_t { forward, backward, backward_input, backward_weight, step };
std::string_view name_of(TaskPass pass);

/// What a communication asks of the network beside its time alone. Many tasks share one.
struct NetworkDemand {
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupKind group = GroupKind::tensor;
    /// Simulated ranks that take part, by index into `TaskGraph::ranks`, in ring order. One member stands for the whole
    /// group (folded); a send/receive has source and destination.
    std::vector<std::int32_t> members;
    NetworkShares shares{};  ///< of the rates that `Fabric` gives a rank's links, when the transfer runs alone
    bool operator==(NetworkDemand const&) const = default;
};

/// One piece of work on one stream.
struct Task {
    double duration = 0;                 ///< seconds when it runs alone, latency included
    double latency = 0;                  ///< of a communication: seconds of `duration` in which no bytes move
    std::uint32_t first_dependency = 0;  ///< into `TaskGraph::dependencies`; those of the next task end it
    std::int32_t rank = 0;               ///< index into `TaskGraph::ranks`; of a group's task its first member
    std::int32_t demand = -1;            ///< index into `TaskGraph::demands`; -1: touches no network
    std::int32_t microbatch = -1;
    std::int16_t stage = -1;  ///< model chunk, in model order
    std::uint16_t name = 0;   ///< index into `TaskGraph::names`
    Stream stream = Stream::compute;
    TaskPart part = TaskPart::compute;
    TaskPass pass = TaskPass::step;
};

/// A rank that is simulated, and how many like it there are.
struct SimulatedRank {
    std::int64_t rank = 0;        ///< number in the cluster
    std::int64_t pipeline = 0;    ///< its place in the pipeline
    std::int64_t stands_for = 1;  ///< ranks that do the same at the same time
};

/// A training step as priced tasks and what each waits for. Knows no shapes. Tasks are numbered so that each comes
/// after all that it depends on.
struct TaskGraph {
    std::vector<Task> tasks;
    std::vector<std::uint32_t> dependencies;
    std::vector<SimulatedRank> ranks;
    std::vector<NetworkDemand> demands;
    std::vector<std::string> names;
    std::vector<std::size_t> steps;  ///< first task of each training step after the first, ascending

    [[nodiscard]] std::span<std::uint32_t const> dependencies_of(std::size_t task) const {
        std::size_t const end = task + 1 < tasks.size() ? tasks[task + 1].first_dependency : dependencies.size();
        return {dependencies.data() + tasks[task].first_dependency, dependencies.data() + end};
    }
    [[nodiscard]] std::string const& name_of_task(std::size_t task) const { return names[tasks[task].name]; }
};

/// When each task ran, in seconds from the start of the step.
struct TaskTimes {
    std::vector<double> start;
    std::vector<double> end;
    [[nodiscard]] Seconds makespan() const;
};

/// Every task as soon as all it depends on has ended: the longest path. Exact where nothing is contended; the second
/// evaluator (DESIGN: schedule walk).
TaskTimes walk_graph(TaskGraph const& graph);

}  // namespace sextant

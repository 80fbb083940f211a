#pragma once

#include "simulator/engine/engine.hpp"
#include "simulator/memory_timeline.hpp"
#include "simulator/task_graph_builder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// What is asked of a simulation.
struct SimulationRequest {
    GraphOptions graph;              ///< `folding` only counts if `folding` below is not set
    std::optional<Folding> folding;  ///< absent: folded unless something makes ranks or links differ
    EngineOptions engine;
    std::vector<DegradedLink> degraded{};
    std::int64_t repetitions = 1;  ///< with seeds `graph.seed`, and one more each
    unsigned threads = 0;          ///< workers at the same time, 0: as many as the machine has cores
};

/// What came of it. The graph, the times and the links are those of the first repetition.
struct PlanSimulation {
    TaskGraph graph;
    std::unique_ptr<Fabric> fabric;
    Simulation simulation;
    Folding folding = Folding::folded;
    Seconds alone;                       ///< the same graph with every communication alone (longest path)
    std::vector<Seconds> repetitions{};  ///< step times, in the order of the seeds; empty when a run did not finish
    [[nodiscard]] bool finished() const { return simulation.state == Simulation::State::finished; }
};

/// Whether something in the request makes ranks or links differ, so that none can stand for others.
bool breaks_symmetry(SimulationRequest const& request);

/// Builds the task graph of a plan, simulates it (every repetition in a process of its own) and returns the first
/// repetition that did not finish, or the first of all.
/// @throws InputError for bad plans, options and link names.
PlanSimulation simulate_plan(ClosedForm& form, ParallelPlan const& plan, SimulationRequest const& request);

/// What the stages of a plan hold in memory: fixed bytes of every simulated rank of the graph, activations per chunk.
/// Of the plan's schedule it takes where the chunks lie, not their order.
/// @param prefetch layers whose weights ZeRO 3 gathers ahead
MemoryInput memory_input(ClosedForm& form, ParallelPlan const& plan, TaskGraph const& graph, std::int64_t prefetch = 1);

/// What the framework reserves of what each simulated rank has allocated at its peak, as a factor.
/// @param schedule that was simulated, in place of the plan's own; null: that
std::vector<double> reserved_factors(ClosedForm& form, ParallelPlan const& plan, TaskGraph const& graph,
                                     std::vector<MemoryTimeline> const& memory, PipelineSchedule const* schedule);

}  // namespace sextant

#pragma once

#include "planner/report.hpp"
#include "planner/search.hpp"
#include "simulator/plan_simulation.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace sextant {

/// What a simulation says of a plan that the closed form has ranked.
struct Verification {
    Simulation::State state = Simulation::State::finished;
    Seconds time;           ///< of the step, finished only
    std::string message{};  ///< otherwise: why there is none
    [[nodiscard]] bool finished() const { return state == Simulation::State::finished; }
};

struct VerifyOptions {
    SimulationRequest simulation{};
    unsigned threads = 0;                     ///< plans at the same time, 0: as many as the machine has cores
    std::atomic<bool> const* stop = nullptr;  ///< set by an interrupt: what is not done is reported as interrupted
    std::function<void(std::size_t done)> progress{};  ///< called after each, from any thread, one at a time
};

/// Simulates plans, each in a process of its own: one that crashes, hangs or cannot be simulated is one without a time.
/// One entry per plan, in their order; the same whatever the threads.
std::vector<Verification> verify(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                                 FrameworkProfile const& framework, std::vector<ParallelPlan> const& plans,
                                 VerifyOptions const& options);

/// Order of plans by what the objective makes of their simulated times; those without one last, as they were.
/// @pre one candidate per verification. @param accelerator_price as `score_of` takes it
std::vector<std::size_t> order_by_objective(std::vector<Verification> const& verified,
                                            std::vector<Candidate> const& candidates, Objective objective,
                                            double accelerator_price);

}  // namespace sextant

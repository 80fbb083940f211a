#include "planner/verify.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "planner/ranking.hpp"
#include "simulator/engine/worker.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

namespace sextant {
namespace {

Verification verify_one(ClosedForm& form, ParallelPlan const& plan, VerifyOptions const& options) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed))
        return {.state = Simulation::State::interrupted, .time = {}, .message = "interrupted"};
    try {
        PlanSimulation const result = simulate_plan(form, plan, options.simulation);
        return {.state = result.simulation.state,
                .time = result.finished() ? result.simulation.times.makespan() : Seconds{},
                .message = result.simulation.message};
    } catch (InputError const& error) {
        return {.state = Simulation::State::stuck, .time = {}, .message = error.what()};
    }
}

}  // namespace

std::vector<Verification> verify(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                                 FrameworkProfile const& framework, std::vector<ParallelPlan> const& plans,
                                 VerifyOptions const& options) {
    std::vector<Verification> verified(plans.size());
    VerifyOptions each = options;
    each.simulation.engine.stop = options.stop;
    std::mutex guard;
    std::size_t done = 0;
    parallel_for(static_cast<std::int64_t>(plans.size()), worker_threads(options.threads), [&](std::int64_t i) {
        auto const p = static_cast<std::size_t>(i);
        ClosedForm form(model, workload, cluster, framework, plans[p].precision);
        verified[p] = verify_one(form, plans[p], each);
        std::lock_guard const lock(guard);
        ++done;
        if (options.progress) options.progress(done);
    });
    return verified;
}

std::vector<std::size_t> order_by_objective(std::vector<Verification> const& verified,
                                            std::vector<Candidate> const& candidates, Objective objective,
                                            double accelerator_price) {
    auto const key = [&](std::size_t i) {
        Seconds const time = verified[i].time;
        return std::pair{score_of(candidates[i], time, objective, accelerator_price), time.base()};
    };
    std::vector<std::size_t> order(verified.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (verified[a].finished() != verified[b].finished()) return verified[a].finished();
        return verified[a].finished() && key(a) < key(b);
    });
    return order;
}

}  // namespace sextant

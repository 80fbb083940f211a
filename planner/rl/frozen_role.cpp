// The plan of a model that is only run forward.
#include "core/graph/plan_check.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/rl/role_costs.hpp"
#include "planner/rl/trainer.hpp"
#include "simulator/forward_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sextant {
namespace {

/// Plans that could run it: degrees and micro-batches as a search for training has them, without recompute and
/// interleaving, the weights whole or sharded.
std::vector<ParallelPlan> forward_plans(SearchSpace const& space, ModelSpec const& model, Workload const& workload) {
    std::vector<ParallelPlan> plans;
    ParallelPlan plan = space.base;
    plan.recompute = Recompute::none;
    plan.offload = Offload::none;
    auto const note = [&] {
        for (int const zero : space.zero) {
            plan.zero = zero;
            if (zero != 0 && zero != 3) continue;  // gradients and optimizer, which there are none of
            if (!find_problem(model, plan, workload)) plans.push_back(plan);
        }
    };
    for (std::int64_t const tp : space.tp)
        for (std::int64_t const cp : space.cp)
            for (std::int64_t const pp : space.pp)
                for (std::int64_t const ep : space.ep)
                    for (std::int64_t const micro_batch : space.micro_batch) {
                        if (space.accelerators % (tp * cp * pp) != 0) continue;
                        plan.tp = tp;
                        plan.cp = cp;
                        plan.pp = pp;
                        plan.ep = ep;
                        plan.dp = space.accelerators / (tp * cp * pp);
                        plan.micro_batch = micro_batch;
                        plan.expert_tp = space.rules.expert_tp(plan);
                        plan.sequence_parallel = tp > 1 ? space.sequence_parallel.front() : Switch::off;
                        if (workload.global_batch % (plan.dp * micro_batch) != 0) continue;
                        std::int64_t const microbatches = workload.global_batch / (plan.dp * micro_batch);
                        if (space.rules.lays_out(plan, model, microbatches)) note();
                    }
    return plans;
}

}  // namespace

std::vector<Trainer::ForwardPlan> Trainer::forward_passes(ModelSpec const& model, std::int64_t accelerators) const {
    SearchConstraints constraints = constraints_of(setting_.framework);
    constraints.base.precision = setting_.constraints.base.precision;
    SearchSpace const space = make_search_space(model, update_, setting_.cluster, accelerators, constraints);
    ClosedForm form = form_of(model);
    std::vector<ForwardPlan> out;
    for (ParallelPlan const& plan : forward_plans(space, model, update_)) {
        PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
        ForwardMemory const memory = forward_memory(form, pipeline, plan);
        out.push_back({.plan = plan,
                       .weights = memory.weights,
                       .working = memory.working,
                       .time = forward_pass(pipeline, plan, form.timing())});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](ForwardPlan const& a, ForwardPlan const& b) { return a.time < b.time; });
    return out;
}

TrainerRole Trainer::frozen(ModelSpec const& model, std::int64_t accelerators, Bytes beside) {
    auto const [found, is_new] = forwards_.try_emplace(who(model, accelerators));
    std::vector<ForwardPlan>& plans = found->second;
    if (is_new) plans = forward_passes(model, accelerators);
    TrainerRole role;
    auto const total = [](ForwardPlan const& p) { return p.weights + p.working; };
    auto const best = std::find_if(plans.begin(), plans.end(),
                                   [&](ForwardPlan const& p) { return total(p) + beside <= setting_.limit.usable; });
    if (best == plans.end()) {
        auto const least = std::min_element(plans.begin(), plans.end(),
                                            [&](auto const& a, auto const& b) { return total(a) < total(b); });
        role.reason =
            least != plans.end()
                ? fmt::format(
                      "memory: {} needs {} to be run forward, beside {} of weights that are trained, "
                      "of {}",
                      plan_label(least->plan), human(total(*least)), human(beside), human(setting_.limit.usable))
                : "no degrees that the framework runs multiply to the accelerators";
        return role;
    }
    if (best->of_unequal == Seconds{}) {
        ClosedForm form = form_of(model);
        best->of_unequal = forward_pass(pipeline_of_unequal(form, best->plan, lengths_), best->plan, form.timing());
    }
    role.possible = true;
    role.weights = best->weights;
    role.scoring = best->working;
    role.forward = overheads_.scoring_of(model) * best->of_unequal;
    return role;
}

}  // namespace sextant

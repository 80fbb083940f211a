#include "planner/rl/trainer.hpp"

#include "core/graph/plan_check.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/rl/role_costs.hpp"
#include "planner/search_space.hpp"
#include "simulator/forward_pass.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

/// Layouts whose best plans are compared by the whole step: further down the list updates are slower than a step gains.
constexpr std::size_t compared_layouts = 6;

}  // namespace

Trainer::Trainer(RunSetting setting, Workload update, SequenceLengths lengths, RlOverheads overheads)
    : setting_(std::move(setting)), update_(update), lengths_(lengths), overheads_(overheads) {
    setting_.longest_sequence = static_cast<std::int64_t>(std::ceil(lengths.longest));
}

ClosedForm Trainer::form_of(ModelSpec const& model) const {
    ClosedForm form(model, update_, setting_.cluster, setting_.framework, setting_.constraints.base.precision);
    form.hold_longest(setting_.longest_sequence);
    return form;
}

TrainerRole Trainer::priced_plan(ClosedForm& form, ParallelPlan const& plan) const {
    TrainerRole role;
    PipelineCost const pipeline = pipeline_of_unequal(form, plan, lengths_);
    role.report = make_report(form, plan, setting_.limit, form.finish(pipeline, plan));
    role.possible = true;
    role.update = overheads_.training_of(form.model()) * role.report->estimate.time;
    role.forward = overheads_.scoring_of(form.model()) * forward_pass(pipeline, plan, form.timing());
    role.state = role.report->estimate.memory.state();
    role.weights = role.report->estimate.memory.weights;
    role.scoring = forward_memory(form, pipeline, plan).working;
    return role;
}

namespace {

/// The same plan with the other ZeRO stages of the space that run and fit.
std::vector<ParallelPlan> other_sharding(ParallelPlan const& plan, SearchSpace const& space, ClosedForm& form,
                                         MemoryLimit const& limit) {
    std::vector<ParallelPlan> out;
    if (most_copies(plan, form.model()) == 1) return out;
    for (int const zero : space.zero) {
        ParallelPlan other = plan;
        other.zero = zero;
        bool const runs = zero != plan.zero && space.rules.shards(other, form.model()) &&
                          space.rules.offloads(other, form.model()) && offload_suits_sharding(other) &&
                          !find_problem(form.model(), other, form.workload());
        if (runs && limit.admits(form.evaluate(other).memory)) out.push_back(other);
    }
    return out;
}

}  // namespace

std::vector<TrainerRole> Trainer::priced(ModelSpec const& model, std::int64_t accelerators, std::size_t layouts) const {
    PlannedStep planned = plan_step(setting_, model, update_, accelerators, layouts);
    if (!planned.report) {
        TrainerRole none;
        none.reason = planned.reason;
        none.interrupted = planned.interrupted;
        return {none};
    }
    ClosedForm form = form_of(model);
    std::vector<TrainerRole> roles{priced_plan(form, planned.report->plan)};
    if (layouts > 1) {
        SearchSpace const space =
            make_search_space(model, update_, setting_.cluster, accelerators, setting_.constraints);
        for (std::size_t i = 0; i < planned.best.size(); ++i) {
            ParallelPlan const& fastest = planned.best[i].plan;
            if (i > 0) roles.push_back(priced_plan(form, fastest));
            for (ParallelPlan const& plan : other_sharding(fastest, space, form, setting_.limit))
                roles.push_back(priced_plan(form, plan));
        }
        // What the search compared is the mean length; a plan that no longer fits with unequal ones is no alternative.
        std::erase_if(roles, [&, first = true](TrainerRole const& role) mutable {
            return !std::exchange(first, false) && !setting_.limit.admits(role.report->estimate.memory);
        });
        std::stable_sort(roles.begin() + 1, roles.end(),
                         [](TrainerRole const& a, TrainerRole const& b) { return a.update < b.update; });
    }
    for (TrainerRole& role : roles)
        role.interrupted = planned.interrupted;
    return roles;
}

Trainer::Who Trainer::who(ModelSpec const& model, std::int64_t accelerators) {
    // Files in folders of one name make models of one name.
    return {model.name, model.head, count_parameters(model).total, accelerators};
}

TrainerRole const& Trainer::role(ModelSpec const& model, std::int64_t accelerators) {
    auto const [found, is_new] = roles_.try_emplace(who(model, accelerators));
    if (is_new) found->second = priced(model, accelerators, 1);
    return found->second.front();
}

std::vector<TrainerRole> const& Trainer::alternatives(ModelSpec const& model, std::int64_t accelerators) {
    auto const [found, is_new] = alternatives_.try_emplace(who(model, accelerators));
    if (is_new) found->second = priced(model, accelerators, compared_layouts);
    return found->second;
}

}  // namespace sextant

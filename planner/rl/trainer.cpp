#include "planner/rl/trainer.hpp"

#include "core/spec/parameters.hpp"
#include "planner/rl/role_costs.hpp"
#include "simulator/forward_pass.hpp"

#include <cmath>

namespace sextant {

Trainer::Trainer(RunSetting setting, Workload update, SequenceLengths lengths, RlOverheads overheads)
    : setting_(std::move(setting)), update_(update), lengths_(lengths), overheads_(overheads) {
    setting_.longest_sequence = static_cast<std::int64_t>(std::ceil(lengths.longest));
}

ClosedForm Trainer::form_of(ModelSpec const& model) const {
    ClosedForm form(model, update_, setting_.cluster, setting_.framework, setting_.constraints.base.precision);
    form.hold_longest(setting_.longest_sequence);
    return form;
}

TrainerRole Trainer::priced(ModelSpec const& model, std::int64_t accelerators) const {
    TrainerRole role;
    PlannedStep planned = plan_step(setting_, model, update_, accelerators);
    role.reason = planned.reason;
    role.interrupted = planned.interrupted;
    if (!planned.report) return role;
    ParallelPlan const plan = planned.report->plan;
    ClosedForm form = form_of(model);
    PipelineCost const pipeline = pipeline_of_unequal(form, plan, lengths_);
    role.report = make_report(form, plan, setting_.limit, form.finish(pipeline, plan));
    role.possible = true;
    role.update = overheads_.training_of(model) * role.report->estimate.time;
    role.forward = overheads_.scoring_of(model) * forward_pass(pipeline, plan, form.timing());
    role.state = role.report->estimate.memory.state();
    role.weights = role.report->estimate.memory.weights;
    role.scoring = forward_memory(form, pipeline, plan).working;
    return role;
}

TrainerRole const& Trainer::role(ModelSpec const& model, std::int64_t accelerators) {
    // Files in folders of one name make models of one name.
    auto const [found, is_new] =
        roles_.try_emplace({model.name, model.head, count_parameters(model).total, accelerators});
    if (is_new) found->second = priced(model, accelerators);
    return found->second;
}

TrainerRole const& Trainer::frozen(ModelSpec const& model, std::int64_t accelerators, Bytes beside) {
    auto const [found, is_new] =
        frozen_.try_emplace({model.name, model.head, count_parameters(model).total, accelerators});
    if (is_new) found->second = searched_frozen(model, accelerators, beside);
    return found->second;
}

}  // namespace sextant

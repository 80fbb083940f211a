#include "planner/rl/trainer.hpp"

#include "core/spec/parameters.hpp"
#include "planner/rl/scoring.hpp"

#include <algorithm>

namespace sextant {

TrainerRole Trainer::priced(ModelSpec const& model, std::int64_t accelerators) const {
    TrainerRole role;
    PlannedStep planned = plan_step(setting_, model, update_, accelerators);
    role.reason = planned.reason;
    role.interrupted = planned.interrupted;
    if (!planned.report) return role;
    ClosedForm form(model, update_, setting_.cluster, setting_.framework, setting_.constraints.base.precision);
    role.update = overheads_.training_of(model) * planned.report->estimate.time;
    role.forward = overheads_.scoring_of(model) * forward_pass(form, planned.report->plan);
    role.state = planned.report->estimate.memory.state();
    role.weights = planned.report->estimate.memory.weights;
    role.report = std::move(planned.report);
    return role;
}

TrainerRole const& Trainer::role(ModelSpec const& model, std::int64_t accelerators, RoleHead head) {
    // Files in folders of one name make models of one name.
    auto const [found, is_new] = roles_.try_emplace({model.name, count_parameters(model).total, accelerators, head});
    TrainerRole& role = found->second;
    if (!is_new) return role;
    if (head == RoleHead::vocabulary) return role = priced(model, accelerators);
    role = this->role(model, accelerators);
    if (!role.report) return role;
    ClosedForm form(model, update_, setting_.cluster, setting_.framework, setting_.constraints.base.precision);
    PassTimes const spent = spent_on_vocabulary(form, model, update_, setting_, role.report->plan);
    role.update -= overheads_.training_of(model) * spent.training;
    role.forward -= overheads_.scoring_of(model) * spent.forward;
    StageMemory const memory = memory_of_one_output(model, update_, setting_, role.report->plan);
    if (memory.reserved() < role.report->estimate.memory.reserved()) {
        role.report->estimate.memory = memory;
        role.state = std::min(role.state, memory.state());
        role.weights = std::min(role.weights, memory.weights);
    }
    return role;
}

}  // namespace sextant

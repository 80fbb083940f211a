#include "planner/rl/trainer.hpp"

#include "core/spec/parameters.hpp"
#include "simulator/forward_pass.hpp"

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

TrainerRole const& Trainer::role(ModelSpec const& model, std::int64_t accelerators) {
    // Files in folders of one name make models of one name.
    auto const [found, is_new] =
        roles_.try_emplace({model.name, model.head, count_parameters(model).total, accelerators});
    if (is_new) found->second = priced(model, accelerators);
    return found->second;
}

}  // namespace sextant

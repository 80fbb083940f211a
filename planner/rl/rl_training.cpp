// The trainer's part of a step: updates and scores of every role with one plan of the policy.
#include "core/quantity_text.hpp"
#include "core/spec/output_head.hpp"
#include "planner/rl/rl_step.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// Without its adapters the policy is the reference.
bool reference_has_weights(RlQuestion const& q) {
    return q.reference == ReferenceModel::kept && !q.machine.constraints.base.adapters.on();
}

}  // namespace

bool RlPlanner::train(RlStep& step, Trainer& trainer, TrainerRole const& policy) {
    step.interrupted = policy.interrupted;
    if (!policy.report) {
        step.reason = "training: " + policy.reason;
        return false;
    }
    step.training = policy.report;
    step.update = policy.update;
    std::vector<TrainerRole> const& all = trainer.alternatives(question_.policy, step.train_accelerators);
    step.fastest_update = all.front().update;
    step.plans_compared = static_cast<std::int64_t>(all.size());
    step.on_host = policy.report->estimate.memory.host;
    RlPhases& phases = step.phases;
    if (question_.old_scores == OldScores::recomputed) phases.policy_scores = question_.minibatches() * policy.forward;
    phases.policy_training = static_cast<double>(question_.updates()) * policy.update;
    phases.controller = question_.overheads.controller;
    step.memory.push_back(
        {.role = "policy training",
         .needed = policy.report->estimate.peak(),
         .usable = trainer.setting().limit.usable,
         .remark = fmt::format("with the longest sequence, {} tokens", trainer.setting().longest_sequence)});
    if (question_.algorithm == RlAlgorithm::ppo && !train_critic(step, trainer)) return false;
    return score_frozen(step, trainer, policy);
}

TrainerRole const& RlPlanner::critic_role(RlStep const& step, Trainer& trainer) const {
    return trainer.role(with_labels(question_.critic.value_or(question_.policy)), step.train_accelerators);
}

std::string RlPlanner::lacks_host_memory(Bytes waiting) const {
    Bytes const limit = question_.machine.limit.host;
    if (waiting <= limit) return {};
    return fmt::format("host memory: {} a GPU for what waits there, of {}", human(waiting), human(limit));
}

bool RlPlanner::train_critic(RlStep& step, Trainer& trainer) {
    TrainerRole const critic = critic_role(step, trainer);
    if (!critic.report) {
        step.reason = "critic: " + critic.reason;
        return false;
    }
    step.phases.critic_values = question_.minibatches() * critic.forward;
    step.phases.critic_training = static_cast<double>(question_.updates()) * critic.update;
    step.on_host += critic.report->estimate.memory.host;
    StageMemory const& policy = step.training->estimate.memory;
    Bytes const usable = trainer.setting().limit.usable;
    Bytes const both = std::max(policy.reserved() + critic.state, critic.report->estimate.peak() + policy.state());
    if (both <= usable) {
        step.memory.push_back({.role = "critic training",
                               .needed = both,
                               .usable = usable,
                               .remark = "with the policy's state beside it"});
        return true;
    }
    // Policy out, critic in, and the other way round.
    step.critic_takes_turns = true;
    step.phases.swaps = 2 * (policy.state() + critic.state) / question_.host_rate();
    step.memory.push_back({.role = "critic training",
                           .needed = critic.report->estimate.peak(),
                           .usable = usable,
                           .remark = "its state and the policy's take turns with host memory"});
    Bytes const host = std::max(policy.state(), critic.state);
    if (host <= trainer.setting().limit.host) return true;
    step.reason = fmt::format("critic: {} do not fit beside the policy, and host memory holds {} a GPU", human(both),
                              human(trainer.setting().limit.host));
    return false;
}

bool RlPlanner::critic_stays(RlStep const& step) const {
    return question_.algorithm == RlAlgorithm::ppo && !step.critic_takes_turns;
}

Bytes RlPlanner::trained_weights(RlStep const& step, Trainer& trainer) const {
    Bytes const policy = step.training->estimate.memory.weights;
    return critic_stays(step) ? policy + critic_role(step, trainer).weights : policy;
}

bool RlPlanner::load_frozen(RlStep& step, Trainer& trainer, char const* role, TrainerRole const& model) const {
    StageMemory const& policy = step.training->estimate.memory;
    Bytes const usable = trainer.setting().limit.usable;
    Bytes const beside_weights = model.weights + model.scoring + trained_weights(step, trainer);
    Bytes beside_state = model.weights + model.scoring + policy.state();
    if (critic_stays(step)) beside_state += critic_role(step, trainer).state;
    bool const fits = beside_state <= usable;
    if (!fits && beside_weights > usable) {
        step.reason =
            fmt::format("{}: {} with the weights that are trained, of {}", role, human(beside_weights), human(usable));
        return false;
    }
    if (!fits) step.makes_way = beside_state - beside_weights;
    step.waiting_weights += model.weights;
    step.memory.push_back({.role = role,
                           .needed = fits ? beside_state : beside_weights,
                           .usable = usable,
                           .remark = fits ? "with the training state; waits in host memory"
                                          : "with the trained weights; gradients and optimizer make way"});
    return true;
}

bool RlPlanner::score_frozen(RlStep& step, Trainer& trainer, TrainerRole const& policy) {
    RlPhases& phases = step.phases;
    if (question_.reference == ReferenceModel::kept) phases.reference_scores = question_.minibatches() * policy.forward;
    if (reference_has_weights(question_)) {
        if (!load_frozen(step, trainer, "reference", policy)) return false;
        phases.reference_scores += policy.weights / question_.host_rate();
    }
    if (!question_.reward) {
        phases.rules = question_.reward_time;
        return true;
    }
    TrainerRole const reward =
        trainer.frozen(with_labels(*question_.reward), step.train_accelerators, trained_weights(step, trainer));
    if (!reward.possible) {
        step.reason = "reward model: " + reward.reason;
        return false;
    }
    phases.reward = question_.minibatches() * reward.forward + reward.weights / question_.host_rate();
    return load_frozen(step, trainer, "reward model", reward);
}

}  // namespace sextant

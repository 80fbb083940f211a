#include "planner/rl/rl_step.hpp"

#include "core/quantity_text.hpp"
#include "core/spec/output_head.hpp"
#include "core/spec/parameters.hpp"
#include "planner/rl/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// What engines that sleep keep on the device.
RunSetting beside_engines(RlQuestion const& q) {
    RunSetting setting = q.machine;
    setting.limit.usable -= q.engine.memory_overhead.value;
    return setting;
}

/// Without its adapters the policy is the reference.
bool reference_has_weights(RlQuestion const& q) {
    return q.reference == ReferenceModel::kept && !q.machine.constraints.base.adapters.on();
}

BytesPerSecond host_rate(RlQuestion const& q) { return q.machine.cluster.accelerator.host_bandwidth.value; }

RolloutPrompt prompt_of(RlQuestion const& q) {
    return {.tokens = q.prompt_tokens, .fresh = std::max(1.0, q.prompt_tokens / static_cast<double>(q.group))};
}

/// Of a replica that holds so much.
RolloutLimits rollout_limits(ServingPlan const& plan, ServingMemory const& memory) {
    RolloutLimits limits{.sequences = plan.max_batch,
                         .cache_tokens = memory.cache_tokens * static_cast<double>(plan.attention_dp)};
    if (memory.state_places > 0) limits.sequences = std::min(limits.sequences, memory.state_places * plan.attention_dp);
    return limits;
}

RolloutFleet fleet_of(RlStep const& step, RlQuestion const& q, IterationModel const& model, RolloutLimits limits) {
    return {.model = model,
            .replicas = step.replicas,
            .prompt = prompt_of(q),
            .limits = limits,
            .slowdown = q.overheads.generation};
}

/// Puts an engine beside what the trainer keeps on the device. A share of the whole device is what it asks for, or what
/// is left of what frameworks can use; other shares are of what the engine finds free as it starts.
/// Source: vLLM, v1/worker/gpu_worker.py (its share of the whole device must be free); SGLang 0.5.6, model_runner.py
/// (profile_max_num_token).
void put_beside(Bytes taken, ServingCase& engine, MemoryLimit const& limit) {
    Bytes& capacity = engine.cluster.accelerator.memory_capacity.value;
    Bytes const left = limit.of_device - taken;
    if (engine.engine.memory_share == MemoryShare::device)
        engine.plan.memory_utilisation = std::min(engine.plan.memory_utilisation, left / capacity);
    else
        capacity = std::min(capacity, left);
}

std::string engine_label(ServingPlan const& plan) {
    return plan.pp > 1 ? fmt::format("engine tp {} pp {}", plan.tp, plan.pp) : fmt::format("engine tp {}", plan.tp);
}

/// Whether the states of policy and critic take turns on the accelerators.
bool takes_turns(RlStep const& step) { return step.phases.swaps > Seconds{}; }

}  // namespace

double RlStep::mean_age() const { return AsynchronousStep{.step = {}, .age = age}.mean_age(); }

RlPlanner::RlPlanner(RlQuestion question)
    : question_((check_rl_question(question), std::move(question))),
      lengths_(draw_lengths(question_.lengths, question_.responses(), question_.drawing, question_.seed)),
      apart_(question_.machine, update_workload(question_), question_.overheads),
      beside_engines_(beside_engines(question_), update_workload(question_), question_.overheads) {}

RlPlanner::Engine const& RlPlanner::engine(std::int64_t tp) {
    if (auto const found = engines_.find(tp); found != engines_.end()) return found->second;
    ServingCase what{.model = question_.policy,
                     .cluster = question_.machine.cluster,
                     .plan = question_.rollout,
                     .engine = question_.engine};
    what.plan.tp = tp;
    return engines_.emplace(tp, Engine{.what = what, .model = IterationModel(what)}).first->second;
}

bool RlPlanner::train(RlStep& step, Trainer& trainer) {
    TrainerRole const& policy = trainer.role(question_.policy, step.train_accelerators);
    step.interrupted = policy.interrupted;
    if (!policy.report) {
        step.reason = "training: " + policy.reason;
        return false;
    }
    step.training = policy.report;
    step.update = policy.update;
    double const minibatches = static_cast<double>(question_.responses() / question_.batch());
    RlPhases& phases = step.phases;
    if (question_.old_scores == OldScores::recomputed) phases.policy_scores = minibatches * policy.forward;
    bool const own_weights = reference_has_weights(question_);
    if (question_.reference == ReferenceModel::kept) phases.reference_scores = minibatches * policy.forward;
    if (own_weights) {
        phases.reference_scores += policy.weights / host_rate(question_);
        step.waiting_weights += policy.weights;
    }
    phases.policy_training = static_cast<double>(question_.updates()) * policy.update;
    phases.controller = question_.overheads.controller;
    step.memory.push_back({.role = "policy training",
                           .needed = policy.report->estimate.peak(),
                           .usable = trainer.setting().limit.usable});
    if (own_weights)
        step.memory.push_back({.role = "reference",
                               .needed = 2 * policy.weights,
                               .usable = trainer.setting().limit.usable,
                               .remark = "beside the policy's weights; waits in host memory"});
    add_reward(step, trainer);
    return step.possible() && (question_.algorithm != RlAlgorithm::ppo || train_critic(step, trainer));
}

void RlPlanner::add_reward(RlStep& step, Trainer& trainer) {
    if (!question_.reward) {
        step.phases.rules = question_.reward_time;
        return;
    }
    TrainerRole const& reward = trainer.role(with_labels(*question_.reward), step.train_accelerators);
    if (!reward.report) {
        step.reason = "reward model: " + reward.reason;
        return;
    }
    double const minibatches = static_cast<double>(question_.responses() / question_.batch());
    step.phases.reward = minibatches * reward.forward + reward.weights / host_rate(question_);
    step.waiting_weights += reward.weights;
    step.memory.push_back({.role = "reward model",
                           .needed = reward.weights + step.training->estimate.memory.weights,
                           .usable = trainer.setting().limit.usable,
                           .remark = "beside the policy's weights; waits in host memory"});
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
    double const minibatches = static_cast<double>(question_.responses() / question_.batch());
    step.phases.critic_values = minibatches * critic.forward;
    step.phases.critic_training = static_cast<double>(question_.updates()) * critic.update;
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
    step.phases.swaps = 2 * (policy.state() + critic.state) / host_rate(question_);
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

bool RlPlanner::generate(RlStep& step, Engine const& engine, Bytes taken) {
    ServingCase what = engine.what;
    if (taken > Bytes{}) put_beside(taken, what, question_.machine.limit);
    ServingMemory const memory = serving_memory(what);
    double const longest =
        question_.prompt_tokens + static_cast<double>(*std::max_element(lengths_.begin(), lengths_.end()));
    RolloutLimits const limits = rollout_limits(what.plan, memory);
    if (memory.longest() < longest) {
        Bytes const needed = memory.fixed() + memory.cache_of(longest);
        step.reason =
            fmt::format("{}: {} for weights and one response, {} usable{}", engine_label(what.plan), human(needed),
                        human(std::max(Bytes{}, memory.usable)), taken > Bytes{} ? " beside the training state" : "");
        return false;
    }
    step.memory.push_back(
        {.role = "engine",
         .needed = memory.fixed(),
         .usable = memory.usable,
         .remark = fmt::format("leaves a cache of {} tokens a replica", human_count(limits.cache_tokens))});
    RolloutFleet const fleet = fleet_of(step, question_, engine.model, limits);
    step.generation = generate_batch(fleet, lengths_);
    step.phases.generation = step.generation.time;
    if (step.mode != RlMode::asynchronous) return true;
    AsynchronousStep const flow = run_asynchronously(fleet, lengths_,
                                                     {.staleness = question_.staleness,
                                                      .train = step.phases.on_trainer() + step.sync.total(),
                                                      .pause = step.sync.total(),
                                                      .rules = step.phases.rules,
                                                      .penalty = question_.staleness_penalty,
                                                      .replicas = question_.followed_replicas});
    step.followed = flow.followed;
    step.step = flow.step;
    step.rollout_busy = flow.generating;
    step.train_busy = step.phases.on_trainer() / flow.step;
    step.age = flow.age;
    step.worth = flow.worth(question_.staleness_penalty);
    return true;
}

void RlPlanner::synchronise(RlStep& step, Engine const& engine, RolloutPlacement placement) {
    step.sync = weight_sync(engine.what, step.training->plan, placement, step.replicas);
    double const bytes = 2 * static_cast<double>(count_parameters(question_.policy).total);
    if (placement == RolloutPlacement::colocated)
        step.sync.software = question_.overheads.sync + bytes * question_.overheads.sync_per_byte;
    step.phases.sync = step.sync.total();
}

void RlPlanner::colocated(RlStep& step, Engine const& engine) {
    if (!train(step, beside_engines_)) return;
    synchronise(step, engine, RolloutPlacement::colocated);
    StageMemory const& policy = step.training->estimate.memory;
    Bytes state = policy.state();
    Bytes host = step.waiting_weights;
    if (question_.algorithm == RlAlgorithm::ppo)
        (takes_turns(step) ? host : state) += critic_role(step, beside_engines_).state;
    Seconds const transfer = 2 * state / host_rate(question_);
    std::optional<RlStep> best;
    std::string why;
    for (bool const offloaded : {false, true}) {
        if (offloaded ? question_.offload == StateOffload::never : question_.offload == StateOffload::always) continue;
        RlStep candidate = step;
        candidate.state_offloaded = offloaded;
        candidate.phases.offload = offloaded ? transfer : Seconds{};
        Bytes const on_host = offloaded ? host + state : host;
        if (why = lacks_host_memory(on_host); !why.empty()) continue;
        if (!generate(candidate, engine, offloaded ? Bytes{} : state)) {
            why = candidate.reason;
            continue;
        }
        candidate.memory.push_back({.role = "host memory", .needed = on_host, .usable = question_.machine.limit.host});
        Seconds const cost = candidate.phases.generation + candidate.phases.offload;
        if (!best || cost < best->phases.generation + best->phases.offload) best = std::move(candidate);
    }
    if (!best) {
        step.reason = why;
        return;
    }
    step = std::move(*best);
    step.step = step.phases.one_after_the_other();
    step.rollout_busy = step.generation.mean_busy / step.step;
    step.train_busy = step.phases.on_trainer() / step.step;
}

void RlPlanner::apart(RlStep& step, Engine const& engine) {
    if (!train(step, apart_)) return;
    Bytes host = step.waiting_weights;
    if (takes_turns(step)) host += std::max(step.training->estimate.memory.state(), critic_role(step, apart_).state);
    if (step.reason = lacks_host_memory(host); !step.possible()) return;
    if (host > Bytes{})
        step.memory.push_back({.role = "host memory", .needed = host, .usable = question_.machine.limit.host});
    synchronise(step, engine, RolloutPlacement::split);
    if (!generate(step, engine, {})) return;
    if (step.mode == RlMode::asynchronous) return;
    step.step = step.phases.one_after_the_other();
    step.rollout_busy = step.generation.mean_busy / step.step;
    step.train_busy = step.phases.on_trainer() / step.step;
}

void RlPlanner::finish(RlStep& step) const {
    double const responses = static_cast<double>(question_.responses());
    double const seconds = step.step / units::s;
    step.responses_per_s = responses / seconds;
    step.tokens_per_s_per_gpu = (responses * question_.prompt_tokens + step.generation.tokens) / seconds /
                                static_cast<double>(question_.accelerators);
}

RlStep RlPlanner::step(RlMode mode, std::int64_t rollout_accelerators, std::int64_t tp) {
    RlStep step;
    step.mode = mode;
    bool const together = mode == RlMode::colocated;
    std::int64_t const all = question_.accelerators;
    step.rollout_accelerators = together ? all : rollout_accelerators;
    step.train_accelerators = together ? all : all - rollout_accelerators;
    Engine const& chosen = engine(tp);
    step.engine = chosen.what.plan;
    std::int64_t const each = step.engine.accelerators();
    step.replicas = step.rollout_accelerators / each;
    if (step.train_accelerators < 1) {
        step.reason = "no accelerator is left to train";
    } else if (step.replicas < 1 || step.rollout_accelerators % each != 0) {
        step.reason =
            fmt::format("{} accelerators are no whole number of engines of {}", step.rollout_accelerators, each);
    } else if (together) {
        colocated(step, chosen);
    } else {
        apart(step, chosen);
    }
    if (step.possible()) finish(step);
    return step;
}

}  // namespace sextant

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

double minibatches(RlQuestion const& q) { return static_cast<double>(q.responses() / q.batch()); }

}  // namespace

double RlStep::mean_age() const { return AsynchronousStep{.step = {}, .age = age}.mean_age(); }

RlPlanner::RlPlanner(RlQuestion question)
    : question_((check_rl_question(question), std::move(question))),
      lengths_(draw_lengths(question_.lengths, question_.responses(), question_.drawing, question_.seed)),
      apart_(question_.machine, update_workload(question_), sequence_lengths(question_.prompt_tokens, lengths_),
             question_.overheads),
      beside_engines_(beside_engines(question_), update_workload(question_),
                      sequence_lengths(question_.prompt_tokens, lengths_), question_.overheads) {}

RlPlanner::Engine const& RlPlanner::engine(EngineSplit split) {
    if (auto const found = engines_.find(split); found != engines_.end()) return found->second;
    ServingCase const what = engine_case(question_, split);
    return engines_.emplace(split, Engine{.what = what, .model = IterationModel(what)}).first->second;
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
    step.on_host = policy.report->estimate.memory.host;
    RlPhases& phases = step.phases;
    if (question_.old_scores == OldScores::recomputed) phases.policy_scores = minibatches(question_) * policy.forward;
    phases.policy_training = static_cast<double>(question_.updates()) * policy.update;
    phases.controller = question_.overheads.controller;
    step.memory.push_back(
        {.role = "policy training",
         .needed = policy.report->estimate.peak(),
         .usable = trainer.setting().limit.usable,
         .remark = fmt::format("with the longest sequence, {} tokens", trainer.setting().longest_sequence)});
    if (question_.algorithm == RlAlgorithm::ppo && !train_critic(step, trainer)) return false;
    return score_frozen(step, trainer);
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
    step.phases.critic_values = minibatches(question_) * critic.forward;
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

bool RlPlanner::score_frozen(RlStep& step, Trainer& trainer) {
    RlPhases& phases = step.phases;
    TrainerRole const& policy = trainer.role(question_.policy, step.train_accelerators);
    if (question_.reference == ReferenceModel::kept) phases.reference_scores = minibatches(question_) * policy.forward;
    if (reference_has_weights(question_)) {
        if (!load_frozen(step, trainer, "reference", policy)) return false;
        phases.reference_scores += policy.weights / host_rate(question_);
    }
    if (!question_.reward) {
        phases.rules = question_.reward_time;
        return true;
    }
    TrainerRole const& reward =
        trainer.frozen(with_labels(*question_.reward), step.train_accelerators, trained_weights(step, trainer));
    if (!reward.possible) {
        step.reason = "reward model: " + reward.reason;
        return false;
    }
    phases.reward = minibatches(question_) * reward.forward + reward.weights / host_rate(question_);
    return load_frozen(step, trainer, "reward model", reward);
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
                                                      .group = question_.group,
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

void RlPlanner::make_room_for_weights(RlStep& step, Engine const& engine) const {
    RunSetting const& setting = beside_engines_.setting();
    Bytes const weights = serving_memory(engine.what).weights;
    Bytes const both = step.training->estimate.memory.weights + weights;
    bool const fits = both <= setting.limit.usable;
    if (!fits) step.sync.over_host = step.sync.rank_bytes / host_rate(question_);
    step.phases.sync = step.sync.total();
    step.memory.push_back({.role = "new weights",
                           .needed = fits ? both : weights,
                           .usable = setting.limit.usable,
                           .remark = fits ? "the trainer's and the engine's" : "by way of host memory"});
}

void RlPlanner::colocated(RlStep& step, Engine const& engine) {
    if (!train(step, beside_engines_)) return;
    synchronise(step, engine, RolloutPlacement::colocated);
    StageMemory const& policy = step.training->estimate.memory;
    Bytes state = policy.state();
    Bytes host = step.waiting_weights + step.on_host;
    if (question_.algorithm == RlAlgorithm::ppo)
        (step.critic_takes_turns ? host : state) += critic_role(step, beside_engines_).state;
    Seconds const transfer = 2 * state / host_rate(question_);
    std::optional<RlStep> best;
    std::string why;
    for (bool const offloaded : {false, true}) {
        if (offloaded ? question_.offload == StateOffload::never : question_.offload == StateOffload::always) continue;
        RlStep candidate = step;
        candidate.state_offloaded = offloaded;
        candidate.phases.offload = offloaded ? transfer : Seconds{};
        // State that comes back can wait until the frozen models are done.
        Bytes const on_host = host + (offloaded ? state : step.makes_way);
        if (!offloaded) candidate.phases.swaps += 2 * step.makes_way / host_rate(question_);
        if (why = lacks_host_memory(on_host); !why.empty()) continue;
        if (!generate(candidate, engine, offloaded ? Bytes{} : state)) {
            why = candidate.reason;
            continue;
        }
        if (offloaded) make_room_for_weights(candidate, engine);
        candidate.memory.push_back({.role = "host memory", .needed = on_host, .usable = question_.machine.limit.host});
        candidate.step = candidate.phases.one_after_the_other();
        if (!best || candidate.step < best->step) best = std::move(candidate);
    }
    if (!best) {
        step.reason = why;
        return;
    }
    step = std::move(*best);
    step.rollout_busy = step.generation.mean_busy / step.step;
    step.train_busy = step.phases.on_trainer() / step.step;
}

void RlPlanner::apart(RlStep& step, Engine const& engine) {
    if (!train(step, apart_)) return;
    step.phases.swaps += 2 * step.makes_way / host_rate(question_);
    Bytes host = step.waiting_weights + step.on_host + step.makes_way;
    if (step.critic_takes_turns)
        host += std::max(step.training->estimate.memory.state(), critic_role(step, apart_).state);
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

RlStep RlPlanner::step(RlMode mode, std::int64_t rollout_accelerators, EngineSplit split) {
    RlStep step;
    step.mode = mode;
    bool const together = mode == RlMode::colocated;
    std::int64_t const all = question_.accelerators;
    step.rollout_accelerators = together ? all : rollout_accelerators;
    step.train_accelerators = together ? all : all - rollout_accelerators;
    Engine const& chosen = engine(split);
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

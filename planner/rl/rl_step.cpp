#include "planner/rl/rl_step.hpp"

#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "planner/rl/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant {
namespace {

/// What engines that sleep keep on the device.
RunSetting beside_engines(RlQuestion const& q) {
    RunSetting setting = q.machine;
    setting.limit.usable -= q.engine.memory_overhead.value;
    return setting;
}

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
    auto const [known, is_new] =
        generations_.try_emplace({split_of(what.plan), step.replicas, limits.sequences, limits.cache_tokens});
    if (is_new) known->second = generate_batch(fleet, lengths_);
    step.generation = known->second;
    step.phases.generation = step.generation.time;
    if (step.mode != RlMode::asynchronous) return true;
    AsynchronousStep const flow = run_asynchronously(fleet, lengths_,
                                                     {.staleness = question_.staleness,
                                                      .train = step.phases.on_trainer() + step.sync.total(),
                                                      .pause = step.sync.total(),
                                                      .rules = step.phases.rules,
                                                      .penalty = question_.staleness_penalty,
                                                      .replicas = question_.followed_replicas,
                                                      .group = question_.whole_group()});
    step.followed = flow.followed;
    step.step = flow.step;
    step.rollout_busy = flow.generating;
    step.train_busy = step.phases.on_trainer() / flow.step;
    step.age = flow.age;
    step.group_wait = flow.group_wait;
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
    if (!fits) step.sync.over_host = step.sync.rank_bytes / question_.host_rate();
    step.phases.sync = step.sync.total();
    step.memory.push_back({.role = "new weights",
                           .needed = fits ? both : weights,
                           .usable = setting.limit.usable,
                           .remark = fits ? "the trainer's and the engine's" : "by way of host memory"});
}

std::vector<RlStep> RlPlanner::colocated_choices(RlStep& step, Engine const& engine) {
    std::vector<RlStep> choices;
    std::string why;
    for (TrainerRole const& policy : beside_engines_.alternatives(question_.policy, step.train_accelerators)) {
        RlStep trained = step;
        if (train(trained, beside_engines_, policy))
            why = place_state(choices, trained, engine);
        else
            why = trained.reason;
        if (step.reason.empty()) step.reason = why;  // that of the fastest update
    }
    std::stable_sort(choices.begin(), choices.end(), [](RlStep const& a, RlStep const& b) { return a.step < b.step; });
    return choices;
}

std::string RlPlanner::place_state(std::vector<RlStep>& choices, RlStep& step, Engine const& engine) {
    synchronise(step, engine, RolloutPlacement::colocated);
    Bytes state = step.training->estimate.memory.state();
    Bytes host = step.waiting_weights + step.on_host;
    if (question_.algorithm == RlAlgorithm::ppo)
        (step.critic_takes_turns ? host : state) += critic_role(step, beside_engines_).state;
    std::string why;
    for (bool const offloaded : {false, true}) {
        if (offloaded ? question_.offload == StateOffload::never : question_.offload == StateOffload::always) continue;
        RlStep choice = step;
        choice.state_offloaded = offloaded;
        choice.phases.offload = offloaded ? 2 * state / question_.host_rate() : Seconds{};
        choice.beside_engine = offloaded ? Bytes{} : state;
        // State that comes back can wait until the frozen models are done.
        Bytes const on_host = host + (offloaded ? state : step.makes_way);
        if (!offloaded) choice.phases.swaps += 2 * step.makes_way / question_.host_rate();
        if (std::string lacks = lacks_host_memory(on_host); !lacks.empty()) {
            why = std::move(lacks);
            continue;
        }
        if (offloaded) make_room_for_weights(choice, engine);
        choice.memory.push_back({.role = "host memory", .needed = on_host, .usable = question_.machine.limit.host});
        choice.step = choice.phases.one_after_the_other();
        choices.push_back(std::move(choice));
    }
    return why;
}

void RlPlanner::colocated(RlStep& step, Engine const& engine) {
    std::vector<RlStep> choices = colocated_choices(step, engine);
    if (choices.empty()) return;
    // No engine beside training state is faster than one with all of its memory.
    RlStep alone = step;
    alone.reason.clear();
    Seconds const least = generate(alone, engine, {}) ? alone.phases.generation : Seconds{};
    std::optional<RlStep> best;
    std::string why;
    for (RlStep& choice : choices) {
        if (best && choice.step + least >= best->step) break;
        if (!generate(choice, engine, choice.beside_engine)) {
            why = choice.reason;
            continue;
        }
        choice.step = choice.phases.one_after_the_other();
        if (!best || choice.step < best->step) best = std::move(choice);
    }
    if (!best) {
        step.reason = why;
        return;
    }
    step = std::move(*best);
    step.rollout_busy = step.generation.mean_busy / step.step;
    step.train_busy = step.phases.on_trainer() / step.step;
}

bool RlPlanner::train_apart(RlStep& step, Engine const& engine, TrainerRole const& policy) {
    if (!train(step, apart_, policy)) return false;
    step.phases.swaps += 2 * step.makes_way / question_.host_rate();
    Bytes host = step.waiting_weights + step.on_host + step.makes_way;
    if (step.critic_takes_turns)
        host += std::max(step.training->estimate.memory.state(), critic_role(step, apart_).state);
    if (step.reason = lacks_host_memory(host); !step.possible()) return false;
    if (host > Bytes{})
        step.memory.push_back({.role = "host memory", .needed = host, .usable = question_.machine.limit.host});
    synchronise(step, engine, RolloutPlacement::split);
    return true;
}

void RlPlanner::apart(RlStep& step, Engine const& engine) {
    auto const trainers_part = [](RlStep const& of) { return of.phases.on_trainer() + of.phases.sync; };
    std::optional<RlStep> best;
    std::string why;
    for (TrainerRole const& policy : apart_.alternatives(question_.policy, step.train_accelerators)) {
        RlStep choice = step;
        if (!train_apart(choice, engine, policy)) {
            if (why.empty()) why = choice.reason;  // that of the fastest update
        } else if (!best || trainers_part(choice) < trainers_part(*best)) {
            best = std::move(choice);
        }
    }
    if (!best) {
        step.reason = why;
        return;
    }
    step = std::move(*best);
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

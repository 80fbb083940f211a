#include "planner/rl/rl_question.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "cost_models/serving/serving_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

constexpr std::int64_t most_responses = 1 << 20;

template <class Kind, std::size_t n>
Kind kind_from(std::array<Kind, n> const& all, std::array<char const*, n> const& names, std::string_view name,
               std::string_view where, char const* what) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < n; ++i) {
        if (name == names[i]) return all[i];
        known.emplace_back(names[i]);
    }
    throw InputError("{}: unknown {} '{}' (known: {}{})", where, what, name, join(known), did_you_mean(name, known));
}

constexpr std::array algorithm_names{"ppo", "grpo", "reinforce"};

void check_counts(RlQuestion const& q) {
    if (q.prompts < 1) throw InputError("--prompts: {} prompts a step (at least 1)", q.prompts);
    if (q.group < 1) throw InputError("--group: {} responses to a prompt (at least 1)", q.group);
    if (q.prompts > most_responses || q.group > most_responses || q.responses() > most_responses)
        throw InputError("--prompts: {} prompts with {} responses each (at most {} responses)", q.prompts, q.group,
                         most_responses);
    if (q.epochs < 1 || q.epochs > 1000) throw InputError("--epochs: {} (1 to 1000)", q.epochs);
    if (q.update_batch < 0 || q.batch() > q.responses() || q.responses() % q.batch() != 0)
        throw InputError("--global-batch: {} responses an update do not divide the {} of a step", q.update_batch,
                         q.responses());
    if (q.staleness < 0 || q.staleness > 64) throw InputError("--staleness: {} updates (0 to 64)", q.staleness);
    if (!(q.staleness_penalty >= 0 && q.staleness_penalty <= 1))
        throw InputError("--staleness-penalty: {} (a share, 0 to 1)", q.staleness_penalty);
    if (!(q.reward_time >= Seconds{} && q.reward_time <= 1 * units::day))
        throw InputError("--reward-time: out of range (0 to a day)");
}

void check_machine(RlQuestion const& q) {
    ClusterSpec const& cluster = q.machine.cluster;
    constexpr std::int64_t most = 1 << 20;
    std::int64_t const has = cluster.max_accelerators > 0 ? cluster.max_accelerators : most;
    if (q.accelerators < 1) throw InputError("--gpus: {} (at least 1)", q.accelerators);
    if (q.accelerators > has)
        throw InputError("--gpus: {} is more than {} has ({})", q.accelerators, cluster.name, has);
    if (q.accelerators > cluster.domain_size && !cluster.scale_out)
        throw InputError("--gpus: {} is more than one domain of {} holds ({}; it has no scale-out network)",
                         q.accelerators, cluster.name, cluster.domain_size);
}

}  // namespace

std::string_view name_of(RlAlgorithm algorithm) { return algorithm_names.at(static_cast<std::size_t>(algorithm)); }

RlAlgorithm rl_algorithm_from(std::string_view name, std::string_view where) {
    return kind_from(std::array{RlAlgorithm::ppo, RlAlgorithm::grpo, RlAlgorithm::reinforce}, algorithm_names, name,
                     where, "algorithm");
}

std::string_view name_of(RlMode mode) {
    constexpr std::array names{"colocated", "split", "asynchronous"};
    return names.at(static_cast<std::size_t>(mode));
}

StateOffload state_offload_from(std::string_view name, std::string_view where) {
    return kind_from(std::array{StateOffload::fastest, StateOffload::always, StateOffload::never},
                     std::array{"auto", "always", "never"}, name, where, "choice");
}

void check_rl_question(RlQuestion const& q) {
    check_counts(q);
    check_lengths(q.lengths);
    if (!(q.prompt_tokens >= 1 && q.prompt_tokens <= 1e8))
        throw InputError("--prompt-tokens: {} (at least 1)", q.prompt_tokens);
    std::int64_t const context = q.context > 0 ? q.context : q.policy.max_positions;
    if (context > 0 && q.prompt_tokens + q.lengths.maximum > static_cast<double>(context))
        throw InputError(
            "--max-output: {:.0f} tokens after a prompt of {:.0f} are longer than the context of {} ({} tokens)",
            q.lengths.maximum, q.prompt_tokens, q.policy.name, context);
    check_machine(q);
    if (possible_engines(q).empty())
        throw InputError("--rollout-tp: no tensor parallelism of the engine is possible for {} on {} accelerators",
                         q.policy.name, q.accelerators);
}

Workload update_workload(RlQuestion const& q) {
    double const tokens = q.prompt_tokens + q.lengths.mean;
    return {.sequence = std::max<std::int64_t>(16, 16 * std::llround(tokens / 16)), .global_batch = q.batch()};
}

std::int64_t usual_engine_batch(AcceleratorProfile const& device) {
    constexpr Bytes large = 70 * units::GiB;
    return device.memory_capacity.value >= large && !device.name.starts_with("a100") ? 1024 : 256;
}

ServingCase engine_case(RlQuestion const& q, EngineSplit split) {
    ServingCase what{.model = q.policy, .cluster = q.machine.cluster, .plan = q.rollout, .engine = q.engine};
    what.plan.tp = split.tp;
    what.plan.pp = split.pp;
    return what;
}

namespace {

/// What of `wanted` the model can be cut into; `wrong`: what is wrong with the first that is not possible.
std::vector<EngineSplit> possible_of(RlQuestion const& q, std::vector<EngineSplit> const& wanted, std::string& wrong) {
    std::vector<EngineSplit> out;
    for (EngineSplit const split : wanted) {
        ServingPlan const plan = engine_case(q, split).plan;
        try {
            check_serving_plan(q.policy, plan);
        } catch (InputError const& error) {
            if (wrong.empty()) wrong = error.what();
            continue;
        }
        if (plan.accelerators() <= q.accelerators) out.push_back(split);
    }
    return out;
}

bool holds_weights(RlQuestion const& q, EngineSplit split) { return serving_memory(engine_case(q, split)).fits(); }

/// Engines over several domains, smallest first, up to one that holds the weights.
std::vector<EngineSplit> larger_engines(RlQuestion const& q) {
    std::int64_t const domain = q.machine.cluster.domain_size;
    std::string ignored;
    std::vector<EngineSplit> out;
    for (bool const pipeline : {false, true})
        for (std::int64_t n = 2; n * domain <= q.accelerators; n *= 2) {
            EngineSplit const split = pipeline ? EngineSplit{.tp = domain, .pp = n * q.rollout.pp}
                                               : EngineSplit{.tp = n * domain, .pp = q.rollout.pp};
            if (possible_of(q, {split}, ignored).empty()) continue;
            out.push_back(split);
            if (holds_weights(q, split)) break;
        }
    return out;
}

}  // namespace

std::vector<EngineSplit> possible_engines(RlQuestion const& q) {
    std::vector<EngineSplit> wanted;
    for (std::int64_t const tp : q.rollout_tp)
        wanted.push_back({.tp = tp, .pp = q.rollout.pp});
    if (wanted.empty())
        for (std::int64_t tp = 1; tp <= std::min(q.machine.cluster.domain_size, q.accelerators); tp *= 2)
            wanted.push_back({.tp = tp, .pp = q.rollout.pp});
    std::string wrong;
    std::vector<EngineSplit> out = possible_of(q, wanted, wrong);
    // What is wrong with every one of them is wrong with the first.
    if (out.empty() && !wrong.empty()) {
        for (std::string_view const degree :
             {"--tp:", "--pp:", "--ep:", "--attention-dp:"})  // of the engine, not of the trainer
            if (wrong.starts_with(degree)) wrong.insert(2, "rollout-");
        throw InputError("{}", wrong);
    }
    auto const holds = [&](EngineSplit split) { return holds_weights(q, split); };
    if (q.rollout_tp.empty() && std::none_of(out.begin(), out.end(), holds)) {
        std::vector<EngineSplit> const larger = larger_engines(q);
        out.insert(out.end(), larger.begin(), larger.end());
    }
    return out;
}

}  // namespace sextant

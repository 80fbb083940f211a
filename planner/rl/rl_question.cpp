#include "planner/rl/rl_question.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

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
    if (possible_rollout_tp(q).empty())
        throw InputError("--rollout-tp: no tensor parallelism of the engine is possible for {} on {} accelerators",
                         q.policy.name, q.accelerators);
}

Workload update_workload(RlQuestion const& q) {
    double const tokens = q.prompt_tokens + q.lengths.mean;
    return {.sequence = std::max<std::int64_t>(16, 16 * std::llround(tokens / 16)), .global_batch = q.batch()};
}

std::vector<std::int64_t> possible_rollout_tp(RlQuestion const& q) {
    std::vector<std::int64_t> wanted = q.rollout_tp;
    if (wanted.empty())
        for (std::int64_t tp = 1; tp <= std::min(q.machine.cluster.domain_size, q.accelerators); tp *= 2)
            wanted.push_back(tp);
    std::vector<std::int64_t> out;
    std::string first;
    for (std::int64_t const tp : wanted) {
        ServingPlan plan = q.rollout;
        plan.tp = tp;
        try {
            check_serving_plan(q.policy, plan);
        } catch (InputError const& error) {
            if (first.empty()) first = error.what();
            continue;
        }
        if (plan.accelerators() <= q.accelerators) out.push_back(tp);
    }
    // What is wrong with every one of them is wrong with the first.
    if (out.empty() && !first.empty()) {
        for (std::string_view const degree : {"--tp:", "--pp:", "--ep:"})  // of the engine, not of the trainer
            if (first.starts_with(degree)) first.insert(2, "rollout-");
        throw InputError("{}", first);
    }
    return out;
}

}  // namespace sextant

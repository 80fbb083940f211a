#include "planner/serving/serve_candidates.hpp"

#include "core/error.hpp"
#include "core/spec/serving_split.hpp"
#include "cost_models/serving/memory_share.hpp"
#include "planner/degrees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

constexpr std::int64_t most_stages = 16;
constexpr std::int64_t most_ranks = 64;    // of tensor parallelism
constexpr std::int64_t most_domains = 4;   // of one replica
constexpr std::int64_t most_groups = 256;  // of attention

/// How one replica is cut.
struct Split {
    std::int64_t tp, pp, groups, ep;
};

std::vector<std::int64_t> up_to(std::int64_t most) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(most));
    std::iota(out.begin(), out.end(), 1);
    return out;
}

std::vector<std::int64_t> given_or(std::vector<std::int64_t> const& given, std::vector<std::int64_t> usual) {
    return given.empty() ? std::move(usual) : given;
}

/// Over how many ranks the experts may be divided.
std::vector<std::int64_t> expert_degrees(ServeQuestion const& q, std::int64_t tp, std::int64_t groups) {
    ModelSpec const& model = q.model;
    std::int64_t const ranks = tp * groups;
    if (!model.moe || ranks == 1) return {1};
    bool const divides = (model.moe->experts + q.redundant_experts) % ranks == 0;
    if (groups > 1) return {divides ? ranks : 1};
    return divides ? std::vector<std::int64_t>{1, ranks} : std::vector<std::int64_t>{1};
}

std::vector<Split> splits_of(ServeQuestion const& q, ClusterSpec const& cluster) {
    std::vector<Split> out;
    ModelSpec const& model = q.model;
    std::int64_t const widest = most_domains * cluster.domain_size;
    for (std::int64_t const tp :
         given_or(q.tensor, powers_of_two(std::min<std::int64_t>(cluster.domain_size, most_ranks))))
        for (std::int64_t const pp : given_or(q.stages, up_to(std::min(most_stages, model.layer_count()))))
            for (std::int64_t const groups : given_or(q.groups, powers_of_two(model.moe ? most_groups : 1))) {
                bool const own = (pp > 1 && q.stages.empty()) || (groups > 1 && q.groups.empty());
                bool const too_wide = own && tp * pp * groups > widest;
                if (too_wide || tp * pp * groups > q.most_accelerators) continue;
                for (std::int64_t const ep : expert_degrees(q, tp, groups))
                    if (groups == 1 || ep > 1 || !q.groups.empty())
                        out.push_back({.tp = tp, .pp = pp, .groups = groups, .ep = ep});
            }
    return out;
}

/// A plan of this split, without formats.
ServingPlan plan_of(ServeQuestion const& q, Split const& split) {
    ServingPlan plan;
    plan.tp = split.tp;
    plan.pp = split.pp;
    plan.ep = split.ep;
    plan.attention_dp = split.groups;
    plan.dispatcher = q.dispatcher;
    if (split.ep > 1) plan.redundant_experts = q.redundant_experts;
    return plan;
}

bool starts(ServeQuestion const& q, Split const& split) {
    ServingPlan const plan = plan_of(q, split);
    return !split_fault(q.model, plan) && !split_fault(q.engine, plan);
}

/// @throws InputError: values out of range, or with which no way to have the experts goes.
void check_split(ServeQuestion const& q, Split split) {
    if (split.tp > 0 && split.groups > 0)
        for (std::int64_t const ep : expert_degrees(q, split.tp, split.groups)) {
            split.ep = ep;
            if (!split_fault(q.model, plan_of(q, split))) break;
        }
    check_serving_plan(q.model, plan_of(q, split));
}

/// @throws InputError: the engine takes no group of these with any tp.
void check_groups_of_engine(ServeQuestion const& q) {
    std::optional<std::string> first;
    for (std::int64_t const tp : given_or(q.tensor, {1}))
        for (std::int64_t const groups : given_or(q.groups, {1})) {
            auto fault = split_fault(q.engine, plan_of(q, {.tp = tp, .pp = 1, .groups = groups, .ep = 1}));
            if (!fault) return;
            if (!first) first = std::move(fault);
        }
    if (first) throw InputError("{}", *first);
}

/// Of one machine: those that the question names, as it runs them, or its own.
std::vector<UsualWeights> weights_of(ServeQuestion const& q, ServeMachine const& machine) {
    if (q.weights.empty()) return {machine.weights};
    std::vector<UsualWeights> out;
    for (std::string const& asked : q.weights)
        out.push_back(chosen_weights(asked, q.checkpoint, machine.cluster.accelerator, q.engine));
    return out;
}

}  // namespace

namespace {

/// Why the formats of a plan are not accurate enough, or nothing.
std::string too_inaccurate(ServeQuestion const& q, ServingPlan const& plan) {
    if (!q.most_error) return {};
    auto const reason = [&](std::optional<FormatQuality> const& quality, std::string_view what) -> std::string {
        if (!quality) return fmt::format("{}: its error was not measured", what);
        if (quality->usual().worst <= *q.most_error) return {};
        return fmt::format("{}: output error {:.2g} % above --max-error", what, 100 * quality->usual().worst);
    };
    std::string const weights =
        plan.released ? std::string()
                      : reason(weights_quality(q.errors, plan),
                               fmt::format("{} weights", plan.stored.empty() ? plan.weights : plan.stored));
    return !weights.empty() ? weights
                            : reason(cache_quality(q.errors, plan.cache), fmt::format("{} cache", name_of(plan.cache)));
}

}  // namespace

std::vector<std::int64_t> batch_limits(ServeQuestion const& q, ServingPlan const& plan) {
    if (!q.batches.empty()) return q.batches;
    std::vector<std::int64_t> out;
    for (std::int64_t const of_group : {32, 128, 512, 1024})
        out.push_back(of_group * plan.attention_dp);
    return out;
}

std::vector<ServeCandidate> serve_candidates(ServeQuestion const& q) {
    std::vector<ServeCandidate> out;
    for (std::size_t m = 0; m < q.machines.size(); ++m) {
        ServeMachine const& machine = q.machines[m];
        std::vector<UsualWeights> const formats = weights_of(q, machine);
        for (Split const& split : splits_of(q, machine.cluster)) {
            if (!starts(q, split)) continue;
            for (UsualWeights const& weights : formats)
                for (CacheFormat const cache : q.caches)
                    for (std::int64_t const batch : batch_limits(q, plan_of(q, split)))
                        for (std::int64_t const chunk : q.chunks) {
                            ServeCandidate c;
                            c.machine = m;
                            c.plan = plan_of(q, split);
                            weights.put_into(c.plan);
                            if (q.tensor.empty() && cut_blocks(q.engine, q.model, c.plan)) continue;
                            c.plan.cache = cache;
                            c.plan.cache_origin = q.caches_origin;
                            c.plan.max_batch = batch;
                            c.plan.max_batched_tokens = std::max(chunk, (batch + split.groups - 1) / split.groups);
                            c.plan.memory_utilisation = q.memory_utilisation.value_or(
                                default_memory_share(q.engine, machine.cluster.accelerator, c.plan));
                            out.push_back(std::move(c));
                        }
        }
    }
    return out;
}

std::string format_fault(ServeQuestion const& q, ServeCandidate const& c) {
    ServingPlan const& plan = c.plan;
    if (std::string inaccurate = too_inaccurate(q, plan); !inaccurate.empty()) return inaccurate;
    GemmFormat const* const format = find_gemm_format(plan.weights);
    if (format != nullptr && q.machines[c.machine].cluster.accelerator.multiplies(*format)) return {};
    return fmt::format("the device has no {}", plan.weights);
}

std::int64_t longest_recorded(ServeQuestion const& q) {
    std::int64_t longest = 0;
    for (ServingRequest const& request : q.trace)
        longest = std::max(longest, std::int64_t{request.prompt} + request.output);
    return longest;
}

bool alike(ServeCandidate const& a, ServeCandidate const& b) {
    auto const same_but_limits = [](ServingPlan of_a, ServingPlan const& of_b) {
        of_a.max_batch = of_b.max_batch;
        of_a.max_batched_tokens = of_b.max_batched_tokens;
        return of_a == of_b;
    };
    if (a.machine != b.machine || a.prompts.has_value() != b.prompts.has_value()) return false;
    return same_but_limits(a.plan, b.plan) && (!a.prompts || same_but_limits(a.prompts->plan, b.prompts->plan));
}

std::vector<std::size_t> alike_runs(std::vector<ServeCandidate> const& all) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i == 0 || !alike(all[i - 1], all[i])) out.push_back(i);
    out.push_back(all.size());
    return out;
}

void check_given_splits(ServeQuestion const& q) {
    std::int64_t const most = 1000000;
    auto const check_limits = [most](std::vector<std::int64_t> const& limits, char const* flag) {
        for (std::int64_t const limit : limits)
            if (limit < 1 || limit > most) throw InputError("{}: {} (1 to {})", flag, limit, most);
    };
    check_limits(q.batches, "--max-batch");
    check_limits(q.chunks, "--max-batched-tokens");
    for (std::int64_t const tp : q.tensor)
        check_split(q, {.tp = tp, .pp = 1, .groups = 1, .ep = 1});
    for (std::int64_t const pp : q.stages)
        check_split(q, {.tp = 1, .pp = pp, .groups = 1, .ep = 1});
    for (std::int64_t const groups : q.groups)
        check_split(q, {.tp = 1, .pp = 1, .groups = groups, .ep = 1});
    check_groups_of_engine(q);
}

}  // namespace sextant

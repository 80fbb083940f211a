#include "planner/serving/apart_candidates.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "cost_models/serving/remembered_costs.hpp"
#include "planner/serving/apart_trials.hpp"
#include "planner/serving/serve_bounds.hpp"
#include "planner/serving/serve_candidates.hpp"
#include "planner/serving/serve_trials.hpp"
#include "simulator/serving/service_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

constexpr std::size_t paired = 3;  // of either side of a machine

/// Looks at a candidate for one side: sets its bounds and replicas. False: it is out.
using SideJudge = std::function<bool(ServeCandidate&, std::optional<RememberedCosts>&)>;

/// The question of prompts alone: answers of one token, and no time per token.
ServeQuestion prompts_alone(ServeQuestion const& q) {
    ServeQuestion out = q;
    if (!q.prompt_tensor.empty()) out.tensor = q.prompt_tensor;
    if (!q.prompt_stages.empty()) out.stages = q.prompt_stages;
    if (!q.prompt_groups.empty()) out.groups = q.prompt_groups;
    out.output = {.mean = 1};
    out.tpot = {};
    return out;
}

bool judge_prompts(ServeQuestion const& q, ServeCandidate& c, std::optional<RememberedCosts>& costs) {
    ServingCase const what = q.case_of(c);
    RequestShape const request = q.mean_request();
    if (largest_batch(what, serving_memory(what), request.prompt + 1) < 1) return false;
    if (!costs) costs.emplace(what);
    IterationModel const model(what, *costs);
    double const capacity = serving_capacity(model, request);
    ServingEstimate const alone = alone_in(model, request, capacity);
    if (q.ttft > Seconds{} && alone.ttft.total() > q.ttft) return false;
    find_bounds(q, model, c, capacity, alone);
    return true;
}

/// A step in which so many sequences decode, and nothing else; of a pipeline until all of its batches had theirs.
Seconds decode_step(IterationModel const& model, double sequences, double context) {
    ServingPlan const& plan = model.what().plan;
    auto const lanes = static_cast<double>(plan.pp);
    double const of_lane = sequences / lanes;
    double const own = std::max(1.0, of_lane / static_cast<double>(plan.attention_dp));
    IterationTime const time = model({.decodes = own,
                                      .decode_context = own * (context + 1),
                                      .samples = own,
                                      .elsewhere = std::max(0.0, of_lane - own)});
    return std::max(time.total(), lanes * model.at_slowest_stage(time));
}

/// The most sequences whose step keeps the objective, up to `room`.
double most_in_step(IterationModel const& model, double room, double context, Seconds objective) {
    constexpr double close = 1.01;
    if (objective <= Seconds{} || decode_step(model, room, context) <= objective) return room;
    double keeps = 1;
    double misses = room;
    while (misses > close * keeps) {
        double const middle = std::sqrt(keeps * misses);
        (decode_step(model, middle, context) <= objective ? keeps : misses) = middle;
    }
    return keeps;
}

std::int64_t replicas_at(double rate, double of_each) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rate / of_each)));
}

bool judge_decodes(ServeQuestion const& q, ServeCandidate& c, std::optional<RememberedCosts>& costs) {
    ServingCase const what = q.case_of(c);
    RequestShape const request = q.mean_request();
    ServingMemory const memory = serving_memory(what);
    if (largest_batch(what, memory, request.prompt + request.output) < 1) return false;
    if (memory.longest() < static_cast<double>(longest_recorded(q))) return false;
    if (!costs) costs.emplace(what);
    IterationModel const model(what, *costs);
    double const context = request.prompt + request.output / 2;
    if (q.tpot > Seconds{} && decode_step(model, 1, context) > q.tpot) return false;
    double const most = most_in_step(model, largest_batch(what, memory, context), context, q.tpot);
    bool const with_token = replica_limits(what, memory).hand_over == HandOver::with_token;
    double const steps = request.output - (with_token ? 1 : 0);
    auto const rate = [&](double sequences) {
        return sequences / (steps * (decode_step(model, std::max(1.0, sequences), context) / units::s));
    };
    double const usual = most + 0.5 - std::sqrt(most + 0.25);
    c.rate_bound = rate(usual);
    c.likely_replicas = replicas_at(q.rate, c.rate_bound);
    c.least_replicas = std::min(c.likely_replicas, replicas_at(q.rate, rate(most)));
    c.at_bound.tpot = decode_step(model, std::max(1.0, usual), context);
    c.at_bound.latency = c.at_bound.tpot * steps;
    return true;
}

/// Of candidates that are cut alike.
enum class Variants {
    best,   ///< the best is enough
    chunks  ///< the best with each number of tokens of an iteration: which of them does is for the simulation to say
};

/// The best few of a machine, each cut in its own way.
std::vector<ServeCandidate> best_of(ServeQuestion const& q, std::vector<ServeCandidate> all, Variants variants,
                                    SideJudge const& judge) {
    std::vector<char> open(all.size(), 0);
    std::vector<std::size_t> const runs = alike_runs(all);
    parallel_for(static_cast<std::int64_t>(runs.size()) - 1, q.threads, [&](std::int64_t i) {
        auto const run = static_cast<std::size_t>(i);
        std::optional<RememberedCosts> costs;
        for (std::size_t at = runs[run]; at < runs[run + 1]; ++at)
            open[at] = !is_stopped(q) && format_fault(q, all[at]).empty() && judge(all[at], costs) ? 1 : 0;
    });
    std::vector<ServeCandidate> out;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (open[i] != 0) out.push_back(std::move(all[i]));
    auto const key = [&](ServeCandidate const& c) {
        return std::pair(cost_of(q, c, c.likely_replicas), c.at_bound.latency.base());
    };
    std::stable_sort(out.begin(), out.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
    std::vector<ServeCandidate> best;
    std::size_t splits = 0;
    for (ServeCandidate& c : out) {
        bool known = false;
        bool the_same = false;
        for (ServeCandidate const& b : best) {
            bool const is_alike = alike(b, c);
            known = known || is_alike;
            the_same = the_same || (is_alike && b.plan.max_batched_tokens == c.plan.max_batched_tokens);
        }
        if (known ? variants == Variants::best || the_same : splits == paired) continue;
        if (!known) ++splits;
        best.push_back(std::move(c));
    }
    return best;
}

/// Those of one machine. @param keep whether a limit of the batch and a chunk are tried
std::vector<ServeCandidate> side_of(ServeQuestion const& q, std::size_t machine,
                                    std::function<bool(ServingPlan const&)> const& keep) {
    std::vector<ServeCandidate> out;
    for (ServeCandidate& c : serve_candidates(q))
        if (c.machine == machine && keep(c.plan)) out.push_back(std::move(c));
    return out;
}

}  // namespace

std::optional<std::string> pipeline_fault(EngineProgram program, ServingPlan const& prompts,
                                          ServingPlan const& decodes) {
    if (is_vllm(program) && (prompts.pp > 1 || decodes.pp > 1))
        return "vLLM's connector takes no caches of pipeline stages (--pp 1, --prefill-pp 1)";
    if (program == EngineProgram::sglang && decodes.pp > 1)
        return "SGLang has no pipeline stages of replicas that decode alone (--pp 1; prompts may have --prefill-pp)";
    return {};
}

std::string of_prompts(std::string message) {
    constexpr std::array<std::string_view, 8> options{"--tp",           "--pp",
                                                      "--ep",           "--weights",
                                                      "--max-batch",    "--max-batched-tokens",
                                                      "--attention-dp", "--memory-utilisation"};
    auto const goes_on = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
    for (std::string_view const option : options)
        for (std::size_t at = message.find(option); at != std::string::npos; at = message.find(option, at + 1))
            if (std::size_t const end = at + option.size(); end == message.size() || !goes_on(message[end]))
                message.insert(at + 2, "prefill-");
    return "replicas for prompts: " + message;
}

void check_prompt_splits(ServeQuestion const& q) {
    if (!q.apart) return;
    try {
        check_given_splits(prompts_alone(q));
    } catch (InputError const& error) {
        throw InputError("{}", of_prompts(error.what()));
    }
}

std::vector<ServeCandidate> apart_candidates(ServeQuestion const& q) {
    std::vector<ServeCandidate> out;
    if (!q.apart || q.mean_request().output <= 1) return out;
    ServeQuestion const alone = prompts_alone(q);
    ServeQuestion decodes = q;
    decodes.chunks = {*std::min_element(q.chunks.begin(), q.chunks.end())};  // they have no prompts
    auto const takes_caches = [&](ServingPlan const& plan) {
        return !q.stages.empty() || !pipeline_fault(q.engine.program, {}, plan);
    };
    for (std::size_t m = 0; m < q.machines.size(); ++m) {
        // Iterations hold few prompts: one limit that does not bind is enough.
        auto const any_batch = [&](ServingPlan const& plan) {
            std::vector<std::int64_t> const limits = batch_limits(alone, plan);
            if (alone.stages.empty() && pipeline_fault(q.engine.program, plan, {})) return false;
            return plan.max_batch == limits[std::min<std::size_t>(1, limits.size() - 1)];
        };
        std::vector<ServeCandidate> const senders = best_of(
            alone, side_of(alone, m, any_batch), Variants::chunks,
            [&](ServeCandidate& c, std::optional<RememberedCosts>& costs) { return judge_prompts(alone, c, costs); });
        std::vector<ServeCandidate> const receivers = best_of(
            q, side_of(decodes, m, takes_caches), Variants::best,
            [&](ServeCandidate& c, std::optional<RememberedCosts>& costs) { return judge_decodes(q, c, costs); });
        for (ServeCandidate const& sender : senders)
            for (ServeCandidate const& receiver : receivers) {
                if (handover_fault(q.case_of(sender), q.case_of(receiver))) continue;
                ServeCandidate pair = receiver;
                pair.prompts = PromptReplicas{.plan = sender.plan,
                                              .rate_bound = sender.rate_bound,
                                              .likely = sender.likely_replicas,
                                              .replicas = sender.least_replicas};
                pair.at_bound.ttft = sender.at_bound.ttft;
                pair.at_bound.latency += sender.at_bound.ttft.total();
                if (has_room_for(q, pair, pair.least_replicas, pair.prompts->replicas)) out.push_back(std::move(pair));
            }
    }
    return out;
}

}  // namespace sextant

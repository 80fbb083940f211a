#include "planner/serving/serve_plan.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "cost_models/serving/remembered_costs.hpp"
#include "planner/serving/apart_candidates.hpp"
#include "planner/serving/apart_trials.hpp"
#include "planner/serving/serve_bounds.hpp"
#include "planner/serving/serve_candidates.hpp"
#include "planner/serving/serve_confirm.hpp"
#include "planner/serving/serve_ranking.hpp"
#include "planner/serving/serve_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sextant {
namespace {

constexpr double unlimited = 1e30;
constexpr int fewest_simulated = 40;  // though there is an answer: the cheapest may be likely to cost more

/// What one configuration can do, or why it is out.
struct Verdict {
    std::string rejected;
    std::optional<Seconds> ttft;  ///< at a trickle
    std::optional<Seconds> tpot;
    std::vector<FrontierPoint> points;
    std::optional<ServeShortage> shortage;
};

/// Whether the cache has no room for as many requests as a smaller limit that is tried: requests that have just begun
/// take half of what they end with at least, so twice as many may run.
bool smaller_batch_does(ServeQuestion const& q, ServingCase const& what, ServingMemory const& memory) {
    ServingCase unbounded = what;
    unbounded.plan.max_batch = std::numeric_limits<std::int64_t>::max();
    RequestShape const request = q.mean_request();
    double const most = 2 * largest_batch(unbounded, memory, request.prompt + request.output);
    std::vector<std::int64_t> const limits = batch_limits(q, what.plan);
    return std::any_of(limits.begin(), limits.end(), [&](std::int64_t batch) {
        return batch < what.plan.max_batch && most <= static_cast<double>(batch);
    });
}

/// @param decisive `decisive_prompt`
/// @param costs of candidates that differ in the limits of a batch at most, if there are any yet
Verdict judge(ServeQuestion const& q, ServeCandidate& c, double decisive, std::optional<RememberedCosts>& costs) {
    Verdict v;
    v.rejected = format_fault(q, c);
    if (!v.rejected.empty()) return v;
    ServingCase const what = q.case_of(c);
    RequestShape const request = q.mean_request();
    ServingMemory const memory = serving_memory(what);
    double const tokens = request.prompt + request.output;
    if (largest_batch(what, memory, tokens) < 1) {
        v.rejected = serving_misfit;
        v.shortage = {.machine = c.machine,
                      .plan = c.plan,
                      .needed = memory.fixed() + memory.cache_of(tokens),
                      .usable = memory.usable};
        return v;
    }
    if (smaller_batch_does(q, what, memory)) {
        v.rejected = serving_same_batch;
        return v;
    }
    if (memory.longest() < static_cast<double>(longest_recorded(q))) {
        v.rejected = "has no room for the longest recorded request";
        return v;
    }
    if (!costs) costs.emplace(what);
    IterationModel const model(what, *costs);
    double const capacity = serving_capacity(model, request);
    ServingEstimate const alone = alone_in(model, request, capacity);
    ServingEstimate const least =
        decisive < request.prompt ? alone_in(model, {.prompt = decisive, .output = request.output}) : alone;
    v.ttft = least.ttft.total();
    v.tpot = least.tpot;
    for (double concurrency = 1; concurrency <= static_cast<double>(c.plan.max_batch); concurrency *= 2) {
        ServingEstimate const e = closed_loop(model, request, concurrency);
        v.points.push_back(
            {.machine = c.machine,
             .plan = c.plan,
             .concurrency = concurrency,
             .tokens_per_s_user = units::s / e.tpot,
             .tokens_per_s_accelerator = e.output_tokens_per_s / static_cast<double>(c.plan.accelerators())});
    }
    if (q.ttft > Seconds{} && least.ttft.total() > q.ttft)
        v.rejected = serving_slow_ttft;
    else if (q.tpot > Seconds{} && least.tpot > q.tpot)
        v.rejected = serving_slow_tpot;
    else if (q.ttft > Seconds{} && decisive > request.prompt && decisive + request.output <= memory.longest() &&
             alone_in(model, {.prompt = decisive, .output = request.output}).ttft.total() > q.ttft)
        v.rejected = serving_slow_prompts;
    else {
        find_bounds(q, model, c, capacity, alone);
        if (c.accelerators(c.least_replicas) > q.most_accelerators) v.rejected = serving_too_many;
    }
    return v;
}

/// Points that no other beats in both.
std::vector<FrontierPoint> frontier_of(std::vector<FrontierPoint> points) {
    std::sort(points.begin(), points.end(), [](FrontierPoint const& a, FrontierPoint const& b) {
        return std::pair(-a.tokens_per_s_user, -a.tokens_per_s_accelerator) <
               std::pair(-b.tokens_per_s_user, -b.tokens_per_s_accelerator);
    });
    std::vector<FrontierPoint> out;
    double best = 0;
    for (FrontierPoint const& p : points)
        if (p.tokens_per_s_accelerator > best * 1.01) {
            best = p.tokens_per_s_accelerator;
            out.push_back(p);
        }
    return out;
}

void check(ServeQuestion const& q) {
    if (q.machines.empty()) throw InputError("--cluster: none given");
    check_given_splits(q);
    check_prompt_splits(q);
    if (!(q.rate > 0 && q.rate <= 1e7)) throw InputError("--rate: {} (above 0, up to 1e7 requests a second)", q.rate);
    if (q.most_error && !(*q.most_error >= 0 && *q.most_error <= 1e6))
        throw InputError("--max-error: {} (a share, 0 or more: 0.05 is 5 %)", *q.most_error);
    if (q.memory_utilisation && !(*q.memory_utilisation > 0 && *q.memory_utilisation <= 1))
        throw InputError("--memory-utilisation: {} (above 0, up to 1)", *q.memory_utilisation);
    if (q.trace.empty() && q.process == ArrivalProcess::gamma && !(q.variation >= 0.05 && q.variation <= 20))
        throw InputError("--variation: {} (0.05 to 20)", q.variation);
    if (!(q.share > 0 && q.share < 1)) throw InputError("--share: {} (between 0 and 1)", q.share);
    if (q.process == ArrivalProcess::closed)
        throw InputError("--arrivals: closed (a plan is for requests that come by themselves)");
    RequestShape const r = q.mean_request();
    if (q.model.max_positions > 0 && r.prompt + r.output > static_cast<double>(q.model.max_positions))
        throw InputError(
            "--prompt: {:.10g} + {:.10g} tokens are more than the {} that {} takes (a longer --context, as the "
            "engine's "
            "maximum length)",
            r.prompt, r.output, q.model.max_positions, q.model.name);
}

void reject(ServeAnswer& answer, std::size_t machine, std::string const& reason) {
    ++answer.rejected[reason];
    ++answer.rejected_on[machine][reason];
}

/// Judges every candidate by its bounds; what is rejected, and the frontier, go into the answer.
/// @return the others, the cheapest first.
std::vector<ServeCandidate> open_candidates(ServeQuestion const& q, ServeAnswer& answer) {
    std::vector<ServeCandidate> all = serve_candidates(q);
    answer.rejected_on.resize(q.machines.size());
    answer.enumerated = static_cast<std::int64_t>(all.size());
    std::vector<Verdict> verdicts(all.size());
    double const decisive = decisive_prompt(q);
    std::vector<std::size_t> const runs = alike_runs(all);
    parallel_for(static_cast<std::int64_t>(runs.size()) - 1, q.threads, [&](std::int64_t i) {
        auto const run = static_cast<std::size_t>(i);
        std::optional<RememberedCosts> costs;
        for (std::size_t at = runs[run]; at < runs[run + 1]; ++at) {
            if (is_stopped(q))
                verdicts[at].rejected = "not looked at";
            else
                verdicts[at] = judge(q, all[at], decisive, costs);
        }
    });
    std::vector<FrontierPoint> points;
    std::vector<ServeCandidate> open;
    for (std::size_t i = 0; i < all.size(); ++i) {
        Verdict const& v = verdicts[i];
        points.insert(points.end(), v.points.begin(), v.points.end());
        if (v.ttft && (!answer.best_ttft || *v.ttft < *answer.best_ttft)) answer.best_ttft = v.ttft;
        if (v.tpot && (!answer.best_tpot || *v.tpot < *answer.best_tpot)) answer.best_tpot = v.tpot;
        if (v.shortage && (!answer.shortage ||
                           v.shortage->needed - v.shortage->usable < answer.shortage->needed - answer.shortage->usable))
            answer.shortage = v.shortage;
        if (v.rejected.empty())
            open.push_back(std::move(all[i]));
        else
            reject(answer, all[i].machine, v.rejected);
    }
    if (answer.best_ttft) answer.shortage.reset();
    answer.frontier = frontier_of(std::move(points));
    for (ServeCandidate& pair : apart_candidates(q)) {
        ++answer.enumerated;
        open.push_back(std::move(pair));
    }
    std::stable_sort(open.begin(), open.end(), [&](ServeCandidate const& a, ServeCandidate const& b) {
        return std::pair(cost_of(q, a, a.likely_replicas), a.at_bound.tpot.base()) <
               std::pair(cost_of(q, b, b.likely_replicas), b.at_bound.tpot.base());
    });
    return open;
}

/// Whether `c` differs from a simulated deployment only in limits that this never met: then it does the same.
bool does_the_same(ServeCandidate const& done, ServeCandidate const& c) {
    return done.peaks && !done.peaks->short_of_cache && !c.prompts && alike(done, c) &&
           done.peaks->batch < std::min(done.plan.max_batch, c.plan.max_batch) &&
           done.peaks->tokens < std::min(done.plan.max_batched_tokens, c.plan.max_batched_tokens);
}

/// Candidates of each machine that were simulated, and whether one keeps the objectives.
struct MachineTrials {
    int simulated = 0;
    bool kept = false;
    /// The first few are, however dear: what a machine costs is an answer, too.
    [[nodiscard]] bool wants_one() const { return !kept && simulated < 3; }
};

void simulate_in_order(ServeQuestion const& q, std::vector<ServeCandidate>& open, ServeAnswer& answer) {
    double best = unlimited;
    std::vector<MachineTrials> machines(q.machines.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
        ServeCandidate& c = open[i];
        if (is_stopped(q)) break;
        MachineTrials& machine = machines[c.machine];
        bool const wanted = q.machines.size() > 1 && machine.wants_one();
        // Within a tenth of the best the alternatives are worth seeing.
        if (!wanted && cost_of(q, c, c.least_replicas) > 1.1 * best) continue;
        if (!wanted && answer.simulated >= std::max(fewest_simulated, 4 * q.shown) && best < unlimited) {
            if (cost_of(q, c, c.least_replicas) < best) ++answer.untried;
            continue;
        }
        auto const at = open.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::any_of(open.begin(), at, [&](ServeCandidate const& done) { return does_the_same(done, c); })) {
            reject(answer, c.machine, serving_same);
            open.erase(at);
            --i;
            continue;
        }
        if (q.progress)
            q.progress(fmt::format("simulating {} {}{} {} ({} of {})", q.machines[c.machine].cluster.name,
                                   c.prompts ? split_words(c.prompts->plan) + " for prompts, " : "",
                                   split_words(c.plan), c.plan.weights, answer.simulated + 1, open.size()));
        double const most = !wanted && best < unlimited ? 1.1 * best + 1e-9 : unlimited;
        c.prompts ? settle_apart(q, c, most) : settle(q, c, most);
        if (is_stopped(q)) break;
        ++answer.simulated;
        ++machine.simulated;
        if (c.trial && cost_of(q, c, c.replicas) < best) confirm(q, c, most);  // what is pruned depends on it
        machine.kept = machine.kept || c.trial.has_value();
        if (c.trial) best = std::min(best, cost_of(q, c, c.replicas));
    }
}

}  // namespace

RequestShape ServeQuestion::mean_request() const {
    auto const mean = [](LengthDistribution const& d) {
        return d.kind == LengthDistribution::Kind::uniform ? (d.low + d.high) / 2 : d.mean;
    };
    return {.prompt = mean(prompt), .output = mean(output)};
}

ServingCase ServeQuestion::case_of(ServeCandidate const& c) const {
    return {.model = model, .cluster = machines[c.machine].cluster, .plan = c.plan, .engine = engine};
}

ServingCase ServeQuestion::case_of_prompts(ServeCandidate const& c) const {
    return {.model = model, .cluster = machines[c.machine].cluster, .plan = c.prompts->plan, .engine = engine};
}

void replay(ServeQuestion& q, std::vector<ServingRequest> trace) {
    Seconds const span = trace.empty() ? Seconds{} : trace.back().arrival - trace.front().arrival;
    if (!(span > Seconds{}))
        throw InputError("--trace: {} requests, all at once, have no rate (give a longer trace, or --rate)",
                         trace.size());
    auto const count = static_cast<double>(trace.size());
    double prompt = 0;
    double output = 0;
    double squares = 0;  // of the intervals
    for (std::size_t i = 0; i < trace.size(); ++i) {
        prompt += trace[i].prompt;
        output += trace[i].output;
        double const interval = i > 0 ? (trace[i].arrival - trace[i - 1].arrival) / span * (count - 1) - 1 : 0;
        squares += interval * interval;
    }
    q.rate = (count - 1) / span.base();
    q.prompt = {.mean = prompt / count};
    q.output = {.mean = output / count};
    q.process = ArrivalProcess::gamma;  // of the variation that the recorded intervals have
    q.variation = std::sqrt(squares / (count - 1));
    q.trace = std::move(trace);
}

ServeAnswer plan_serving(ServeQuestion const& q) {
    check(q);
    ServeAnswer answer;
    std::vector<ServeCandidate> open = open_candidates(q, answer);
    simulate_in_order(q, open, answer);
    for (std::size_t const i : confirmed_ranking(q, open))
        answer.ranked.push_back(std::move(open[i]));
    answer.interrupted = is_stopped(q);
    return answer;
}

}  // namespace sextant

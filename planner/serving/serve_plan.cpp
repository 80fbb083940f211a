#include "planner/serving/serve_plan.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/spec/parameters.hpp"
#include "simulator/serving/serving_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace sextant {
namespace {

constexpr double trickle = 1e-4;          // of the capacity: a request alone
constexpr double bound_precision = 1e-4;  // relative: estimates are not as exact
constexpr double growth = 1.06;           // of replicas between simulations
constexpr int most_trials = 24;           // of one candidate
constexpr double latencies_long = 12;     // a simulation lasts this many times the latency of a request
constexpr std::int64_t most_requests = 60000;
constexpr double unlimited = 1e30;

RequestShape mean_request(ServeQuestion const& q) {
    auto const mean = [](LengthDistribution const& d) {
        return d.kind == LengthDistribution::Kind::uniform ? (d.low + d.high) / 2 : d.mean;
    };
    return {.prompt = mean(q.prompt), .output = mean(q.output)};
}

double cost_of(ServeQuestion const& q, ServeCandidate const& c, std::int64_t replicas) {
    bool const priced =
        std::all_of(q.machines.begin(), q.machines.end(), [](auto const& m) { return m.usd_per_hour.has_value(); });
    return static_cast<double>(c.accelerators(replicas)) * (priced ? *q.machines[c.machine].usd_per_hour : 1.0);
}

std::vector<std::int64_t> expert_degrees(ModelSpec const& model, std::int64_t ranks) {
    if (model.moe && ranks > 1 && model.moe->experts % ranks == 0) return {1, ranks};
    return {1};
}

/// Everything that could be chosen on one machine.
void enumerate(ServeQuestion const& q, std::size_t machine, std::vector<ServeCandidate>& out) {
    ClusterSpec const& cluster = q.machines[machine].cluster;
    std::vector<std::string> const usual{q.machines[machine].weights};
    for (std::int64_t tp = 1; tp <= std::min<std::int64_t>(cluster.domain_size, 64); tp *= 2) {
        if (!divides_heads(q.model, tp) || tp > q.most_accelerators) continue;
        for (std::int64_t const ep : expert_degrees(q.model, tp))
            for (std::string const& weights : q.weights.empty() ? usual : q.weights)
                for (CacheFormat const cache : q.caches)
                    for (std::int64_t const batch : q.batches)
                        for (std::int64_t const chunk : q.chunks) {
                            ServeCandidate c;
                            c.machine = machine;
                            c.plan.tp = tp;
                            c.plan.ep = ep;
                            c.plan.weights = weights;
                            c.plan.cache = cache;
                            c.plan.weights_origin =
                                q.weights.empty() ? q.machines[machine].weights_origin : FormatOrigin::given;
                            c.plan.cache_origin = q.caches_origin;
                            c.plan.max_batch = batch;
                            c.plan.max_batched_tokens = std::max(chunk, batch);
                            c.plan.memory_utilisation =
                                q.memory_utilisation.value_or(q.engine.memory_utilisation.value);
                            out.push_back(std::move(c));
                        }
    }
}

/// What one configuration can do, or why it is out.
struct Verdict {
    std::string rejected;
    std::optional<Seconds> ttft;  ///< at a trickle
    std::optional<Seconds> tpot;
    std::vector<FrontierPoint> points;
    std::optional<ServeShortage> shortage;
};

/// How far an estimate is from the nearest objective: a logarithm, above zero where one is missed.
double miss_of(ServeQuestion const& q, ServingEstimate const& e) {
    if (e.saturated) return unlimited;
    double miss = -unlimited;
    if (q.ttft > Seconds{}) miss = std::max(miss, std::log(e.ttft.total() / q.ttft));
    if (q.tpot > Seconds{}) miss = std::max(miss, std::log(e.tpot / q.tpot));
    return miss;
}

std::int64_t replicas_for(double rate, double of_each) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rate / of_each)));
}

/// The largest share of the capacity that keeps the objectives: regula falsi (Illinois) in the logarithms, halves where
/// that has no figure, both ends drawn in.
void find_bound(ServeQuestion const& q, IterationModel const& model, ServeCandidate& c, double capacity,
                ServingEstimate const& alone) {
    RequestShape const request = mean_request(q);
    double low = trickle;
    double high = 1;
    double below = miss_of(q, alone);
    double above = unlimited;
    c.at_bound = alone;
    while (high - low > bound_precision * high) {
        double const margin = 0.4 * bound_precision * high;
        bool const known = above < unlimited && below > -unlimited;
        double const guess = known ? low + (high - low) * (below / (below - above)) : (low + high) / 2;
        double const middle = std::clamp(guess, low + margin, high - margin);
        ServingEstimate const e = open_loop(model, request, middle * capacity, capacity);
        double const miss = miss_of(q, e);
        if (miss <= 0) {
            low = middle;
            below = miss;
            above = above < unlimited ? 0.5 * above : above;
            c.at_bound = e;
        } else {
            high = middle;
            above = miss;
            below = below > -unlimited ? 0.5 * below : below;
        }
    }
    c.rate_bound = low * capacity;
    c.likely_replicas = replicas_for(q.rate, c.rate_bound);
}

/// No replica is quicker within the objectives than one that always has as many requests as they allow: a few more
/// than that, so that the rate is no lower than the largest.
void find_least(ServeQuestion const& q, IterationModel const& model, ServeCandidate& c, double capacity) {
    constexpr double close = 1.02;
    double rate = capacity;
    if (q.tpot > Seconds{}) {
        RequestShape const request = mean_request(q);
        double keeps = 1;
        double misses = static_cast<double>(c.plan.max_batch);
        ServingEstimate at = closed_loop(model, request, misses);
        if (at.tpot > q.tpot) {
            rate = std::min(rate, at.requests_per_s);
            while (misses > close * keeps) {
                double const middle = std::sqrt(keeps * misses);
                at = closed_loop(model, request, middle);
                if (at.tpot <= q.tpot)
                    keeps = middle;
                else {
                    misses = middle;
                    rate = std::min(rate, at.requests_per_s);
                }
            }
        }
    }
    c.least_replicas = std::min(replicas_for(q.rate, std::max(rate, c.rate_bound)), c.likely_replicas);
}

/// Why the formats of a candidate are not accurate enough, or nothing.
std::string too_inaccurate(ServeQuestion const& q, ServingPlan const& plan) {
    if (!q.most_error) return {};
    auto const reason = [&](std::optional<FormatQuality> const& quality, std::string_view what) -> std::string {
        if (!quality) return fmt::format("{}: its error was not measured", what);
        if (quality->usual().worst <= *q.most_error) return {};
        return fmt::format("{}: output error {:.2g} % above --max-error", what, 100 * quality->usual().worst);
    };
    std::string const weights =
        reason(weights_quality(q.errors, plan.weights), fmt::format("{} weights", plan.weights));
    return !weights.empty() ? weights
                            : reason(cache_quality(q.errors, plan.cache), fmt::format("{} cache", name_of(plan.cache)));
}

/// Tokens of the longest request of a trace, prompt and answer; 0 without one.
std::int64_t longest_recorded(ServeQuestion const& q) {
    std::int64_t longest = 0;
    for (ServingRequest const& request : q.trace)
        longest = std::max(longest, std::int64_t{request.prompt} + request.output);
    return longest;
}

Verdict judge(ServeQuestion const& q, ServeCandidate& c) {
    Verdict v;
    v.rejected = too_inaccurate(q, c.plan);
    if (!v.rejected.empty()) return v;
    ServingCase const what = q.case_of(c);
    GemmFormat const* const format = find_gemm_format(c.plan.weights);
    if (format == nullptr || !what.cluster.accelerator.peak.contains(format->precision)) {
        v.rejected = fmt::format("the device has no {}", c.plan.weights);
        return v;
    }
    RequestShape const request = mean_request(q);
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
    if (memory.longest() < static_cast<double>(longest_recorded(q))) {
        v.rejected = "has no room for the longest recorded request";
        return v;
    }
    IterationModel const model(what);
    double const capacity = serving_capacity(model, request);
    ServingEstimate const alone = open_loop(model, request, trickle * capacity, capacity);
    v.ttft = alone.ttft.total();
    v.tpot = alone.tpot;
    for (double concurrency = 1; concurrency <= static_cast<double>(c.plan.max_batch); concurrency *= 2) {
        ServingEstimate const e = closed_loop(model, request, concurrency);
        v.points.push_back(
            {.machine = c.machine,
             .plan = c.plan,
             .concurrency = concurrency,
             .tokens_per_s_user = units::s / e.tpot,
             .tokens_per_s_accelerator = e.output_tokens_per_s / static_cast<double>(c.plan.accelerators())});
    }
    if (q.ttft > Seconds{} && alone.ttft.total() > q.ttft)
        v.rejected = serving_slow_ttft;
    else if (q.tpot > Seconds{} && alone.tpot > q.tpot)
        v.rejected = serving_slow_tpot;
    else {
        find_bound(q, model, c, capacity, alone);
        find_least(q, model, c, capacity);
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

bool is_stopped(ServeQuestion const& q) { return q.stop != nullptr && *q.stop; }

/// The requests of one simulation: recorded, or so many drawn ones that it lasts long enough.
std::unique_ptr<RequestSource> requests_of(ServeQuestion const& q, ServeCandidate const& c,
                                           IterationModel const& model) {
    if (!q.trace.empty()) return std::make_unique<ListedSource>(q.trace);
    double const needed = latencies_long * q.rate * (c.at_bound.latency / units::s);
    SyntheticWorkload workload{
        .process = q.process, .rate = q.rate, .variation = q.variation, .prompt = q.prompt, .output = q.output};
    workload.requests = std::clamp(static_cast<std::int64_t>(needed), q.requests, std::max(q.requests, most_requests));
    workload.seed = q.seed;
    workload.longest = static_cast<std::int32_t>(std::min<double>(
        static_cast<double>(std::max<std::int64_t>(q.model.max_positions, 2048)), model.memory().longest()));
    return std::make_unique<SyntheticSource>(workload);
}

ServeTrial simulate(ServeQuestion const& q, ServeCandidate const& c, IterationModel const& model,
                    std::int64_t replicas) {
    ModelledService const service(model);
    ServingSetup setup;
    setup.replicas = replicas;
    setup.limits = replica_limits(model.what(), model.memory());
    setup.limits.scheduler = q.used_scheduler();
    setup.interval_variation = q.process == ArrivalProcess::gamma ? q.variation : 1;
    if (q.ttft > Seconds{}) setup.objective.ttft = q.ttft;
    if (q.tpot > Seconds{}) setup.objective.tpot = q.tpot;
    auto const source = requests_of(q, c, model);
    ServingOutcome const o = simulate_serving(setup, service, *source, {.stop = q.stop});
    ServeTrial trial;
    trial.replicas = replicas;
    trial.overloaded = o.state == SteadyState::overloaded;
    trial.kept =
        o.measured > 0 && !trial.overloaded ? static_cast<double>(o.good) / static_cast<double>(o.measured) : 0;
    if (!setup.objective.any() && !trial.overloaded) trial.kept = 1;
    trial.ttft_p50 = o.ttft.p50;
    trial.ttft_p99 = o.ttft.p99;
    trial.tpot_p50 = o.tpot.p50;
    trial.tpot_p99 = o.tpot.p99;
    trial.output_tokens_per_s =
        o.window.at > Seconds{} ? static_cast<double>(o.window.counters.tokens_out) * units::s / o.window.at : 0;
    return trial;
}

/// The largest number of replicas that is allowed and costs less than `most`; 0: none.
std::int64_t most_replicas(ServeQuestion const& q, ServeCandidate const& c, double most) {
    std::int64_t const allowed = q.most_accelerators / c.plan.accelerators();
    double const paid = std::ceil(most / cost_of(q, c, 1)) - 1;
    return paid < static_cast<double>(allowed) ? static_cast<std::int64_t>(paid) : allowed;
}

/// From the likely number of replicas more until the objectives are kept, or until it costs more than `most`; where the
/// first keeps them, fewer, to a few per cent.
void settle(ServeQuestion const& q, ServeCandidate& c, double most) {
    IterationModel const model(q.case_of(c));
    std::int64_t const top = most_replicas(q, c, most);
    std::int64_t too_few = c.least_replicas - 1;
    std::int64_t replicas = std::min(c.likely_replicas, top);
    for (int trial = 0; trial < most_trials && replicas > too_few && replicas <= top; ++trial) {
        ServeTrial const found = simulate(q, c, model, replicas);
        if (is_stopped(q)) return;  // the first requests of a simulation say nothing
        if (found.kept >= q.share) {
            c.trial = found;
            c.replicas = replicas;
            if (replicas > c.likely_replicas) break;  // fewer missed them
        } else {
            c.missed = found;
            too_few = replicas;
        }
        auto const more = static_cast<std::int64_t>(static_cast<double>(replicas) * growth);
        auto const spared = static_cast<double>(c.replicas - too_few);
        if (!c.trial)
            replicas = std::max(replicas + 1, more);
        else if (spared > 1 && spared > (growth - 1) / 2 * static_cast<double>(c.replicas))
            replicas = too_few + (c.replicas - too_few) / 2;
        else
            break;
    }
    if (c.trial)
        c.missed.reset();
    else
        c.least_replicas = too_few + 1;
}

void check(ServeQuestion const& q) {
    if (q.machines.empty()) throw InputError("--cluster: none given");
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
    RequestShape const r = mean_request(q);
    if (q.model.max_positions > 0 && r.prompt + r.output > static_cast<double>(q.model.max_positions))
        throw InputError("--prompt: {:g} + {:g} tokens are more than the {} that {} was built for", r.prompt, r.output,
                         q.model.max_positions, q.model.name);
}

/// Judges every candidate by its bounds; what is rejected, and the frontier, go into the answer.
/// @return the others, the cheapest first.
std::vector<ServeCandidate> open_candidates(ServeQuestion const& q, ServeAnswer& answer) {
    std::vector<ServeCandidate> all;
    for (std::size_t m = 0; m < q.machines.size(); ++m)
        enumerate(q, m, all);
    answer.enumerated = static_cast<std::int64_t>(all.size());
    std::vector<Verdict> verdicts(all.size());
    parallel_for(static_cast<std::int64_t>(all.size()), q.threads, [&](std::int64_t i) {
        auto const at = static_cast<std::size_t>(i);
        if (is_stopped(q))
            verdicts[at].rejected = "not looked at";
        else
            verdicts[at] = judge(q, all[at]);
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
            ++answer.rejected[v.rejected];
    }
    if (answer.best_ttft) answer.shortage.reset();
    answer.frontier = frontier_of(std::move(points));
    std::stable_sort(open.begin(), open.end(), [&](ServeCandidate const& a, ServeCandidate const& b) {
        return std::pair(cost_of(q, a, a.likely_replicas), a.at_bound.tpot.base()) <
               std::pair(cost_of(q, b, b.likely_replicas), b.at_bound.tpot.base());
    });
    return open;
}

}  // namespace

ServingCase ServeQuestion::case_of(ServeCandidate const& c) const {
    return {.model = model, .cluster = machines[c.machine].cluster, .plan = c.plan, .engine = engine};
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
    double best = unlimited;
    for (ServeCandidate& c : open) {
        // Within a tenth of the best the alternatives are worth seeing.
        if (is_stopped(q)) break;
        if (cost_of(q, c, c.least_replicas) > 1.1 * best) continue;
        if (answer.simulated >= 4 * q.shown && best < unlimited) break;
        if (q.progress)
            q.progress(fmt::format("simulating {} tp {} {} ({} of {})", q.machines[c.machine].cluster.name, c.plan.tp,
                                   c.plan.weights, answer.simulated + 1, open.size()));
        settle(q, c, best < unlimited ? 1.1 * best + 1e-9 : unlimited);
        if (is_stopped(q)) break;
        ++answer.simulated;
        if (c.trial) best = std::min(best, cost_of(q, c, c.replicas));
    }
    answer.interrupted = is_stopped(q);
    std::stable_sort(open.begin(), open.end(), [&](ServeCandidate const& a, ServeCandidate const& b) {
        auto const key = [&](ServeCandidate const& c) {
            return std::pair(!c.trial.has_value(), cost_of(q, c, c.trial ? c.replicas : c.least_replicas));
        };
        return key(a) < key(b);
    });
    if (open.size() > static_cast<std::size_t>(q.shown)) open.resize(static_cast<std::size_t>(q.shown));
    answer.ranked = std::move(open);
    return answer;
}

}  // namespace sextant

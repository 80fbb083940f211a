#include "planner/serving/serve_trials.hpp"

#include "simulator/serving/serving_simulation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

namespace sextant {
namespace {

constexpr double growth = 0.06;        // of replicas from one that missed to the next
constexpr std::int64_t plenty = 8;     // times as many as are likely: where these miss, no number keeps them
constexpr int most_trials = 24;        // of one candidate
constexpr double latencies_long = 12;  // a simulation lasts this many times the latency of a request
constexpr std::int64_t most_requests = 60000;
constexpr double most_for_bursts = 8;  // times as many requests as of arrivals at random

/// How long a request takes where so many replicas serve the rate: what it would at the largest rate that keeps the
/// objectives, where these are too few.
Seconds usual_latency(ServeQuestion const& q, ServeCandidate const& c, IterationModel const& model,
                      std::int64_t replicas) {
    double const rate = q.rate / static_cast<double>(replicas);
    if (rate >= c.rate_bound || c.prompts) return c.at_bound.latency;
    return std::min(c.at_bound.latency, open_loop(model, q.mean_request(), rate).latency);
}

/// The requests of one simulation: recorded, or so many drawn ones that it lasts long enough.
std::unique_ptr<RequestSource> requests_of(ServeQuestion const& q, ServeCandidate const& c,
                                           CandidateModels const& models, std::int64_t replicas) {
    if (!q.trace.empty()) return std::make_unique<ListedSource>(q.trace);
    // Bursts make a run of as many requests say less: the variance of a count grows with that of the intervals.
    double const bursts =
        q.process == ArrivalProcess::gamma ? std::clamp(q.variation * q.variation, 1.0, most_for_bursts) : 1;
    double const needed =
        bursts * std::max(latencies_long * q.rate * (usual_latency(q, c, models.replicas, replicas) / units::s),
                          static_cast<double>(q.requests));
    SyntheticWorkload workload{
        .process = q.process, .rate = q.rate, .variation = q.variation, .prompt = q.prompt, .output = q.output};
    workload.requests = std::clamp(static_cast<std::int64_t>(needed), q.requests, std::max(q.requests, most_requests));
    workload.seed = q.seed;
    workload.longest = static_cast<std::int32_t>(std::min(static_cast<double>(q.positions()), models.longest()));
    return std::make_unique<SyntheticSource>(workload);
}

void note_peaks(ServeCandidate& c, ReplicaPeaks const& of_trial) {
    ReplicaPeaks peaks = c.peaks.value_or(ReplicaPeaks{});
    peaks.batch = std::max(peaks.batch, of_trial.batch);
    peaks.tokens = std::max(peaks.tokens, of_trial.tokens);
    peaks.short_of_cache = peaks.short_of_cache || of_trial.short_of_cache;
    c.peaks = peaks;
}

Seconds quantile_of(LatencySpread const& spread, double share) {
    if (spread.curve.empty()) return {};
    double const at = share * static_cast<double>(spread.curve.size() - 1);
    auto const below = static_cast<std::size_t>(at);
    Seconds const low = spread.curve[below];
    return low + (at - static_cast<double>(below)) * (spread.curve[std::min(below + 1, spread.curve.size() - 1)] - low);
}

/// The largest number of replicas that is allowed and costs less than `most`; 0: none.
std::int64_t most_replicas(ServeQuestion const& q, ServeCandidate const& c, double most) {
    std::int64_t const allowed = q.most_accelerators / c.plan.accelerators();
    double const paid = std::ceil(most / cost_of(q, c, 1)) - 1;
    return paid < static_cast<double>(allowed) ? static_cast<std::int64_t>(paid) : allowed;
}

ReplicaLimits limits_of(ServeQuestion const& q, IterationModel const& model) {
    ReplicaLimits limits = replica_limits(model.what(), model.memory());
    limits.scheduler = q.used_scheduler();
    return limits;
}

}  // namespace

CandidateModels::CandidateModels(ServeQuestion const& q, ServeCandidate const& c) : replicas(q.case_of(c)) {
    if (c.prompts) prompts.emplace(q.case_of_prompts(c));
}

double CandidateModels::longest() const {
    double const of_replicas = replicas.memory().longest();
    return prompts ? std::min(of_replicas, prompts->memory().longest()) : of_replicas;
}

ServeTrial simulate_candidate(ServeQuestion const& q, ServeCandidate& c, CandidateModels const& models,
                              std::int64_t replicas, std::int64_t for_prompts) {
    ModelledService service(models.replicas);
    std::optional<ModelledService> prompts;
    ServingSetup setup;
    setup.replicas = for_prompts + replicas;
    setup.limits = limits_of(q, models.replicas);
    if (models.prompts) {
        prompts.emplace(*models.prompts);
        service.connect(*prompts, for_prompts, replicas);
        setup.prefill_replicas = for_prompts;
        setup.prefill_limits = limits_of(q, *models.prompts);
    }
    setup.interval_variation = q.process == ArrivalProcess::gamma ? q.variation : 1;
    if (q.ttft > Seconds{}) setup.objective.ttft = q.ttft;
    if (q.tpot > Seconds{}) setup.objective.tpot = q.tpot;
    auto const source = requests_of(q, c, models, replicas);
    // Enough is known once more requests have missed the objectives than may.
    auto const warm = static_cast<std::int64_t>(setup.warmup_share * static_cast<double>(source->count()));
    double const may_miss = (1 - q.share) * static_cast<double>(source->count() - warm);
    std::int64_t missed = 0;
    std::atomic<bool> enough = false;
    auto const look = [&] {
        if (is_stopped(q) || static_cast<double>(missed) > may_miss) enough = true;
    };
    ServingHooks const hooks{.finished =
                                 [&](FinishedRequest const& request) {
                                     if (request.number >= warm && !setup.objective.met_by(request)) ++missed;
                                     look();
                                 },
                             .progress = [&](std::int64_t) { look(); },
                             .stop = &enough};
    ServingOutcome const o = simulate_serving(setup, service, *source, hooks);
    ServeTrial trial;
    trial.replicas = replicas;
    trial.requests = source->count();
    trial.peaks = {.batch = o.most_batch, .tokens = o.most_batched_tokens, .short_of_cache = o.short_of_cache};
    note_peaks(c, trial.peaks);
    trial.overloaded = o.state == SteadyState::overloaded;
    trial.kept =
        o.measured > 0 && !trial.overloaded ? static_cast<double>(o.good) / static_cast<double>(o.measured) : 0;
    if (!setup.objective.any() && !trial.overloaded) trial.kept = 1;
    trial.ttft_p50 = o.ttft.p50;
    trial.ttft_p99 = o.ttft.p99;
    trial.tpot_p50 = o.tpot.p50;
    trial.tpot_p99 = o.tpot.p99;
    trial.ttft_kept = quantile_of(o.ttft, q.share);
    trial.tpot_kept = quantile_of(o.tpot, q.share);
    trial.output_tokens_per_s =
        o.window.at > Seconds{} ? static_cast<double>(o.window.counters.tokens_out) * units::s / o.window.at : 0;
    return trial;
}

double cost_of(ServeQuestion const& q, ServeCandidate const& c, std::int64_t replicas) {
    bool const priced =
        std::all_of(q.machines.begin(), q.machines.end(), [](auto const& m) { return m.usd_per_hour.has_value(); });
    return static_cast<double>(c.accelerators(replicas)) * (priced ? *q.machines[c.machine].usd_per_hour : 1.0);
}

bool is_stopped(ServeQuestion const& q) { return q.stop != nullptr && *q.stop; }

void settle(ServeQuestion const& q, ServeCandidate& c, double most) {
    CandidateModels const models(q, c);
    std::int64_t const top = most_replicas(q, c, most);
    std::int64_t too_few = c.least_replicas - 1;
    std::int64_t step = 0;  // above what missed last
    std::int64_t replicas = std::min(c.likely_replicas, top);
    for (int trial = 0; trial < most_trials && replicas > too_few && replicas <= top; ++trial) {
        ServeTrial const found = simulate_candidate(q, c, models, replicas);
        if (is_stopped(q)) return;  // the first requests of a simulation say nothing
        if (found.kept >= q.share) {
            c.trial = found;
            c.replicas = replicas;
        } else {
            c.missed = found;
            if (trial == 1 && !c.trial) break;  // nor does any other number keep them
            too_few = replicas;
        }
        if (!c.trial) {
            replicas = std::min(top, plenty * replicas);
            step = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(too_few) * growth));
            continue;
        }
        auto const between = static_cast<double>(c.replicas - too_few);
        if (between <= 1 || between <= growth / 2 * static_cast<double>(c.replicas)) break;
        replicas = too_few + (c.replicas - too_few) / 2;
        if (step > 0) {
            replicas = std::min(replicas, too_few + step);
            step *= 2;
        }
    }
    if (c.trial)
        c.missed.reset();
    else
        c.least_replicas = too_few + 1;
}

}  // namespace sextant

#include "planner/validation/served_loop.hpp"

#include "core/error.hpp"
#include "simulator/serving/serving_simulation.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

LengthDistribution lengths(double mean, double least) {
    double const longest = 2 * mean / (1 + least);
    if (least >= 1 || mean < 2) return {.kind = LengthDistribution::Kind::fixed, .mean = std::max(1.0, mean)};
    return {.kind = LengthDistribution::Kind::uniform,
            .low = std::max(1.0, std::round(least * longest)),
            .high = std::round(longest)};
}

ServingSetup setup_of(IterationModel const& model, LoopLoad const& load) {
    ServingSetup setup;
    setup.limits = replica_limits(model.what(), model.memory());
    setup.limits.prefix_caching = PrefixCaching::off;
    if (load.cut == PromptCut::whole && setup.limits.scheduler.batch == BatchPolicy::chunked)
        setup.limits.scheduler.batch = BatchPolicy::whole_prompts;
    setup.concurrency = std::max<std::int64_t>(1, std::llround(load.concurrency));
    if (load.most_running < static_cast<double>(setup.limits.max_batch))
        setup.limits.max_batch = std::max<std::int64_t>(1, std::llround(load.most_running));
    setup.warmup_share = load.warmup_share;
    return setup;
}

/// How many are followed; of a run that is longer the rest is as the loop without an end.
std::int64_t followed_requests(LoopLoad const& load, std::int64_t concurrency) {
    constexpr std::int64_t enough = 10'000;  // assumed: a first round beyond counts for little
    std::int64_t const endless = std::max(load.least_requests, concurrency * load.rounds);
    if (!load.sent) return endless;
    auto const sent = static_cast<std::int64_t>(std::max(1.0, std::round(std::min(*load.sent, 1e15))));
    return std::min(sent, std::max(endless, enough));
}

/// All requests and their tokens over the time that the run took.
void put_whole_run(ServingEstimate& out, LoopLoad const& load, ServingTotals const& followed) {
    auto const done = static_cast<double>(followed.finished);
    if (!load.sent || done < 1 || followed.at <= Seconds{}) return;
    double const tokens = static_cast<double>(followed.finished_tokens) / done;
    double const all = std::max(done, *load.sent);
    Seconds const time = followed.at + (all - done) / out.requests_per_s * units::s;
    out.requests_per_s = all / (time / units::s);
    out.output_tokens_per_s = out.requests_per_s * tokens;
}

}  // namespace

ServingEstimate served_loop(IterationModel const& model, LoopLoad const& load) {
    // The steady state knows what fits, refuses what does not, and takes an answer apart.
    ServingEstimate out = closed_loop(model, load.request, load.concurrency);
    ServingSetup const setup = setup_of(model, load);
    SyntheticWorkload workload{.process = ArrivalProcess::closed,
                               .prompt = lengths(load.request.prompt - load.request.cached, load.least_length),
                               .output = lengths(load.request.output, load.least_length)};
    workload.requests = followed_requests(load, setup.concurrency);
    workload.longest = static_cast<std::int32_t>(std::min(model.memory().longest(), 1e9));
    SyntheticSource source(workload);
    ModelledService const service(model);
    ServingOutcome const found = simulate_serving(setup, service, source);
    // What the steady state does not know of the time to the first token is waiting; where a request's own iterations
    // explain more than it takes, fewer prompts share one than in the mean of random ones.
    out.ttft.queue += found.ttft.mean - out.ttft.total();
    if (out.ttft.queue < Seconds{}) {
        out.ttft.prefill += out.ttft.queue;
        out.ttft.queue = {};
    }
    if (found.tpot.count > 0) out.tpot = found.tpot.mean;
    double const steps = std::max(0.0, load.request.output - 1);
    out.latency = out.ttft.total() + steps * out.tpot;
    out.requests_per_s = load.concurrency / (out.latency / units::s);
    out.output_tokens_per_s = out.requests_per_s * load.request.output;
    put_whole_run(out, load, found.whole);
    if (found.window.at > Seconds{}) out.busy = std::min(1.0, found.window.counters.busy / found.window.at);
    return out;
}

}  // namespace sextant

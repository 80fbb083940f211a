#include "cli/serve/loop_in_step.hpp"

#include "simulator/serving/serving_simulation.hpp"

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

ServingOutcome followed(IterationModel const& model, RequestShape const& request, double concurrency) {
    constexpr double most = 4000;
    constexpr double fewest_rounds = 20;
    auto const alike = [](double tokens) {
        return LengthDistribution{.kind = LengthDistribution::Kind::fixed, .mean = tokens};
    };
    ServingSetup setup;
    setup.limits = replica_limits(model.what(), model.memory());
    setup.limits.prefix_caching = PrefixCaching::off;
    setup.concurrency = std::llround(concurrency);
    setup.warmup_share = 0.2;  // the first round comes at once
    SyntheticWorkload const workload{.process = ArrivalProcess::closed,
                                     .prompt = alike(request.prompt),
                                     .output = alike(request.output),
                                     .requests = std::llround(std::max(most, fewest_rounds * concurrency)),
                                     .longest = static_cast<std::int32_t>(std::min(model.memory().longest(), 1e9))};
    SyntheticSource source(workload);
    ModelledService const service(model);
    return simulate_serving(setup, service, source);
}

}  // namespace

bool stays_in_step(RequestShape const& request) { return request.output <= 2 && request.cached == 0; }

ServingEstimate loop_in_step(IterationModel const& model, RequestShape const& request, double concurrency) {
    ServingEstimate out = closed_loop(model, request, concurrency);
    if (concurrency < 1 || concurrency != std::floor(concurrency)) return out;
    ServingOutcome const found = followed(model, request, concurrency);
    // Waiting is what a request's own iterations do not explain; where they explain too much, fewer prompts share one
    // than in the mean of random ones.
    out.ttft.queue += found.ttft.mean - out.ttft.total();
    if (out.ttft.queue < Seconds{}) {
        out.ttft.prefill += out.ttft.queue;
        out.ttft.queue = {};
    }
    if (found.tpot.count > 0) out.tpot = found.tpot.mean;
    out.latency = out.ttft.total() + (request.output - 1) * out.tpot;
    out.requests_per_s = concurrency / (out.latency / units::s);
    out.output_tokens_per_s = out.requests_per_s * request.output;
    return out;
}

}  // namespace sextant::cli

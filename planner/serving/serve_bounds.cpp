#include "planner/serving/serve_bounds.hpp"

#include "core/quantile.hpp"
#include "core/random_stream.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sextant {
namespace {

constexpr double trickle = 1e-4;          // of the capacity: a request alone
constexpr double bound_precision = 1e-4;  // relative: estimates are not as exact
constexpr double unlimited_miss = 1e30;

/// How far an estimate is from the nearest objective: a logarithm, above zero where one is missed.
double miss_of(ServeQuestion const& q, ServingEstimate const& e) {
    if (e.saturated) return unlimited_miss;
    double miss = -unlimited_miss;
    if (q.ttft > Seconds{}) miss = std::max(miss, std::log(e.ttft.total() / q.ttft));
    if (q.tpot > Seconds{}) miss = std::max(miss, std::log(e.tpot / q.tpot));
    return miss;
}

std::int64_t replicas_for(double rate, double of_each) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rate / of_each)));
}

/// The largest share of the capacity that keeps the objectives: regula falsi (Illinois) in the logarithms, halves where
/// that has no figure, both ends drawn in.
void find_rate_bound(ServeQuestion const& q, IterationModel const& model, ServeCandidate& c, double capacity,
                     ServingEstimate const& alone) {
    RequestShape const request = q.mean_request();
    double low = trickle;
    double high = 1;
    double below = miss_of(q, alone);
    double above = unlimited_miss;
    while (high - low > bound_precision * high) {
        double const margin = 0.4 * bound_precision * high;
        bool const known = above < unlimited_miss && below > -unlimited_miss;
        double const guess = known ? low + (high - low) * (below / (below - above)) : (low + high) / 2;
        double const middle = std::clamp(guess, low + margin, high - margin);
        ServingEstimate const e = open_loop(model, request, middle * capacity, capacity);
        double const miss = miss_of(q, e);
        if (miss <= 0) {
            low = middle;
            below = miss;
            above = above < unlimited_miss ? 0.5 * above : above;
            c.at_bound = e;
        } else {
            high = middle;
            above = miss;
            below = below > -unlimited_miss ? 0.5 * below : below;
        }
    }
    c.rate_bound = low * capacity;
}

/// The rate of a replica that always has as many requests as the objective of the time per token allows: a few more
/// than that, so that the rate is no lower than the largest.
double busiest_rate(ServeQuestion const& q, IterationModel const& model, ServeCandidate const& c, double capacity,
                    ServingEstimate const& alone) {
    constexpr double close = 1.02;
    RequestShape const request = q.mean_request();
    double keeps = 1;
    double misses = static_cast<double>(c.plan.max_batch);
    if (q.tpot <= Seconds{} || alone.tpot > q.tpot) return capacity;
    ServingEstimate at = closed_loop(model, request, misses);
    if (at.tpot <= q.tpot) return capacity;
    double rate = std::min(capacity, at.requests_per_s);
    while (misses > close * keeps) {
        double const middle = std::sqrt(keeps * misses);
        at = closed_loop(model, request, middle);
        if (at.tpot <= q.tpot) {
            keeps = middle;
        } else {
            misses = middle;
            rate = std::min(rate, at.requests_per_s);
        }
    }
    return rate;
}

}  // namespace

ServingEstimate alone_in(IterationModel const& model, RequestShape const& request) {
    return alone_in(model, request, serving_capacity(model, request));
}

ServingEstimate alone_in(IterationModel const& model, RequestShape const& request, double capacity) {
    return open_loop(model, request, trickle * capacity, capacity);
}

double decisive_prompt(ServeQuestion const& q) {
    if (q.trace.empty() && q.prompt.kind == LengthDistribution::Kind::fixed) return q.prompt.mean;
    std::vector<double> prompts;
    for (ServingRequest const& request : q.trace)
        prompts.push_back(request.prompt);
    constexpr std::int64_t draws = 20000;
    RandomStream random(q.seed, 0, 0);
    std::int64_t clipped = 0;
    for (std::int64_t i = 0; q.trace.empty() && i < draws; ++i)
        prompts.push_back(q.prompt.draw(random, std::numeric_limits<std::int32_t>::max(), clipped));
    std::sort(prompts.begin(), prompts.end());
    return std::min(static_cast<double>(q.positions()), quantile(prompts, std::max(0.0, 1 - 1.5 * (1 - q.share))));
}

void find_bounds(ServeQuestion const& q, IterationModel const& model, ServeCandidate& c, double capacity,
                 ServingEstimate const& alone) {
    bool const bounded = miss_of(q, alone) <= 0;
    c.at_bound = alone;
    if (bounded) find_rate_bound(q, model, c, capacity, alone);
    // No replica is quicker within the objectives than one that is always busy.
    c.least_replicas = replicas_for(q.rate, std::max(c.rate_bound, busiest_rate(q, model, c, capacity, alone)));
    c.likely_replicas = bounded ? replicas_for(q.rate, c.rate_bound) : c.least_replicas;
    c.least_replicas = std::min(c.least_replicas, c.likely_replicas);
}

}  // namespace sextant

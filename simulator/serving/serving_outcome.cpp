#include "simulator/serving/serving_outcome.hpp"

#include "core/quantile.hpp"

#include <algorithm>

namespace sextant {

LatencySpread spread_of(std::vector<double>& values) {
    LatencySpread out;
    out.count = static_cast<std::int64_t>(values.size());
    if (values.empty()) return out;
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (double const value : values)
        sum += value;
    auto const at = [&](double q) { return quantile(values, q) * units::s; };
    out.mean = sum / static_cast<double>(values.size()) * units::s;
    out.p50 = at(0.5);
    out.p90 = at(0.9);
    out.p95 = at(0.95);
    out.p99 = at(0.99);
    out.largest = values.back() * units::s;
    constexpr int steps = 200;
    for (int i = 0; i <= steps; ++i)
        out.curve.push_back(at(static_cast<double>(i) / steps));
    return out;
}

LatencySpread spread_of(GapHistogram const& gaps) {
    LatencySpread out;
    out.count = gaps.count();
    if (out.count == 0) return out;
    out.mean = gaps.mean();
    out.p50 = gaps.quantile(0.5);
    out.p90 = gaps.quantile(0.9);
    out.p95 = gaps.quantile(0.95);
    out.p99 = gaps.quantile(0.99);
    out.largest = gaps.largest();
    return out;
}

ReplicaCounters operator-(ReplicaCounters a, ReplicaCounters const& b) {
    a.tokens_out -= b.tokens_out;
    a.prompt_tokens -= b.prompt_tokens;
    a.cached_tokens -= b.cached_tokens;
    a.wanted_tokens -= b.wanted_tokens;
    a.preemptions -= b.preemptions;
    a.recomputed_tokens -= b.recomputed_tokens;
    a.swaps -= b.swaps;
    a.swapped_tokens -= b.swapped_tokens;
    a.adapters_wanted -= b.adapters_wanted;
    a.adapters_loaded -= b.adapters_loaded;
    a.iterations -= b.iterations;
    a.decode_steps -= b.decode_steps;
    a.decode_tokens -= b.decode_tokens;
    a.loaded_tokens -= b.loaded_tokens;
    a.busy -= b.busy;
    a.copying -= b.copying;
    return a;
}

ReplicaCounters& operator+=(ReplicaCounters& sum, ReplicaCounters const& other) {
    sum.tokens_out += other.tokens_out;
    sum.prompt_tokens += other.prompt_tokens;
    sum.cached_tokens += other.cached_tokens;
    sum.wanted_tokens += other.wanted_tokens;
    sum.preemptions += other.preemptions;
    sum.recomputed_tokens += other.recomputed_tokens;
    sum.swaps += other.swaps;
    sum.swapped_tokens += other.swapped_tokens;
    sum.adapters_wanted += other.adapters_wanted;
    sum.adapters_loaded += other.adapters_loaded;
    sum.iterations += other.iterations;
    sum.decode_steps += other.decode_steps;
    sum.decode_tokens += other.decode_tokens;
    sum.loaded_tokens += other.loaded_tokens;
    sum.busy += other.busy;
    sum.copying += other.copying;
    return sum;
}

ServingTotals operator-(ServingTotals const& a, ServingTotals const& b) {
    return {.at = a.at - b.at,
            .in_system = a.in_system - b.in_system,
            .waiting = a.waiting - b.waiting,
            .running = a.running - b.running,
            .blocks = a.blocks - b.blocks,
            .room = a.room - b.room,
            .arrived = a.arrived - b.arrived,
            .finished = a.finished - b.finished,
            .finished_tokens = a.finished_tokens - b.finished_tokens,
            .counters = a.counters - b.counters,
            .prefill_busy = a.prefill_busy - b.prefill_busy,
            .transferring = a.transferring - b.transferring,
            .transferring_alone = a.transferring_alone - b.transferring_alone,
            .transfers = a.transfers - b.transfers,
            .up = a.up - b.up,
            .down = a.down - b.down,
            .held = a.held - b.held};
}

}  // namespace sextant

#include "planner/rl/generation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sextant {
namespace {

Seconds const never = Seconds::from_base(std::numeric_limits<double>::infinity());

/// The share of one replica.
std::vector<std::int64_t> dealt(std::vector<std::int64_t> const& lengths, std::int64_t replicas, std::int64_t which) {
    std::vector<std::int64_t> out;
    for (std::size_t i = static_cast<std::size_t>(which); i < lengths.size(); i += static_cast<std::size_t>(replicas))
        out.push_back(lengths[i]);
    return out;
}

RolloutReplica run_all(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths) {
    RolloutReplica replica(fleet.model, fleet.prompt, fleet.limits, fleet.slowdown);
    for (std::int64_t const tokens : lengths)
        replica.submit({.tokens = tokens});
    std::vector<FinishedRollout> finished;
    while (!replica.idle())
        replica.run(never, finished);
    return replica;
}

}  // namespace

BatchGeneration generate_batch(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths) {
    BatchGeneration out;
    if (lengths.empty()) return out;
    auto const replicas = static_cast<double>(fleet.replicas);
    Seconds sequences;
    for (std::int64_t r = 0; r < fleet.replicas; ++r) {
        RolloutReplica const replica = run_all(fleet, dealt(lengths, fleet.replicas, r));
        out.time = std::max(out.time, replica.now());
        out.mean_busy += replica.busy() / replicas;
        out.prefill += replica.prefill() / replicas;
        out.tokens += replica.tokens();
        sequences += replica.sequence_time() / replicas;
        out.most_batch = std::max(out.most_batch, static_cast<double>(replica.most_running()));
    }
    out.responses = static_cast<double>(lengths.size());
    out.mean_batch = sequences / out.time;
    double const each = std::ceil(out.responses / replicas);
    out.longest = *std::max_element(lengths.begin(), lengths.end());
    std::int64_t const mean = std::llround(
        static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})) / out.responses);
    out.even = run_all(fleet, std::vector(static_cast<std::size_t>(each), mean)).now();
    return out;
}

Seconds saturated_generation(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths) {
    if (lengths.empty()) return {};
    // One replica with its own share of every round; the order within the shares is that of the draw.
    RolloutReplica replica(fleet.model, fleet.prompt, fleet.limits, fleet.slowdown);
    std::size_t next = 0;
    auto const top_up = [&] {
        // As many as it may hold: responses of one length end together, and all of them are replaced.
        while (replica.waiting() < fleet.limits.sequences) {
            replica.submit({.tokens = lengths[next % lengths.size()]});
            ++next;
        }
    };
    double const total = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
    double const share = total / static_cast<double>(fleet.replicas);
    // Past the longest response twice over, the ages in the batch are mixed.
    double const longest = static_cast<double>(*std::max_element(lengths.begin(), lengths.end()));
    std::vector<FinishedRollout> finished;
    top_up();
    replica.run(never, finished);
    double const begin = 3 * longest * static_cast<double>(replica.most_running());
    auto const run_to = [&](double tokens) {
        while (replica.tokens() < tokens) {
            top_up();
            finished.clear();
            replica.run(never, finished);
        }
    };
    run_to(begin);
    Seconds const from = replica.now();
    double const tokens = replica.tokens();
    run_to(tokens + std::max(2 * share, begin));
    return (replica.now() - from) * (share / (replica.tokens() - tokens));
}

}  // namespace sextant

#include "planner/run_plan/accelerator_ladder.hpp"

#include "planner/search_space.hpp"

#include <algorithm>

namespace sextant {

std::vector<std::int64_t> accelerator_ladder(ClusterSpec const& cluster) {
    std::int64_t most = cluster.max_accelerators > 0 ? cluster.max_accelerators : most_of_endless_cluster;
    if (!cluster.scale_out) most = std::min(most, cluster.domain_size);
    std::vector<std::int64_t> ladder = divisors(cluster.domain_size);
    auto const add = [&](std::int64_t domains) { ladder.push_back(domains * cluster.domain_size); };
    for (std::int64_t const small : {2, 3})
        add(small);
    for (std::int64_t octave = 1; octave * cluster.domain_size <= most; octave *= 2)
        for (std::int64_t const quarter : {4, 5, 6, 7})
            add(octave * quarter);
    std::erase_if(ladder, [&](std::int64_t n) { return n > most; });
    return ladder;
}

std::optional<std::int64_t> rung_above(ClusterSpec const& cluster, double accelerators) {
    for (std::int64_t const rung : accelerator_ladder(cluster))
        if (static_cast<double>(rung) >= accelerators) return rung;
    return {};
}

}  // namespace sextant

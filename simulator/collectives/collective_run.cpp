#include "simulator/collectives/collective_run.hpp"

#include "simulator/collectives/collective_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// More would take minutes to simulate.
constexpr std::int64_t most_flows = 200'000;

std::vector<LinkUse> busiest(std::vector<LinkUse> links, std::size_t count) {
    auto const fuller = [](LinkUse const& a, LinkUse const& b) {
        return a.busy_share != b.busy_share ? a.busy_share > b.busy_share : a.name < b.name;
    };
    count = std::min(count, links.size());
    std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count), links.end(), fuller);
    links.resize(count);
    return links;
}

}  // namespace

CollectiveRun run_collective(ClusterSpec const& cluster, CollectiveAlgorithm const& algorithm,
                             CollectiveShape const& shape, std::span<Bytes const> sizes,
                             CollectiveRunOptions const& options) {
    CollectiveRun run{.algorithm = &algorithm, .reason = why_not(algorithm, shape)};
    if (run.reason) return run;
    CollectiveGraph collective = collective_graph(algorithm, shape, cluster);
    if (collective.flows > most_flows) {
        run.reason = fmt::format("{} ranks: {} flows (at most {})", shape.ranks, collective.flows, most_flows);
        return run;
    }
    run.rounds = collective.rounds;
    run.flows = collective.flows;
    run.phases = collective.phases;
    Fabric fabric(cluster, collective.graph);
    Fabric const sound = fabric;
    for (DegradedLink const& link : options.degraded)
        fabric.degrade(link.pattern, link.factor, options.degraded_where);
    for (Bytes const bytes : sizes) {
        set_bytes(collective, sound, bytes);
        CollectiveTiming timing{.bytes = bytes, .time = {}};
        if (options.engine.network == NetworkMode::ideal) {
            timing.time = walk_graph(collective.graph).makespan();
        } else {
            Simulation simulation = simulate(collective.graph, fabric, options.engine);
            timing.state = simulation.state;
            timing.message = std::move(simulation.message);
            timing.activities = simulation.activities;
            if (timing.state == Simulation::State::finished) timing.time = simulation.times.makespan();
            timing.busiest = busiest(std::move(simulation.links), options.busiest_links);
        }
        run.timings.push_back(std::move(timing));
    }
    return run;
}

}  // namespace sextant

#include "simulator/collectives/collective_run.hpp"

#include "simulator/collectives/collective_graph.hpp"
#include "simulator/collectives/lone_flows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// Flows that may meet in one phase: the simulation's time grows with their square, to a quarter of a minute here.
constexpr std::int64_t most_at_once = 20'000;

std::vector<LinkUse> busiest(std::vector<LinkUse> links, std::size_t count) {
    auto const fuller = [](LinkUse const& a, LinkUse const& b) {
        return a.busy_share != b.busy_share ? a.busy_share > b.busy_share : a.name < b.name;
    };
    count = std::min(count, links.size());
    std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count), links.end(), fuller);
    links.resize(count);
    return links;
}

/// One algorithm on one network, for any number of bytes.
class Runner {
public:
    Runner(CollectiveGraph collective, Fabric const& sound, Fabric const& fabric, CollectiveRunOptions const& options)
        : collective_(std::move(collective)), sound_(sound), fabric_(fabric), options_(options) {
        if (options.engine.network == NetworkMode::ideal) return;
        bandwidths_ = usable_bandwidths(fabric, options.engine);
        if (options.lone_flows == LoneFlows::timed && options.engine.failures.empty())
            lone_ = lone_flows(collective_, fabric);
    }

    /// Flows of each phase that are simulated.
    [[nodiscard]] std::vector<std::int64_t> simulated() const {
        std::vector<std::int64_t> flows(collective_.phases.size());
        for (std::size_t i = 0; i < collective_.graph.tasks.size() && !bandwidths_.empty(); ++i)
            if (collective_.graph.tasks[i].demand >= 0 && (lone_.empty() || lone_[i] == 0))
                ++flows[collective_.graph.tasks[i].name];
        return flows;
    }

    CollectiveTiming run(Bytes bytes) {
        set_bytes(collective_, sound_, bytes);
        CollectiveTiming timing{.bytes = bytes, .time = {}};
        if (options_.engine.network == NetworkMode::ideal) {
            timing.time = walk_graph(collective_.graph).makespan();
            return timing;
        }
        TaskGraph const graph = with_timed_flows(collective_, fabric_, lone_, bandwidths_);
        bool const meets =
            std::any_of(graph.tasks.begin(), graph.tasks.end(), [](Task const& t) { return t.demand >= 0; });
        if (meets) {
            Simulation const simulation = simulate(graph, fabric_, options_.engine);
            timing.state = simulation.state;
            timing.message = simulation.message;
            timing.activities = simulation.activities;
            timing.time = simulation.times.makespan();
        } else {
            timing.time = walk_graph(graph).makespan();
        }
        if (timing.state == Simulation::State::finished)
            timing.busiest = busiest(link_use(timing.time), options_.busiest_links);
        return timing;
    }

private:
    [[nodiscard]] std::vector<LinkUse> link_use(Seconds makespan) const {
        std::vector<double> const carried = carried_bytes(collective_, fabric_);
        std::vector<LinkUse> links;
        for (std::size_t i = 0; i < carried.size(); ++i) {
            if (carried[i] <= 0) continue;
            links.push_back({.name = fabric_.links()[i].name,
                             .bandwidth = BytesPerSecond::from_base(bandwidths_[i]),
                             .carried = Bytes::from_base(carried[i]),
                             .busy_share = carried[i] / (bandwidths_[i] * makespan.base())});
        }
        return links;
    }

    CollectiveGraph collective_;
    Fabric const& sound_;
    Fabric const& fabric_;
    CollectiveRunOptions const& options_;
    std::vector<double> bandwidths_;
    std::vector<char> lone_;
};

double meetings_of(std::vector<std::int64_t> const& flows) {
    double meetings = 0;
    for (std::int64_t const of_phase : flows)
        meetings += static_cast<double>(of_phase) * static_cast<double>(of_phase);
    return meetings;
}

}  // namespace

CollectiveRun run_collective(ClusterSpec const& cluster, CollectiveAlgorithm const& algorithm,
                             CollectiveShape const& shape, std::span<Bytes const> sizes,
                             CollectiveRunOptions const& options) {
    CollectiveRun run{.algorithm = &algorithm, .reason = why_not(algorithm, shape)};
    if (run.reason) return run;
    run.reason = why_no_flows(shape);
    if (run.reason) return run;
    CollectiveFlows group = flows_of(algorithm, shape);
    std::int64_t const all = static_cast<std::int64_t>(group.flows.size()) * shape.stride;
    if (all > most_transfers) {
        run.reason = fmt::format("{} ranks: {} flows (at most {})", shape.accelerators(), all, most_transfers);
        return run;
    }
    CollectiveGraph collective = collective_graph(std::move(group), shape, cluster);
    run.rounds = collective.rounds;
    run.flows = collective.flows;
    run.phases = collective.phases;
    Fabric const sound(cluster, collective.graph);
    Fabric fabric = sound;
    for (DegradedLink const& link : options.degraded)
        fabric.degrade(link.pattern, link.factor, options.degraded_where);
    check_engine_options(options.engine, fabric, "collective");
    Runner runner(std::move(collective), sound, fabric, options);
    std::vector<std::int64_t> const simulated = runner.simulated();
    std::int64_t const flows = simulated.empty() ? 0 : *std::max_element(simulated.begin(), simulated.end());
    if (flows > most_at_once) {
        run.reason = fmt::format("{} ranks: {} flows that meet at the same time (at most {} on a fair network)",
                                 shape.accelerators(), flows, most_at_once);
        return run;
    }
    double const meetings = static_cast<double>(sizes.size()) * meetings_of(simulated);
    if (meetings > options.most_meetings) {
        run.takes_long = true;
        run.reason = fmt::format("{} flows, of which up to {} meet at a time, take about {:.2g} s to simulate",
                                 run.flows, flows, 10 * meetings / meetings_of_ten_seconds);
        return run;
    }
    for (Bytes const bytes : sizes)
        run.timings.push_back(runner.run(bytes));
    return run;
}

}  // namespace sextant

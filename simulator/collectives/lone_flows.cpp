#include "simulator/collectives/lone_flows.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// What is known of a link's flows, phase after phase.
struct LinkUsers {
    std::int32_t phase = -1;  ///< of the last one
    std::int32_t common_a = -1;
    std::int32_t common_b = -1;
    bool lone = true;

    void add(std::int32_t next_phase, std::int32_t source, std::int32_t destination) {
        if (phase < 0) {
            common_a = source;
            common_b = destination;
        } else {
            auto const keep = [&](std::int32_t rank) { return rank == source || rank == destination ? rank : -1; };
            common_a = keep(common_a);
            common_b = keep(common_b);
            lone = lone && phase != next_phase && (common_a >= 0 || common_b >= 0);
        }
        phase = next_phase;
    }
};

std::vector<Flow> const no_flows;

std::span<Flow const> flows_of_task(CollectiveGraph const& collective, Fabric const& fabric, std::size_t task) {
    std::int32_t const demand = collective.graph.tasks[task].demand;
    return demand < 0 ? std::span<Flow const>(no_flows) : fabric.flows_of(static_cast<std::size_t>(demand));
}

}  // namespace

std::vector<char> lone_flows(CollectiveGraph const& collective, Fabric const& fabric) {
    TaskGraph const& graph = collective.graph;
    std::vector<LinkUsers> users(fabric.links().size());
    for (std::size_t i = 0; i < graph.tasks.size(); ++i)
        for (Flow const& flow : flows_of_task(collective, fabric, i)) {
            auto const& members = graph.demands[static_cast<std::size_t>(graph.tasks[i].demand)].members;
            for (std::int32_t const link : flow.links)
                users[static_cast<std::size_t>(link)].add(graph.tasks[i].name, members.front(), members.back());
        }
    std::vector<char> lone(graph.tasks.size(), 0);
    for (std::size_t i = 0; i < lone.size(); ++i) {
        bool alone = graph.tasks[i].demand >= 0;
        for (Flow const& flow : flows_of_task(collective, fabric, i))
            for (std::int32_t const link : flow.links)
                alone = alone && users[static_cast<std::size_t>(link)].lone;
        lone[i] = alone ? 1 : 0;
    }
    return lone;
}

TaskGraph with_timed_flows(CollectiveGraph const& collective, Fabric const& fabric, std::span<char const> lone,
                           std::span<double const> bandwidths) {
    TaskGraph graph = collective.graph;
    for (std::size_t i = 0; i < lone.size(); ++i) {
        if (lone[i] == 0) continue;
        Task& task = graph.tasks[i];
        double slower = 1;
        for (Flow const& flow : flows_of_task(collective, fabric, i))
            for (std::int32_t const link : flow.links)
                slower = std::max(slower, flow.rate.base() / bandwidths[static_cast<std::size_t>(link)]);
        task.duration = task.latency + (task.duration - task.latency) * slower;
        task.demand = -1;
    }
    return graph;
}

std::vector<double> carried_bytes(CollectiveGraph const& collective, Fabric const& fabric) {
    std::vector<double> carried(fabric.links().size());
    for (std::size_t i = 0; i < collective.graph.tasks.size(); ++i) {
        Task const& task = collective.graph.tasks[i];
        for (Flow const& flow : flows_of_task(collective, fabric, i))
            for (std::int32_t const link : flow.links)
                carried[static_cast<std::size_t>(link)] += flow.rate.base() * (task.duration - task.latency);
    }
    return carried;
}

}  // namespace sextant

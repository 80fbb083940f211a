#pragma once

#include "simulator/network/fabric.hpp"
#include "simulator/task_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Task graphs and fabrics made by hand, or at random.
namespace sextant::fixtures {

/// Builds a graph task by task.
class GraphMaker {
public:
    explicit GraphMaker(std::int64_t ranks = 1) {
        for (std::int64_t rank = 0; rank < ranks; ++rank)
            graph.ranks.push_back({.rank = rank});
        graph.names = {"task", "all-reduce"};
    }
    /// Returns the task's number.
    std::uint32_t add(Task task, std::vector<std::uint32_t> const& after = {}) {
        task.first_dependency = static_cast<std::uint32_t>(graph.dependencies.size());
        graph.dependencies.insert(graph.dependencies.end(), after.begin(), after.end());
        graph.tasks.push_back(task);
        return static_cast<std::uint32_t>(graph.tasks.size() - 1);
    }
    std::uint32_t compute(std::int32_t rank, double duration, std::vector<std::uint32_t> const& after = {}) {
        return add({.duration = duration, .rank = rank}, after);
    }
    /// A communication with a demand of its own.
    std::uint32_t transfer(std::vector<std::int32_t> members, double duration, double latency = 0,
                           std::vector<std::uint32_t> const& after = {},
                           CollectiveKind kind = CollectiveKind::all_reduce) {
        Task const task{.duration = duration,
                        .latency = latency,
                        .rank = members.front(),
                        .demand = static_cast<std::int32_t>(graph.demands.size()),
                        .name = 1,
                        .stream = Stream::data_parallel};
        graph.demands.push_back({.kind = kind, .members = std::move(members)});
        return add(task, after);
    }

    TaskGraph graph;
};

/// A fabric of links with these bandwidths in GB/s, named "link0" and so on.
inline std::vector<FabricLink> links_of(std::vector<double> const& bandwidths) {
    std::vector<FabricLink> links;
    for (double const bandwidth : bandwidths)
        links.push_back({"link" + std::to_string(links.size()), bandwidth * units::GB / units::s});
    return links;
}

inline Flow flow(std::vector<std::int32_t> links, double rate) {
    return {.links = std::move(links), .rate = rate * units::GB / units::s};
}

/// A graph as steps have them: every stream of every rank works in order, and tasks also wait for a few of the last
/// `window` tasks of any rank. Durations spread over `decades` powers of ten around `scale` seconds; one in eight is 0.
inline TaskGraph random_graph(std::mt19937_64& random, std::size_t tasks, std::int64_t ranks, double scale,
                              double decades, std::size_t window = 50) {
    GraphMaker maker(ranks);
    std::vector<std::int64_t> last(static_cast<std::size_t>(ranks) * stream_count, -1);
    std::uniform_real_distribution<double> exponent(-decades / 2, decades / 2);
    for (std::size_t i = 0; i < tasks; ++i) {
        auto const rank = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(ranks));
        auto const stream = random() % 2 == 0 ? 0 : random() % stream_count;
        std::vector<std::uint32_t> after;
        std::int64_t& before = last[rank * stream_count + stream];
        if (before >= 0) after.push_back(static_cast<std::uint32_t>(before));
        for (auto more = random() % 3; more > 0 && i > 0; --more)
            after.push_back(static_cast<std::uint32_t>(i - 1 - random() % std::min(i, window)));
        before = static_cast<std::int64_t>(
            maker.add({.duration = random() % 8 == 0 ? 0 : scale * std::pow(10, exponent(random)),
                       .rank = static_cast<std::int32_t>(rank),
                       .stream = static_cast<Stream>(stream)},
                      after));
    }
    return std::move(maker.graph);
}

}  // namespace sextant::fixtures

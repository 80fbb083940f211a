#include "simulator/collectives/collective_graph.hpp"

#include <algorithm>
#include <unordered_map>

namespace sextant {
namespace {

/// A rank with more flows in a phase than this gets a task that waits for all of them, so that what comes next does not
/// list them again and again.
constexpr std::size_t most_dependencies = 4;

class GraphBuilder {
public:
    GraphBuilder(CollectiveShape const& shape, ClusterSpec const& cluster) : shape_(shape), cluster_(cluster) {
        auto const ranks = static_cast<std::size_t>(shape.accelerators());
        before_.resize(ranks);
        now_.resize(ranks);
        for (std::int64_t rank = 0; rank < shape.accelerators(); ++rank)
            made_.graph.ranks.push_back({.rank = rank, .pipeline = 0, .stands_for = 1});
        base_ = shape.kind == CollectiveKind::send_receive ? Seconds{} : cluster.scale_up.base_latency.value;
        if (shape.kind != CollectiveKind::send_receive && shape.domains() > 1)
            base_ = std::max(base_, cluster.scale_out->base_latency.value);
    }

    CollectiveGraph build(CollectiveFlows flows) {
        made_.rounds = flows.rounds;
        made_.flows = static_cast<std::int64_t>(flows.flows.size()) * shape_.stride;
        made_.graph.tasks.reserve(static_cast<std::size_t>(made_.flows));
        made_.shares.reserve(static_cast<std::size_t>(made_.flows));
        made_.graph.names = flows.phases;
        made_.graph.names.emplace_back("wait");
        std::int32_t phase = 0;
        for (CollectiveFlow const& flow : flows.flows) {
            if (flow.phase != phase) end_phase();
            phase = flow.phase;
            for (std::int32_t group = 0; group < shape_.stride; ++group)
                add(flow, group);
        }
        made_.phases = std::move(flows.phases);
        return std::move(made_);
    }

private:
    using TaskIndices = std::vector<std::uint32_t>;

    /// @param group of those that lie across one another.
    void add(CollectiveFlow const& flow, std::int32_t group) {
        TaskGraph& graph = made_.graph;
        auto const place_of = [&](std::int32_t rank) {
            return static_cast<std::int32_t>(rank * shape_.stride) + group;
        };
        std::int32_t const source = place_of(flow.source);
        std::int32_t const destination = place_of(flow.destination);
        auto const index = static_cast<std::uint32_t>(graph.tasks.size());
        auto const first = static_cast<std::uint32_t>(graph.dependencies.size());
        TaskIndices const& of_source = before_[static_cast<std::size_t>(source)];
        TaskIndices const& of_destination = before_[static_cast<std::size_t>(destination)];
        graph.dependencies.insert(graph.dependencies.end(), of_source.begin(), of_source.end());
        for (std::uint32_t const task : of_destination)
            if (std::find(of_source.begin(), of_source.end(), task) == of_source.end())
                graph.dependencies.push_back(task);
        Seconds latency = flow.hops.up * cluster_.scale_up.hop_latency.value;
        if (flow.hops.out > 0) latency += flow.hops.out * cluster_.scale_out->hop_latency.value;
        if (graph.dependencies.size() == first) latency += base_;
        Task task;
        task.duration = task.latency = latency.base();
        task.first_dependency = first;
        task.rank = source;
        bool const inside = shape_.domain_of(flow.source) == shape_.domain_of(flow.destination);
        task.demand = demand_of(source, destination, inside);
        task.name = static_cast<std::uint16_t>(flow.phase);
        task.stream = Stream::layer_communication;
        task.part = TaskPart::dp;
        graph.tasks.push_back(task);
        made_.shares.push_back(flow.share * overhead(flow.hops.out == 0));
        note(source, index);
        note(destination, index);
    }

    void note(std::int32_t rank, std::uint32_t task) {
        TaskIndices& mine = now_[static_cast<std::size_t>(rank)];
        if (mine.empty()) touched_.push_back(rank);
        mine.push_back(task);
    }

    /// What the ranks of the phase did is what their next flows wait for.
    void end_phase() {
        std::sort(touched_.begin(), touched_.end());
        for (std::int32_t const rank : touched_) {
            TaskIndices& mine = now_[static_cast<std::size_t>(rank)];
            if (mine.size() > most_dependencies) mine = {add_wait(rank, mine)};
            before_[static_cast<std::size_t>(rank)] = std::move(mine);
            mine.clear();
        }
        touched_.clear();
    }

    std::uint32_t add_wait(std::int32_t rank, TaskIndices const& all) {
        TaskGraph& graph = made_.graph;
        Task task;
        task.first_dependency = static_cast<std::uint32_t>(graph.dependencies.size());
        task.rank = rank;
        task.name = static_cast<std::uint16_t>(graph.names.size() - 1);
        task.stream = Stream::layer_communication;
        graph.dependencies.insert(graph.dependencies.end(), all.begin(), all.end());
        graph.tasks.push_back(task);
        made_.shares.push_back(0);
        return static_cast<std::uint32_t>(graph.tasks.size() - 1);
    }

    /// The demand of a pair of accelerators, which all phases share.
    std::int32_t demand_of(std::int32_t source, std::int32_t destination, bool inside) {
        auto const [found, is_new] = demands_.try_emplace(source * shape_.accelerators() + destination, 0);
        if (!is_new) return found->second;
        found->second = static_cast<std::int32_t>(made_.graph.demands.size());
        made_.graph.demands.push_back({.kind = CollectiveKind::send_receive,
                                       .group = GroupKind::data,
                                       .members = {source, destination},
                                       .shares = {.scale_up = inside ? 1.0 : 0.0, .scale_out = inside ? 0.0 : 1.0}});
        return found->second;
    }

    /// Links carry what a ring reaches of their bandwidth. The messages of an all-to-all reach less, as if they were
    /// that much larger.
    [[nodiscard]] double overhead(bool inside) const {
        if (shape_.kind != CollectiveKind::all_to_all) return 1;
        auto const ratio = [](auto const& network) {
            return network.ring_efficiency.value / network.all_to_all_efficiency.value;
        };
        return std::max(1.0, inside ? ratio(cluster_.scale_up) : ratio(*cluster_.scale_out));
    }

    CollectiveShape const& shape_;
    ClusterSpec const& cluster_;
    Seconds base_;
    CollectiveGraph made_;
    std::vector<TaskIndices> before_;  ///< by rank: its tasks in the last phase that it took part in
    std::vector<TaskIndices> now_;     ///< by rank: its tasks in this phase
    std::vector<std::int32_t> touched_;
    std::unordered_map<std::int64_t, std::int32_t> demands_;  ///< by source x accelerators + destination
};

}  // namespace

CollectiveGraph collective_graph(CollectiveAlgorithm const& algorithm, CollectiveShape const& shape,
                                 ClusterSpec const& cluster) {
    return collective_graph(flows_of(algorithm, shape), shape, cluster);
}

CollectiveGraph collective_graph(CollectiveFlows flows, CollectiveShape const& shape, ClusterSpec const& cluster) {
    return GraphBuilder(shape, cluster).build(std::move(flows));
}

void set_bytes(CollectiveGraph& collective, Fabric const& fabric, Bytes bytes) {
    for (std::size_t i = 0; i < collective.graph.tasks.size(); ++i) {
        Task& task = collective.graph.tasks[i];
        if (task.demand < 0) continue;
        Flow const& flow = fabric.flows_of(static_cast<std::size_t>(task.demand)).front();
        task.duration = task.latency + (collective.shares[i] * bytes / flow.rate).base();
    }
}

}  // namespace sextant

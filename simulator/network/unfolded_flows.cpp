#include "core/spec/torus_slice.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/network/flow_pattern.hpp"
#include "simulator/network/topology.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace sextant {
namespace {

using Members = std::vector<std::int64_t>;  // accelerators, in ring order

/// The members of each domain, domains in the order in which the ring first meets them.
std::vector<Members> by_domain(Topology const& topology, Members const& members) {
    std::vector<Members> domains;
    std::map<std::int64_t, std::size_t> place;
    for (auto const member : members) {
        auto const [at, fresh] = place.try_emplace(topology.domain_of(member), domains.size());
        if (fresh) domains.emplace_back();
        domains[at->second].push_back(member);
    }
    return domains;
}

/// Members of a torus slice that differ from `member` on one axis only, by their place on it, with the member itself.
class TorusLines {
public:
    /// Of a job with so many accelerators.
    TorusLines(ClusterSpec const& cluster, std::int64_t accelerators)
        : axes_(cluster.scale_up.kind == ScaleUpKind::torus ? slice_axes(cluster, accelerators)
                                                            : std::vector<SliceAxis>{}),
          slice_(cluster.domain_size) {}

    struct Neighbour {
        std::int64_t member = 0;
        double links = 1;  ///< that can be sent to it over at a time
    };

    /// For each member the next and the previous one on each line of two or more: what a ring along every axis and both
    /// ways round sends to. Where the line does not close, the ring's last step goes back over it, and takes half.
    [[nodiscard]] std::vector<std::vector<Neighbour>> neighbours(Members const& members) const {
        std::vector<std::vector<Neighbour>> found(members.size());
        each_line(members, [&](std::size_t axis, std::vector<std::size_t>& line) {
            std::sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) { return members[a] < members[b]; });
            double const links = axes_[axis].closes || line.size() == 2 ? 1 : 0.5;
            for (std::size_t i = 0; line.size() > 1 && i < line.size(); ++i) {
                found[line[i]].push_back({members[line[(i + 1) % line.size()]], links});
                if (line.size() > 2)
                    found[line[i]].push_back({members[line[(i + line.size() - 1) % line.size()]], links});
            }
        });
        return found;
    }

    /// Whether the members on each line are one, or all of an axis. Two chips have one link where a ring has two.
    [[nodiscard]] bool are_whole(Members const& members) const {
        bool whole = true;
        std::size_t lines = 0;
        each_line(members, [&](std::size_t axis, std::vector<std::size_t> const& line) {
            if (line.size() == 1) return;
            ++lines;
            whole = whole && line.size() > 2 && static_cast<std::int64_t>(line.size()) == axes_[axis].length;
        });
        return whole && (lines > 0 || members.size() == 1);
    }

private:
    /// Calls `visit(axis, indices of the members on it)` for each line of each axis.
    template <class Visit>
    void each_line(Members const& members, Visit const& visit) const {
        std::int64_t stride = 1;
        for (std::size_t axis = 0; axis < axes_.size(); stride *= axes_[axis++].length) {
            std::map<std::int64_t, std::vector<std::size_t>> lines;  // by the first chip of the line
            for (std::size_t i = 0; i < members.size(); ++i)
                lines[members[i] - position(members[i], stride, axes_[axis].length) * stride].push_back(i);
            for (auto& [start, line] : lines)
                visit(axis, line);
        }
    }
    [[nodiscard]] std::int64_t position(std::int64_t chip, std::int64_t stride, std::int64_t length) const {
        return chip % slice_ / stride % length;
    }
    std::vector<SliceAxis> axes_;
    std::int64_t slice_;
};

/// Up to the last one that is simulated.
std::int64_t accelerators_of(TaskGraph const& graph) {
    std::int64_t accelerators = 1;
    for (SimulatedRank const& rank : graph.ranks)
        accelerators = std::max(accelerators, rank.rank + 1);
    return accelerators;
}

class FlowBuilder {
public:
    FlowBuilder(ClusterSpec const& cluster, Topology const& topology, TaskGraph const& graph)
        : cluster_(cluster), topology_(topology), graph_(graph), lines_(cluster, topology.accelerators()) {}

    [[nodiscard]] std::vector<Flow> flows_of(NetworkDemand const& demand) const {
        Members members;
        for (auto const member : demand.members)
            members.push_back(graph_.ranks[static_cast<std::size_t>(member)].rank);
        std::vector<Flow> flows;
        auto const domains = by_domain(topology_, members);
        Rates const rates = rates_of(demand, domains);
        if (demand.kind == CollectiveKind::send_receive) {
            add(flows, members.front(), members.back(), domains.size() == 1 ? rates.inside : rates.outside);
            return flows;
        }
        for (auto const& domain : domains)
            add_inside(flows, domain, rates.inside);
        for (std::size_t d = 0; domains.size() > 1 && d < domains.size(); ++d) {
            auto const& next = domains[(d + 1) % domains.size()];
            for (std::size_t i = 0; i < domains[d].size(); ++i)
                add(flows, domains[d][i], next[i % next.size()], rates.outside);
        }
        return flows;
    }

private:
    struct Rates {
        BytesPerSecond inside;
        BytesPerSecond outside;
    };

    /// A demand's shares are those of an evenly placed group. One that straddles a boundary of domains although it was
    /// priced inside one (or the other way round) still moves its bytes over the network that is there.
    [[nodiscard]] Rates rates_of(NetworkDemand const& demand, std::vector<Members> const& domains) const {
        Rates rates{demand.shares.scale_up * inside_rate(domains), demand.shares.scale_out * nic_rate(cluster_)};
        if (domains.size() == 1 && !(demand.shares.scale_up > 0)) rates.inside = rates.outside;
        if (domains.size() > 1 && !(demand.shares.scale_out > 0)) rates.outside = rates.inside;
        return rates;
    }

    /// Of two that a bridge joins, that of their own links.
    [[nodiscard]] BytesPerSecond inside_rate(std::vector<Members> const& domains) const {
        Members const& first = domains.front();
        if (cluster_.scale_up.pair_bandwidth && domains.size() == 1 && first.size() == 2 &&
            are_neighbours(cluster_.domain_size, first.front(), first.back(), 2))
            return pair_rate(cluster_);
        return scale_up_rate(cluster_) * gain_of(domains);
    }

    /// Of the furthest members of any domain.
    [[nodiscard]] double gain_of(std::vector<Members> const& domains) const {
        double gain = std::numeric_limits<double>::infinity();
        for (Members const& members : domains)
            for (auto const member : members)
                if (member != members.front()) gain = std::min(gain, pcie_gain(cluster_, members.front(), member));
        return std::isinf(gain) ? 1 : gain;
    }

    void add(std::vector<Flow>& flows, std::int64_t source, std::int64_t destination, BytesPerSecond rate) const {
        if (source != destination && rate > BytesPerSecond{})
            flows.push_back({topology_.route(source, destination), rate});
    }

    /// Each member sends at `rate` in all: round a ring, on links of pairs to every other member, in a torus to its
    /// neighbours on every axis.
    void add_inside(std::vector<Flow>& flows, Members const& members, BytesPerSecond rate) const {
        if (members.size() < 2) return;
        if (cluster_.scale_up.kind == ScaleUpKind::torus) {
            auto const neighbours = lines_.neighbours(members);
            for (std::size_t i = 0; i < members.size(); ++i) {
                double links = 0;
                for (auto const& to : neighbours[i])
                    links += to.links;
                for (auto const& to : neighbours[i])
                    add(flows, members[i], to.member, to.links / links * rate);
            }
            return;
        }
        if (cluster_.scale_up.kind == ScaleUpKind::mesh) {
            for (auto const from : members)
                for (auto const to : members)
                    add(flows, from, to, rate / static_cast<double>(members.size() - 1));
            return;
        }
        for (std::size_t i = 0; i < members.size(); ++i)
            add(flows, members[i], members[(i + 1) % members.size()], rate);
    }

    ClusterSpec const& cluster_;
    Topology const& topology_;
    TaskGraph const& graph_;
    TorusLines lines_;
};

}  // namespace

bool on_whole_axes(ClusterSpec const& cluster, TaskGraph const& graph) {
    if (cluster.scale_up.kind != ScaleUpKind::torus) return true;
    TorusLines const lines(cluster, accelerators_of(graph));
    return std::all_of(graph.demands.begin(), graph.demands.end(), [&](NetworkDemand const& demand) {
        if (demand.kind == CollectiveKind::send_receive) return true;
        std::map<std::int64_t, Members> slices;
        for (auto const member : demand.members) {
            std::int64_t const chip = graph.ranks[static_cast<std::size_t>(member)].rank;
            slices[chip / cluster.domain_size].push_back(chip);
        }
        return std::all_of(slices.begin(), slices.end(),
                           [&](auto const& slice) { return lines.are_whole(slice.second); });
    });
}

FlowPattern unfolded_flows(ClusterSpec const& cluster, TaskGraph const& graph) {
    Topology const topology(cluster, accelerators_of(graph));
    FlowPattern pattern{.links = {topology.links().begin(), topology.links().end()}, .flows = {}};
    FlowBuilder const builder(cluster, topology, graph);
    RateLimit limit(pattern.links);
    for (NetworkDemand const& demand : graph.demands)
        limit.apply(pattern.flows.emplace_back(builder.flows_of(demand)));
    return pattern;
}

}  // namespace sextant

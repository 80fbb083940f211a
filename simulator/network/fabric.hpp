#pragma once

#include "core/spec/cluster_spec.hpp"
#include "simulator/network/link.hpp"
#include "simulator/task_graph.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// One transfer of a communication: over `links`, at no more than `rate`.
struct Flow {
    std::vector<std::int32_t> links;
    BytesPerSecond rate;  ///< that it has alone; bytes = rate x (duration - latency)
};

/// A link, or several by a pattern, that carry only a part of what they should.
struct DegradedLink {
    std::string pattern;  ///< as in `Fabric::degrade`
    double factor = 1;
};

/// The links that the simulated ranks of a task graph use, and which of them each demand goes over.
///
/// Folded (every rank stands for others), or of a torus not on whole axes: each simulated rank has its own links and
/// its static share of what is shared above. Unfolded (every rank stands for itself alone): the cluster's own links,
/// also of a graph of send/receive demands between any two ranks: this is how rounds of a collective algorithm get
/// their links. Alone, the flows of one demand reach their rates: no link on their way has less than the sum over it.
class Fabric {
public:
    Fabric(ClusterSpec const& cluster, TaskGraph const& graph);
    /// Any links, with the flows of each demand over them.
    Fabric(std::vector<FabricLink> links, std::vector<std::vector<Flow>> flows);
    [[nodiscard]] std::span<FabricLink const> links() const { return links_; }
    /// None when the demand has no share of any network.
    [[nodiscard]] std::span<Flow const> flows_of(std::size_t demand) const { return flows_[demand]; }

    /// Multiplies the bandwidth of every link whose name matches (`*` stands for any text).
    /// @throws InputError "<where>: ..." with the nearest name when none does, or the factor is not in (0, 1].
    void degrade(std::string_view pattern, double factor, std::string_view where);

private:
    std::vector<FabricLink> links_;
    std::vector<std::vector<Flow>> flows_;
};

/// Whether ranks of the graph stand for others; if not, `Fabric` has the cluster's own links.
bool is_folded(TaskGraph const& graph);

}  // namespace sextant

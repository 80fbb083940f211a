#include "simulator/collectives/shape.hpp"

#include "core/error.hpp"
#include "core/spec/torus_slice.hpp"

#include <algorithm>
#include <cstdlib>

namespace sextant {

std::int64_t CollectiveShape::size_of_domain(std::int64_t domain) const {
    return std::min(ranks_per_domain, ranks - domain * ranks_per_domain);
}

std::int64_t CollectiveShape::distance(std::int64_t a, std::int64_t b) const {
    if (torus.empty()) return 1;
    std::int64_t links = 0;
    for (std::size_t axis = 0; axis < torus.size(); ++axis) {
        std::int64_t const length = torus[axis];
        std::int64_t const straight = std::abs(a % length - b % length);
        bool const wraps = axis < torus_wraps.size() && torus_wraps[axis];
        links += wraps ? std::min(straight, length - straight) : straight;
        a /= length;
        b /= length;
    }
    return links;
}

CollectiveShape collective_shape(ClusterSpec const& cluster, CollectiveKind kind, std::int64_t ranks,
                                 std::string_view where, std::int64_t stride) {
    if (ranks < 1) throw InputError("{}: {} (at least 1)", where, ranks);
    if (stride < 1) throw InputError("--stride: {} (at least 1)", stride);
    std::int64_t const domain = cluster.domain_size;
    if (domain % stride != 0 && stride % domain != 0)
        throw InputError("--stride: {} (a domain of {} is expected to hold a whole number of them, or they of it)",
                         stride, domain);
    std::int64_t const accelerators = ranks * stride;
    if (cluster.max_accelerators > 0 && accelerators > cluster.max_accelerators)
        throw InputError("{}: {} accelerators, but {} has {}", where, accelerators, cluster.name,
                         cluster.max_accelerators);
    if (!cluster.scale_out && accelerators > domain)
        throw InputError("{}: {} accelerators do not fit into one domain of {} (the cluster has no scale-out network)",
                         where, accelerators, domain);
    CollectiveShape shape{.kind = kind,
                          .ranks = ranks,
                          .ranks_per_domain = std::clamp<std::int64_t>(domain / stride, 1, ranks),
                          .torus = {},
                          .torus_wraps = {},
                          .scale_up = cluster.scale_up.kind,
                          .stride = stride};
    if (cluster.scale_up.kind != ScaleUpKind::torus || shape.domains() > 1 || stride > 1) return shape;
    std::int64_t left = ranks;
    for (SliceAxis const& axis : slice_axes(cluster, ranks)) {
        std::int64_t const taken = std::min(left, axis.length);
        shape.torus.push_back(taken);
        shape.torus_wraps.push_back(axis.closes && taken == axis.length);
        if (left % taken != 0) break;
        left /= taken;
    }
    std::int64_t product = 1;
    for (std::int64_t const length : shape.torus)
        product *= length;
    if (product != ranks) shape.torus.clear();
    return shape;
}

std::optional<std::string> why_no_flows(CollectiveShape const& shape) {
    if (shape.stride == 1 || shape.ranks_per_domain == 1) return std::nullopt;
    if (shape.scale_up == ScaleUpKind::pcie)
        return "groups across one another share what joins the halves of a PCIe node, which is no link of the "
               "simulated "
               "network";
    if (shape.scale_up == ScaleUpKind::torus)
        return "algorithms on a torus are of chips that are numbered one after the other";
    return std::nullopt;
}

}  // namespace sextant

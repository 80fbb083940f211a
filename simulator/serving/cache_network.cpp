#include "simulator/serving/cache_network.hpp"

#include <algorithm>
#include <map>

namespace sextant {
namespace {

CollectiveCurve send(ClusterSpec const& cluster, std::int64_t stride) {
    return collective_curve(cluster, CollectiveKind::send_receive, place_group(2, stride, cluster.domain_size));
}

}  // namespace

CacheNetwork::CacheNetwork(ClusterSpec const& cluster, std::int64_t accelerators_per_replica, std::int64_t replicas)
    : ranks_(accelerators_per_replica),
      topology_(cluster, accelerators_per_replica * replicas),
      inside_(send(cluster, 1)),
      outside_(cluster.scale_out ? send(cluster, cluster.domain_size) : inside_) {}

CacheTransfer CacheNetwork::transfer(std::int64_t from, std::int64_t to, Bytes bytes) const {
    CacheTransfer out;
    bool inside = true;
    std::map<std::int32_t, int> uses;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        std::int64_t const source = from * ranks_ + rank;
        std::int64_t const destination = to * ranks_ + rank;
        inside = inside && topology_.domain_of(source) == topology_.domain_of(destination);
        for (std::int32_t const link : topology_.route(source, destination)) {
            out.links.push_back(link);
            ++uses[link];
        }
    }
    CollectiveCurve const& curve = inside ? inside_ : outside_;
    out.bytes = bytes;
    out.latency = curve.latency(bytes);
    out.rate = bytes / (curve.time(bytes) - out.latency);
    for (auto const& [link, ranks] : uses)
        out.rate = std::min(out.rate, topology_.links()[static_cast<std::size_t>(link)].bandwidth / ranks);
    return out;
}

}  // namespace sextant

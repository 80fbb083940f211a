#include "simulator/serving/cache_network.hpp"

#include <algorithm>
#include <map>

namespace sextant {
namespace {

CollectiveCurve send(ClusterSpec const& cluster, std::int64_t stride) {
    return collective_curve(cluster, CollectiveKind::send_receive, place_group(2, stride, cluster.domain_size));
}

}  // namespace

std::vector<std::vector<std::int32_t>> CacheTransfer::disjoint_flows() const {
    std::vector<std::vector<std::int32_t>> flows;
    std::vector<std::int32_t> const whole{static_cast<std::int32_t>(links.size())};
    auto begin = links.begin();
    for (std::int32_t const end_at : ends.empty() ? whole : ends) {
        auto const end = links.begin() + end_at;
        auto const takes = [&](std::vector<std::int32_t> const& flow) {
            return std::none_of(
                begin, end, [&](std::int32_t link) { return std::find(flow.begin(), flow.end(), link) != flow.end(); });
        };
        auto flow = std::find_if(flows.begin(), flows.end(), takes);
        if (flow == flows.end()) flow = flows.emplace(flows.end());
        flow->insert(flow->end(), begin, end);
        begin = end;
    }
    return flows;
}

CacheNetwork::CacheNetwork(ClusterSpec const& cluster, ReplicaRanks ranks, std::int64_t replicas)
    : ranks_(ranks),
      topology_(cluster, ranks.count() * replicas),
      inside_(send(cluster, 1)),
      outside_(cluster.scale_out ? send(cluster, cluster.domain_size) : inside_) {}

std::int64_t CacheNetwork::rank_of(CachePlace place, std::int64_t k) const {
    std::int64_t const stage = k / ranks_.tp;
    return place.replica * ranks_.count() + (stage * ranks_.groups + place.group) * ranks_.tp + k % ranks_.tp;
}

CacheTransfer CacheNetwork::transfer(CachePlace from, CachePlace to, Bytes bytes) const {
    CacheTransfer out;
    bool inside = true;
    std::map<std::int32_t, int> uses;
    for (std::int64_t k = 0; k < ranks_.tp * ranks_.stages; ++k) {
        std::int64_t const source = rank_of(from, k);
        std::int64_t const destination = rank_of(to, k);
        inside = inside && topology_.domain_of(source) == topology_.domain_of(destination);
        for (std::int32_t const link : topology_.route(source, destination)) {
            out.links.push_back(link);
            ++uses[link];
        }
        out.ends.push_back(static_cast<std::int32_t>(out.links.size()));
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

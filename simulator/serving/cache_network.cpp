#include "simulator/serving/cache_network.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sextant {
namespace {

/// How the cache of a sequence lies on the ranks of a group.
struct CacheCut {
    CacheCut(ReplicaRanks const& ranks, std::int64_t most_parts)
        : stages(ranks.stages), parts(std::min(ranks.tp, most_parts)), copies(ranks.tp / parts) {}
    /// Along tp: ranks that keep the same part lie beside each other. Source: vLLM, `num_kv_head_replicas` of
    /// QKVParallelLinear.
    [[nodiscard]] std::int64_t rank(std::int64_t part, std::int64_t copy) const { return part * copies + copy; }
    std::int64_t stages, parts, copies;
};

CollectiveCurve send(ClusterSpec const& cluster, std::int64_t stride) {
    return collective_curve(cluster, CollectiveKind::send_receive, place_group(2, stride, cluster.domain_size));
}

std::int64_t first_decode_rank(ClusterSpec const& cluster, CacheSide const& prompts, CacheSide const& decodes) {
    std::int64_t const end = prompts.ranks.count() * prompts.replicas;
    if (prompts.ranks.count() == decodes.ranks.count()) return end;
    std::int64_t const unit = std::min(decodes.ranks.count(), cluster.domain_size);
    return (end + unit - 1) / unit * unit;
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
    : CacheNetwork(cluster, {.ranks = ranks, .replicas = replicas}, {.ranks = ranks}, ranks.tp) {}

CacheNetwork::CacheNetwork(ClusterSpec const& cluster, CacheSide prompts, CacheSide decodes, std::int64_t parts)
    : prompts_(prompts),
      decodes_(decodes),
      parts_(parts),
      decodes_begin_(first_decode_rank(cluster, prompts, decodes)),
      topology_(cluster, decodes_begin_ + decodes.ranks.count() * decodes.replicas),
      inside_(send(cluster, 1)),
      outside_(cluster.scale_out ? send(cluster, cluster.domain_size) : inside_) {}

std::int64_t CacheNetwork::rank_of(CachePlace place, std::int64_t stage, std::int64_t along_tp) const {
    ReplicaRanks const& ranks = ranks_of(place);
    std::int64_t const begin = place.replica < prompts_.replicas
                                   ? place.replica * ranks.count()
                                   : decodes_begin_ + (place.replica - prompts_.replicas) * ranks.count();
    return begin + (stage * ranks.groups + place.group) * ranks.tp + along_tp;
}

CacheTransfer CacheNetwork::transfer(CachePlace from, CachePlace to, Bytes bytes) const {
    CacheTransfer out;
    bool inside = true;
    int most = 0;
    std::map<std::int32_t, int> uses;
    std::map<std::int64_t, int> sent, received;
    CacheCut const sender(ranks_of(from), parts_);
    CacheCut const receiver(ranks_of(to), parts_);
    std::int64_t const layers = std::lcm(sender.stages, receiver.stages);
    std::int64_t const heads = std::lcm(sender.parts, receiver.parts);
    for (std::int64_t layer = 0; layer < layers; ++layer)
        for (std::int64_t head = 0; head < heads; ++head)
            for (std::int64_t copy = 0; copy < receiver.copies; ++copy) {
                std::int64_t const source =
                    rank_of(from, layer * sender.stages / layers,
                            sender.rank(head * sender.parts / heads, copy * sender.copies / receiver.copies));
                std::int64_t const destination =
                    rank_of(to, layer * receiver.stages / layers, receiver.rank(head * receiver.parts / heads, copy));
                inside = inside && topology_.domain_of(source) == topology_.domain_of(destination);
                for (std::int32_t const link : topology_.route(source, destination)) {
                    out.links.push_back(link);
                    ++uses[link];
                }
                out.ends.push_back(static_cast<std::int32_t>(out.links.size()));
                most = std::max({most, ++sent[source], ++received[destination]});
            }
    CollectiveCurve const& curve = inside ? inside_ : outside_;
    auto const of_receiver = static_cast<double>(layers / receiver.stages * (heads / receiver.parts));
    Seconds const wire = curve.time(bytes) - curve.latency(bytes);
    out.bytes = bytes / of_receiver;
    out.latency = curve.latency(bytes);
    out.rate = bytes / wire / most;
    for (auto const& [link, ranks] : uses)
        out.rate = std::min(out.rate, topology_.links()[static_cast<std::size_t>(link)].bandwidth / ranks);
    return out;
}

}  // namespace sextant

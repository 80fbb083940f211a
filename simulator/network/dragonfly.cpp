#include "simulator/network/network_tier.hpp"
#include "simulator/network/topology.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

class Dragonfly final : public NetworkTier {
public:
    Dragonfly(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links)
        : nics_(cluster, accelerators, links), first_global_(static_cast<std::int32_t>(links.size())) {
        std::int64_t const domains = domains_of(cluster, accelerators);
        std::int64_t const group_domains = domains_per_pod(cluster, domains);
        group_size_ = group_domains * cluster.domain_size;
        groups_ = (domains + group_domains - 1) / group_domains;
        if (groups_ < 2) return;
        BytesPerSecond const all = static_cast<double>(group_size_) * nic_rate(cluster) / pod_oversubscription(cluster);
        for (std::int64_t from = 0; from < groups_; ++from)
            for (std::int64_t to = 0; to < groups_; ++to)
                if (to != from)
                    add_link(links, fmt::format("group{}.group{}", from, to), all / static_cast<double>(groups_ - 1));
    }
    void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const override {
        std::int64_t const from = source / group_size_;
        std::int64_t const to = destination / group_size_;
        path.push_back(nics_.out(source));
        if (from != to)
            path.push_back(first_global_ + static_cast<std::int32_t>(from * (groups_ - 1) + (to > from ? to - 1 : to)));
        path.push_back(nics_.in(destination));
    }

private:
    NicLinks nics_;
    std::int32_t first_global_;
    std::int64_t group_size_ = 1;
    std::int64_t groups_ = 1;
};

}  // namespace

std::unique_ptr<NetworkTier> make_dragonfly(ClusterSpec const& cluster, std::int64_t accelerators,
                                            std::vector<FabricLink>& links) {
    return std::make_unique<Dragonfly>(cluster, accelerators, links);
}

}  // namespace sextant

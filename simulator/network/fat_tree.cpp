#include "simulator/network/network_tier.hpp"
#include "simulator/network/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// Traffic within a pod passes its two NICs only: the leaf switches of a pod (and what joins its rails) never block.
/// Between pods it goes up from the source's rail and down into the destination's; the spine above never blocks.
class FatTree final : public NetworkTier {
public:
    FatTree(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links)
        : nics_(cluster, accelerators, links), domain_size_(cluster.domain_size) {
        std::int64_t const domains = domains_of(cluster, accelerators);
        std::int64_t const pod_domains = domains_per_pod(cluster, domains);
        pod_size_ = pod_domains * domain_size_;
        std::int64_t const pods = (domains + pod_domains - 1) / pod_domains;
        bool const per_rail = cluster.scale_out->topology == ScaleOutTopology::rail_optimised;
        rails_ = per_rail ? domain_size_ : 1;
        first_uplink_ = static_cast<std::int32_t>(links.size());
        if (pods < 2) return;
        auto const ports = static_cast<double>(pod_domains * (per_rail ? 1 : domain_size_));
        BytesPerSecond const uplink = ports * nic_rate(cluster) / pod_oversubscription(cluster);
        for (std::int64_t pod = 0; pod < pods; ++pod)
            for (std::int64_t rail = 0; rail < rails_; ++rail)
                for (auto const* direction : {"up", "down"})
                    add_link(links,
                             per_rail ? fmt::format("pod{}.rail{}.{}", pod, rail, direction)
                                      : fmt::format("pod{}.{}", pod, direction),
                             uplink);
    }
    void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const override {
        path.push_back(nics_.out(source));
        if (source / pod_size_ != destination / pod_size_) {
            path.push_back(uplink(source));
            path.push_back(uplink(destination) + 1);
        }
        path.push_back(nics_.in(destination));
    }

private:
    [[nodiscard]] std::int32_t uplink(std::int64_t accelerator) const {
        std::int64_t const rail = accelerator % domain_size_ % rails_;
        return first_uplink_ + static_cast<std::int32_t>(2 * (accelerator / pod_size_ * rails_ + rail));
    }

    NicLinks nics_;
    std::int64_t domain_size_;
    std::int64_t pod_size_ = 1;
    std::int64_t rails_ = 1;
    std::int32_t first_uplink_ = 0;
};

}  // namespace

std::unique_ptr<NetworkTier> make_fat_tree(ClusterSpec const& cluster, std::int64_t accelerators,
                                           std::vector<FabricLink>& links) {
    return std::make_unique<FatTree>(cluster, accelerators, links);
}

}  // namespace sextant

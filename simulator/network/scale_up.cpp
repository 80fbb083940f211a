#include "cost_models/collective_time.hpp"
#include "simulator/network/network_tier.hpp"
#include "simulator/network/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// Links out and in of every accelerator.
class SwitchedDomains final : public NetworkTier {
public:
    SwitchedDomains(ClusterSpec const& cluster, std::int64_t accelerators, std::string_view word, BytesPerSecond rate,
                    std::vector<FabricLink>& links)
        : first_(static_cast<std::int32_t>(links.size())) {
        for (std::int64_t a = 0; a < accelerators; ++a)
            for (auto const* direction : {"out", "in"})
                add_link(links, fmt::format("{}.{}.{}", accelerator_name(cluster, a), word, direction), rate);
    }
    void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const override {
        path.push_back(first_ + static_cast<std::int32_t>(2 * source));
        path.push_back(first_ + static_cast<std::int32_t>(2 * destination + 1));
    }

private:
    std::int32_t first_;
};

class MeshDomains final : public NetworkTier {
public:
    MeshDomains(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links)
        : domain_size_(cluster.domain_size) {
        std::int64_t const peers = std::max<std::int64_t>(1, domain_size_ - 1);
        BytesPerSecond const share = scale_up_rate(cluster) / static_cast<double>(peers);
        BytesPerSecond const neighbours = cluster.scale_up.pair_bandwidth ? pair_rate(cluster) : share;
        for (std::int64_t domain = 0; domain < domains_of(cluster, accelerators); ++domain) {
            std::int64_t const begin = domain * domain_size_;
            std::int64_t const size = std::min(domain_size_, accelerators - begin);
            first_.push_back(static_cast<std::int32_t>(links.size()));
            sizes_.push_back(size);
            for (std::int64_t from = 0; from < size; ++from)
                for (std::int64_t to = 0; to < size; ++to)
                    if (to != from)
                        add_link(links, fmt::format("{}.gpu{}", accelerator_name(cluster, begin + from), to),
                                 are_neighbours(domain_size_, from, to, 2) ? neighbours : share);
        }
    }
    void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const override {
        auto const domain = static_cast<std::size_t>(source / domain_size_);
        std::int64_t const from = source % domain_size_;
        std::int64_t const to = destination % domain_size_;
        std::int64_t const row = from * (sizes_[domain] - 1);
        path.push_back(first_[domain] + static_cast<std::int32_t>(row + (to > from ? to - 1 : to)));
    }

private:
    std::int64_t domain_size_;
    std::vector<std::int32_t> first_;  ///< of each domain
    std::vector<std::int64_t> sizes_;
};

class PcieDomains final : public NetworkTier {
public:
    PcieDomains(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links)
        : domain_size_(cluster.domain_size) {
        BytesPerSecond const whole = scale_up_rate(cluster);
        double const pair = pcie_gain(cluster, 0, 1);
        double const quad = pcie_gain(cluster, 0, 2);
        auto const tier = [&](std::int64_t reach, char const* word, double gain) {
            tiers_.push_back(
                {reach, std::make_unique<SwitchedDomains>(cluster, accelerators, word, whole * gain, links)});
        };
        tier(1, "pcie", pair);
        if (quad < pair) tier(2, "switch", quad);
        if (1 < quad) tier(4, "socket", 1);
        first_bridge_ = static_cast<std::int32_t>(links.size());
        for (std::int64_t domain = 0; domain < domains_of(cluster, accelerators); ++domain)
            for (auto const* direction : {"in", "out"})
                add_link(links, fmt::format("{}{}.bridge.{}", domain_word(cluster), domain, direction),
                         whole * (pair * static_cast<double>(domain_size_)));
        if (!cluster.scale_up.pair_bandwidth) return;
        for (std::int64_t a = 0; a < accelerators; ++a) {
            std::int64_t const partner = (a % domain_size_) ^ 1;
            pairs_.push_back(static_cast<std::int32_t>(links.size()));
            add_link(links, fmt::format("{}.gpu{}", accelerator_name(cluster, a), partner), pair_rate(cluster));
        }
    }
    void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const override {
        if (!pairs_.empty() && are_neighbours(domain_size_, source, destination, 2)) {
            path.push_back(pairs_[static_cast<std::size_t>(source)]);
            return;
        }
        auto const first = static_cast<std::ptrdiff_t>(path.size());
        auto const bridge = first_bridge_ + static_cast<std::int32_t>(2 * (source / domain_size_));
        path.insert(path.end(), {bridge, bridge + 1});
        // From the bridge outwards: what accelerators further apart than a tier's reach pass besides.
        for (auto tier = tiers_.rbegin(); tier != tiers_.rend(); ++tier) {
            if (are_neighbours(domain_size_, source, destination, tier->reach)) continue;
            std::vector<std::int32_t> ends;
            tier->links->route(source, destination, ends);
            path.insert(path.begin() + first, ends.front());
            path.push_back(ends.back());
        }
    }

private:
    struct Tier {
        std::int64_t reach;  ///< accelerators of one such group do not pass it
        std::unique_ptr<SwitchedDomains> links;
    };
    std::vector<Tier> tiers_;
    std::vector<std::int32_t> pairs_;  ///< of each accelerator to its partner, where pairs have links of their own
    std::int64_t domain_size_;
    std::int32_t first_bridge_ = 0;
};

}  // namespace

std::unique_ptr<NetworkTier> make_switched_domains(ClusterSpec const& cluster, std::int64_t accelerators,
                                                   std::vector<FabricLink>& links) {
    return std::make_unique<SwitchedDomains>(cluster, accelerators, scale_up_word(cluster), scale_up_rate(cluster),
                                             links);
}
std::unique_ptr<NetworkTier> make_mesh_domains(ClusterSpec const& cluster, std::int64_t accelerators,
                                               std::vector<FabricLink>& links) {
    return std::make_unique<MeshDomains>(cluster, accelerators, links);
}
std::unique_ptr<NetworkTier> make_pcie_domains(ClusterSpec const& cluster, std::int64_t accelerators,
                                               std::vector<FabricLink>& links) {
    return std::make_unique<PcieDomains>(cluster, accelerators, links);
}

}  // namespace sextant

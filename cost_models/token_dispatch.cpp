#include "cost_models/token_dispatch.hpp"

#include "core/error.hpp"
#include "cost_models/nccl_curve.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double nic_share = 0.9;                 // 45 of 50 GB/s
constexpr double link_share = 0.71;               // 640 of 900 GB/s
constexpr Seconds notification = 50 * units::us;  // assumed: two small kernels and a word that the host polls

/// Of k copies that go to any of n places with equal chance, the share that is left of one per place.
double distinct_share(double n, double k) { return n * (1 - std::pow(1 - 1 / n, k)) / k; }

bool starts_on_devices(ScaleOutNetwork const& network) { return network.kind != "efa"; }

}  // namespace

CollectiveCurve token_dispatch_curve(ClusterSpec const& cluster, GroupPlacement const& group) {
    bool const crosses = group.domains > 1;
    if (crosses && !cluster.scale_out)
        throw InputError(
            "{}: experts on {} ranks do not fit into one domain of {} accelerators (the cluster has no "
            "scale-out network)",
            cluster.name, group.size, cluster.domain_size);
    if (crosses && !starts_on_devices(*cluster.scale_out)) {
        GroupPlacement every_copy = group;
        every_copy.copies = 1;
        return collective_curve(cluster, CollectiveKind::all_to_all, every_copy);
    }
    auto const n = static_cast<double>(group.size);
    auto const domains = static_cast<double>(group.domains);
    auto const k = static_cast<double>(group.copies);
    double const elsewhere = 1 - 1 / static_cast<double>(group.ranks_per_domain);
    SecondsPerByte slope = elsewhere * distinct_share(n, k) / (cluster.scale_up.bandwidth.value * link_share);
    if (crosses) {
        ScaleOutNetwork const& far = *cluster.scale_out;
        double const beyond_pod = share_beyond_pod(nccl_machine(cluster), CollectiveKind::all_to_all, group);
        double const share = nic_share / pod_slowdown(far.oversubscription.value, beyond_pod);
        slope = std::max(slope, (1 - 1 / domains) * distinct_share(domains, k) / (far.bandwidth.value * share));
    }
    CollectiveCurve curve;
    curve.add(notification, slope);
    return curve;
}

}  // namespace sextant

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

/// C(n, k), as a real number.
double choices(std::int64_t n, std::int64_t k) {
    double product = 1;
    for (std::int64_t i = 0; i < k; ++i)
        product *= static_cast<double>(n - i) / static_cast<double>(i + 1);
    return product;
}

}  // namespace

double distinct_share(GroupPlacement const& group, std::int64_t places) {
    auto const n = static_cast<double>(places);
    auto const k = static_cast<double>(group.copies);
    std::int64_t const groups = group.expert_groups, chosen = group.chosen_groups;
    bool const fits = groups % places == 0 || places % groups == 0;
    if (groups == chosen || !fits) return n * (1 - std::pow(1 - 1 / n, k)) / k;
    // A place has `whole` groups, of which a token may use any number, or a part of one.
    std::int64_t const whole = std::max<std::int64_t>(1, groups / places);
    auto const places_of_group = static_cast<double>(std::max<std::int64_t>(1, places / groups));
    double hit = 0;
    for (std::int64_t here = 1; here <= std::min(whole, chosen); ++here) {
        if (chosen - here > groups - whole) continue;
        double const chance = choices(whole, here) * choices(groups - whole, chosen - here) / choices(groups, chosen);
        double const share = static_cast<double>(here) / (static_cast<double>(chosen) * places_of_group);
        hit += chance * (1 - std::pow(1 - share, k));
    }
    return n * hit / k;
}

bool starts_on_devices(ScaleOutNetwork const& network) {
    return network.kind == "infiniband" || network.kind == "roce";
}

bool sends_once(ClusterSpec const& cluster, GroupPlacement const& group) {
    ScaleUpKind const links = cluster.scale_up.kind;
    bool const has_links = links == ScaleUpKind::switched || links == ScaleUpKind::mesh || group.ranks_per_domain == 1;
    return has_links && (group.domains == 1 || (cluster.scale_out && starts_on_devices(*cluster.scale_out)));
}

CollectiveCurve token_dispatch_curve(ClusterSpec const& cluster, GroupPlacement const& group) {
    bool const crosses = group.domains > 1;
    if (crosses && !cluster.scale_out)
        throw InputError(
            "{}: experts on {} ranks do not fit into one domain of {} accelerators (the cluster has no "
            "scale-out network)",
            cluster.name, group.size, cluster.domain_size);
    if (!sends_once(cluster, group)) {
        GroupPlacement every_copy = group;
        every_copy.copies = 1;
        return collective_curve(cluster, CollectiveKind::all_to_all, every_copy);
    }
    auto const domains = static_cast<double>(group.domains);
    double const elsewhere = 1 - 1 / static_cast<double>(group.ranks_per_domain);
    // Of direct links those to the other ranks of the group alone.
    double const links = cluster.scale_up.kind == ScaleUpKind::mesh
                             ? reached_of_mesh(nccl_machine(cluster), CollectiveKind::all_to_all, group)
                             : 1;
    SecondsPerByte slope =
        elsewhere * distinct_share(group, group.size) / (cluster.scale_up.bandwidth.value * links * link_share);
    if (crosses) {
        ScaleOutNetwork const& far = *cluster.scale_out;
        double const beyond_pod = share_beyond_pod(nccl_machine(cluster), CollectiveKind::all_to_all, group);
        double const share = nic_share / pod_slowdown(far.oversubscription.value, beyond_pod);
        slope =
            std::max(slope, (1 - 1 / domains) * distinct_share(group, group.domains) / (far.bandwidth.value * share));
    }
    CollectiveCurve curve;
    curve.add(notification, slope);
    return curve;
}

}  // namespace sextant

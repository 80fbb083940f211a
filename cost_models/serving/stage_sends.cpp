// What a pipeline's sends cross.
#include "cost_models/serving/layer_cost.hpp"

#include <algorithm>
#include <map>

namespace sextant {

/// Sends from stage to stage, by what they cross: the border of a domain, of a pod, or neither. Inside a PCIe node two
/// under one switch have more between them than two of a socket, and these more than two of different sockets.
void LayerCosts::add_sends() {
    ClusterSpec const& cluster = what_.cluster;
    std::int64_t const stride = what_.plan.tp * what_.plan.attention_dp;
    std::int64_t const pod = cluster.scale_out ? cluster.scale_out->pod_domains * cluster.domain_size : 0;
    auto const leaves = [&](std::int64_t stage, std::int64_t size) {
        for (std::int64_t rank = stage * stride; size > 0 && rank < (stage + 1) * stride; ++rank)
            if (rank / size != (rank + stride) / size) return true;
        return false;
    };
    // A pipeline from the first place of a node on that has as little between its worst neighbours as this pair has.
    auto const inside = [&](std::int64_t stage) -> std::int64_t {
        if (cluster.scale_up.kind != ScaleUpKind::pcie) return 2;
        std::int64_t const places = leaves(stage, 4) ? 5 : leaves(stage, 2) ? 3 : 2;
        return std::max<std::int64_t>(2, (places + stride - 1) / stride);
    };
    std::map<std::pair<int, std::int64_t>, std::int64_t> alike;  // what is crossed and `GroupPlacement::pipeline`
    for (std::int64_t stage = 0; stage + 1 < what_.plan.pp; ++stage) {
        int const far = leaves(stage, pod) ? 2 : leaves(stage, cluster.domain_size) ? 1 : 0;
        ++alike[{far, far == 2 ? what_.plan.pp : far == 1 ? 2 : inside(stage)}];
    }
    for (auto const& [kind, sends] : alike) {
        auto const& [far, pipeline] = kind;
        GroupPlacement const between{.size = 2,
                                     .ranks_per_domain = far > 0 ? 1 : 2,
                                     .domains = far > 0 ? 2 : 1,
                                     .stride = stride,
                                     .pipeline = pipeline};
        sends_.emplace_back(static_cast<double>(sends),
                            collective_curve(cluster, CollectiveKind::send_receive, between));
    }
}

}  // namespace sextant

#pragma once

// Which values of a profile can be changed, under which names: each function shows all of them to a visitor, which is
// called with the names, the value and the range that it must stay in. Of profile_change.cpp alone, but for the mark of
// a value that was changed.

#include "core/spec/cluster_spec.hpp"
#include "core/spec/engine_fields.hpp"
#include "core/spec/framework_fields.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/network_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace sextant {

/// How the source of a value that was changed begins: "set to x0.5 (was ...)".
inline constexpr std::string_view changed_source = "set to ";

/// What may be called by which names. A key that stands for several values takes a factor only.
struct ChangeNames {
    std::initializer_list<std::string_view> one;
    std::string_view several{};

    [[nodiscard]] bool has(std::string_view key) const {
        return (!several.empty() && key == several) || std::find(one.begin(), one.end(), key) != one.end();
    }
};

struct ChangeRange {
    double least = std::numeric_limits<double>::min();  ///< above zero
    double most = std::numeric_limits<double>::max();
};

inline constexpr ChangeRange share_range{.most = 1};

template <class Visit>
void visit_accelerator(AcceleratorProfile& a, Visit& visit) {
    for (auto& [precision, peak] : a.peak) {
        std::string const key = fmt::format("peak.{}", name_of(precision));
        visit({{key}, "peak"}, peak);
    }
    if (a.int8_peak) visit({{"int8_peak"}, "peak"}, *a.int8_peak);
    visit({{"vector_peak"}}, a.vector_peak);
    visit({{"memory_capacity", "hbm_capacity"}}, a.memory_capacity);
    visit({{"memory_bandwidth", "hbm_bandwidth"}}, a.memory_bandwidth);
    visit({{"l2"}}, a.l2);
    visit({{"multiprocessors"}}, a.multiprocessors, {.least = 1, .most = 1e6});
    visit({{"host_bandwidth"}}, a.host_bandwidth);
    Sourced<BytesPerSecond> update = a.host_update();
    visit({{"host_update_bandwidth"}}, update);
    if (update.value != a.host_update().value) a.host_update_bandwidth = update;
    visit({{"power_watts"}}, a.power_watts, {.least = 1, .most = 1e5});
    bool const measured = a.kernels && a.kernels->name == a.name;
    for (auto& [precision, efficiency] : a.gemm_efficiency) {
        std::string const key = fmt::format("gemm_efficiency.{}", name_of(precision));
        if (measured)
            visit.unused({{key}, "gemm_efficiency"}, "the device's matrix products are calibrated (peak=x0.9 fits)");
        else
            visit({{key}, "gemm_efficiency"}, efficiency, share_range);
    }
    visit({{"attention_forward_efficiency"}}, a.attention_forward_efficiency, share_range);
    visit({{"attention_backward_efficiency"}}, a.attention_backward_efficiency, share_range);
    visit({{"memory_efficiency"}}, a.memory_efficiency, share_range);
    visit({{"launch_latency"}}, a.launch_latency, {.least = 0, .most = 1});
}

template <class Constants, class Fields>
void scale_times(Constants& constants, Fields const& fields, double factor) {
    for (auto const& field : fields)
        constants.*field.member *= factor;
}

/// The latencies of one network: those of the cluster file, and, where it is calibrated, the fitted ones.
template <class Network, class Scale>
auto scale_latencies(ClusterSpec& cluster, Network& network, Scale scale) {
    return [&cluster, &network, scale](double factor) {
        network.base_latency.value *= factor;
        network.hop_latency.value *= factor;
        network.base_latency.basis = network.hop_latency.basis = Basis::assumed;
        if (!cluster.network_model) return;
        auto model = std::make_shared<NetworkModel>(*cluster.network_model);
        scale(*model, factor);
        cluster.network_model = std::move(model);
    };
}

template <class Visit>
void visit_latencies(ClusterSpec& cluster, Visit& visit) {
    visit.latencies("intra_node_latency", scale_latencies(cluster, cluster.scale_up, [](NetworkModel& m, double f) {
                        scale_times(m.up, scale_up_times, f);
                    }));
    if (cluster.scale_out)
        visit.latencies("inter_node_latency",
                        scale_latencies(cluster, *cluster.scale_out, [](NetworkModel& m, double f) {
                            if (m.out) scale_times(*m.out, scale_out_times, f);
                        }));
}

template <class Visit>
void visit_pods(ScaleOutNetwork& out, Visit& visit) {
    Sourced<std::int64_t> pod{out.pod_domains, Basis::datasheet, "pod_domains"};
    visit({{"scale_out.pod_domains", "pod_domains"}}, pod, {.least = 0, .most = 1e6});
    out.pod_domains = pod.value;
    if (out.pod_domains > 0)
        visit({{"scale_out.oversubscription", "oversubscription"}}, out.oversubscription, {.least = 1, .most = 1000});
    else
        visit.needs({{"scale_out.oversubscription", "oversubscription"}},
                    "this cluster has no pods that uplinks would join (pod_domains=8 gives it pods of 8 nodes)");
}

template <class Visit>
void visit_network(ClusterSpec& cluster, Visit& visit) {
    ScaleUpNetwork& up = cluster.scale_up;
    visit({{"scale_up.bandwidth", "intra_node_bandwidth"}}, up.bandwidth);
    visit({{"scale_up.ring_efficiency"}}, up.ring_efficiency, share_range);
    visit({{"scale_up.all_to_all_efficiency"}}, up.all_to_all_efficiency, share_range);
    if (up.pair_bandwidth) {
        visit({{"scale_up.pair_bandwidth"}}, *up.pair_bandwidth);
        visit({{"scale_up.pair_efficiency"}}, up.pair_efficiency, share_range);
    }
    if (up.quad_bandwidth) visit({{"scale_up.quad_bandwidth"}}, *up.quad_bandwidth);
    if (cluster.scale_out) {
        ScaleOutNetwork& out = *cluster.scale_out;
        visit({{"scale_out.bandwidth", "inter_node_bandwidth"}}, out.bandwidth);
        visit({{"scale_out.ring_efficiency"}}, out.ring_efficiency, share_range);
        visit({{"scale_out.all_to_all_efficiency"}}, out.all_to_all_efficiency, share_range);
        visit_pods(out, visit);
    }
    constexpr ChangeRange latency{.least = 0, .most = 1};
    if (cluster.network_model) {
        visit.unused({{"scale_up.base_latency", "scale_up.hop_latency"}},
                     "its collectives are calibrated (intra_node_latency=x2 fits)");
        visit.unused({{"scale_out.base_latency", "scale_out.hop_latency"}},
                     "its collectives are calibrated (inter_node_latency=x2 fits)");
    } else {
        visit({{"scale_up.base_latency"}}, up.base_latency, latency);
        visit({{"scale_up.hop_latency"}}, up.hop_latency, latency);
        if (cluster.scale_out) {
            visit({{"scale_out.base_latency"}}, cluster.scale_out->base_latency, latency);
            visit({{"scale_out.hop_latency"}}, cluster.scale_out->hop_latency, latency);
        }
    }
    visit_latencies(cluster, visit);
}

template <class Visit>
void visit_cluster(ClusterSpec& cluster, Visit& visit) {
    visit_network(cluster, visit);
    if (cluster.scale_up.kind != ScaleUpKind::torus) {
        Sourced<std::int64_t> size{cluster.domain_size, Basis::datasheet, "domain_size"};
        visit({{"domain_size", "gpus_per_node"}}, size, {.least = 1, .most = 1e6});
        cluster.domain_size = size.value;
    }
    visit({{"host_memory"}}, cluster.host_memory);
    auto& price =
        cluster.usd_per_accelerator_hour ? cluster.usd_per_accelerator_hour : cluster.accelerator.price_usd_per_hour;
    if (price) visit({{"usd_per_accelerator_hour", "price_usd_per_hour", "price"}}, *price, {.least = 0, .most = 1e6});
    visit_accelerator(cluster.accelerator, visit);
}

template <class Owner, class Fields, class Visit>
void visit_fields(Owner& owner, Fields const& fields, Visit& visit) {
    for (auto const& field : fields) {
        if constexpr (requires { field.unused; })
            if (!field.unused.empty()) {
                visit.unused({{field.key}}, field.unused);
                continue;
            }
        ChangeRange range{.least = 0, .most = field.most};
        if constexpr (requires { field.least; }) range.least = field.least;
        visit({{field.key}}, owner.*field.member, range);
    }
}

template <class Visit>
void visit_framework(FrameworkProfile& framework, Visit& visit) {
    visit.release(framework);
    for (FrameworkTiming& timing : framework.timing) {
        visit_fields(timing, timing_numbers, visit);
        visit_fields(timing, timing_times, visit);
    }
    auto const of_memory = [&](FrameworkMemory& memory) {
        visit_fields(memory, memory_numbers, visit);
        visit_fields(memory, memory_sizes, visit);
    };
    of_memory(framework.memory);
    for (GenerationMemory& own : framework.memory_on)
        of_memory(own.memory);
}

template <class Visit>
void visit_engine(EngineProfile& engine, Visit& visit) {
    visit_fields(engine, engine_numbers, visit);
    visit_fields(engine, engine_times, visit);
    visit_fields(engine, engine_sizes, visit);
}

}  // namespace sextant

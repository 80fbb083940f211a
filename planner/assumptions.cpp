#include "planner/report.hpp"

#include "core/quantity_text.hpp"
#include "core/spec/framework_fields.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

class Assumptions {
public:
    template <class T>
    void add(std::string_view owner, std::string_view key, Sourced<T> const& value) {
        if (value.basis != Basis::assumed) return;
        lines_.push_back(fmt::format("{} {} = {}: {}", owner, key, text(value.value), value.source.empty() ? "no source" : value.source));
    }
    std::vector<std::string> take() { return std::move(lines_); }

private:
    static std::string text(double value) { return fmt::format("{:g}", value); }
    static std::string text(std::int64_t value) { return fmt::format("{}", value); }
    template <int T, int B, int F, int M>
    static std::string text(Quantity<T, B, F, M> value) {
        return human(value);
    }
    std::vector<std::string> lines_;
};

void add_scale_out(Assumptions& list, ClusterSpec const& cluster) {
    ScaleOutNetwork const& out = *cluster.scale_out;
    std::string const owner = "scale-out " + cluster.name;
    list.add(owner, "bandwidth", out.bandwidth);
    list.add(owner, "ring_efficiency", out.ring_efficiency);
    list.add(owner, "all_to_all_efficiency", out.all_to_all_efficiency);
    list.add(owner, "base_latency", out.base_latency);
    list.add(owner, "hop_latency", out.hop_latency);
}

}  // namespace

std::vector<std::string> collect_assumptions(ClusterSpec const& cluster, FrameworkProfile const& framework,
                                             FrameworkTiming const& timing, ParallelPlan const& plan) {
    Assumptions list;
    AcceleratorProfile const& a = cluster.accelerator;
    if (auto const found = a.gemm_efficiency.find(plan.precision); found != a.gemm_efficiency.end())
        list.add(a.name, "gemm_efficiency", found->second);
    list.add(a.name, "attention_forward_efficiency", a.attention_forward_efficiency);
    list.add(a.name, "attention_backward_efficiency", a.attention_backward_efficiency);
    list.add(a.name, "memory_efficiency", a.memory_efficiency);
    list.add(a.name, "launch_latency", a.launch_latency);
    if (plan.offload != Offload::none) list.add(a.name, "host_bandwidth", a.host_bandwidth);
    if (plan.world_size() > 1) {
        ScaleUpNetwork const& up = cluster.scale_up;
        std::string const owner = "scale-up " + cluster.name;
        list.add(owner, "ring_efficiency", up.ring_efficiency);
        list.add(owner, "all_to_all_efficiency", up.all_to_all_efficiency);
        if (up.in_network_reduction_efficiency) list.add(owner, "in_network_reduction_efficiency", *up.in_network_reduction_efficiency);
        list.add(owner, "base_latency", up.base_latency);
        list.add(owner, "hop_latency", up.hop_latency);
    }
    if (plan.world_size() > cluster.domain_size && cluster.scale_out) add_scale_out(list, cluster);
    std::string const owner = fmt::format("framework {} ({}, {})", framework.name, timing.generation, timing.precision);
    for (auto const& field : timing_numbers) {
        bool const unused = (field.key.starts_with("tp_") && plan.tp == 1) || (field.key.starts_with("pp_") && plan.pp == 1) ||
                            (field.key.starts_with("ep_") && plan.ep == 1) || (field.key.starts_with("cp_") && plan.cp == 1) ||
                            (field.key.starts_with("fsdp_") && plan.zero < 3) ||
                            ((field.key.starts_with("dp_") || field.key.ends_with("_sent")) && plan.dp * plan.cp == 1);
        if (!unused) list.add(owner, field.key, timing.*field.member);
    }
    for (auto const& field : timing_times) list.add(owner, field.key, timing.*field.member);
    std::string const memory = "memory of " + framework.name;
    for (auto const& field : memory_numbers)
        if (!field.key.starts_with("fp16_") || plan.precision == Precision::fp16) list.add(memory, field.key, framework.memory.*field.member);
    for (auto const& field : memory_sizes) list.add(memory, field.key, framework.memory.*field.member);
    return list.take();
}

}  // namespace sextant

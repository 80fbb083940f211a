#include "planner/report.hpp"

#include "core/graph/block.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/doubtful_values.hpp"
#include "core/spec/framework_fields.hpp"
#include "core/spec/schedule_traits.hpp"
#include "core/spec/torus_slice.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/expert_overlap.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <utility>

namespace sextant {
namespace {

class Assumptions {
public:
    template <class T>
    void add(std::string_view owner, std::string_view key, Sourced<T> const& value) {
        if (value.basis != Basis::assumed) return;
        lines_.push_back(fmt::format("{} {} = {}: {}", owner, key, text(value.value),
                                     value.source.empty() ? "no source" : value.source));
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
    if (out.in_network_reduction_efficiency)
        list.add(owner, "in_network_reduction_efficiency", *out.in_network_reduction_efficiency);
    list.add(owner, "base_latency", out.base_latency);
    list.add(owner, "hop_latency", out.hop_latency);
}

void add_accelerator(Assumptions& list, AcceleratorProfile const& a, ParallelPlan const& plan) {
    if (auto const found = a.gemm_efficiency.find(plan.precision); found != a.gemm_efficiency.end())
        list.add(a.name, "gemm_efficiency", found->second);
    list.add(a.name, "attention_forward_efficiency", a.attention_forward_efficiency);
    list.add(a.name, "attention_backward_efficiency", a.attention_backward_efficiency);
    list.add(a.name, "memory_efficiency", a.memory_efficiency);
    list.add(a.name, "launch_latency", a.launch_latency);
    if (plan.offload != Offload::none) list.add(a.name, "host_bandwidth", a.host_bandwidth);
}

void add_scale_up(Assumptions& list, ClusterSpec const& cluster) {
    ScaleUpNetwork const& up = cluster.scale_up;
    std::string const owner = "scale-up " + cluster.name;
    list.add(owner, "ring_efficiency", up.ring_efficiency);
    list.add(owner, "all_to_all_efficiency", up.all_to_all_efficiency);
    if (up.in_network_reduction_efficiency)
        list.add(owner, "in_network_reduction_efficiency", *up.in_network_reduction_efficiency);
    list.add(owner, "base_latency", up.base_latency);
    list.add(owner, "hop_latency", up.hop_latency);
    if (up.pair_bandwidth) {
        list.add(owner, "pair_bandwidth", *up.pair_bandwidth);
        list.add(owner, "pair_efficiency", up.pair_efficiency);
    }
    if (up.quad_bandwidth) list.add(owner, "quad_bandwidth", *up.quad_bandwidth);
}

/// Whether a constant of a framework plays a part in this plan.
bool is_used(std::string_view key, ParallelPlan const& plan, ModelSpec const& model) {
    if (key == release_gain_key || key == attention_gain_key) return false;  // said by the release
    bool const alone = most_copies(plan, model) == 1;
    if (key.starts_with("moe_") || key.starts_with("grouped_") || key.starts_with("routed_"))
        return model.moe.has_value();
    if (key.starts_with("tp_")) return plan.tp > 1;
    if (key.starts_with("pp_")) return plan.pp > 1;
    if (key.starts_with("ep_")) return plan.ep > 1;
    if (key.starts_with("cp_")) return plan.cp > 1;
    if (key.starts_with("fsdp_")) return plan.zero >= 3;
    if (key.starts_with("dp_") || key.ends_with("_sent")) return !alone;
    if (key.starts_with("fp16_")) return plan.precision == Precision::fp16;
    return true;
}

/// What a schedule asks of the framework and of its user.
void add_schedule(std::vector<std::string>& lines, Schedule schedule) {
    ScheduleTraits const& traits = traits_of(schedule);
    std::string const name = fmt::format("schedule {}: ", name_of(schedule));
    if (traits.split_backward == Switch::on)
        lines.push_back(name +
                        "the framework can run the weight half of a backward pass apart; activations, and the "
                        "gradients of logits, are held until then");
    if (schedule == Schedule::zb_h2)
        lines.push_back(name + "the warm-up of twice 1F1B's length holds up to 2 pp - 1 microbatches on every stage");
    if (schedule == Schedule::zb_v)
        lines.push_back(name + "the order for passes of equal length, not one searched for these lengths");
    if (traits.placement == ChunkPlacement::both_ways)
        lines.push_back(name + "every stage lies on two ranks, which add their gradients once a step");
    if (schedule == Schedule::dualpipe || schedule == Schedule::dualpipe_v || schedule == Schedule::overlapped)
        lines.push_back(name +
                        "expert and pipeline communication of a pass hides behind the compute of the pass beside it, "
                        "which it does not slow down");
}

/// Groups that the edge of a domain cuts where ranks are numbered through, unevenly: those that would fit into one, and
/// longer ones that do not fill whole domains.
void add_cut_groups(std::vector<std::string>& lines, ClusterSpec const& cluster, ParallelPlan const& plan) {
    if (plan.world_size() <= cluster.domain_size || cluster.scale_up.kind == ScaleUpKind::torus) return;
    std::vector<std::string> cut;
    for (auto const& [kind, name] : {std::pair{GroupKind::tensor, "tp"},
                                     {GroupKind::context, "cp"},
                                     {GroupKind::expert, "ep"},
                                     {GroupKind::data, "dp"}}) {
        GroupPlacement const group = place(kind, plan, cluster);
        std::int64_t const span = group.size * group.stride;
        bool const whole =
            span <= cluster.domain_size ? cluster.domain_size % span == 0 : span % cluster.domain_size == 0;
        if (group.size > 1 && group.stride < cluster.domain_size && !whole)
            cut.push_back(fmt::format("{} over {} ranks", name, group.size));
    }
    if (!cut.empty())
        lines.push_back(fmt::format(
            "{}: the edge of a domain of {} cuts some of these groups; they are priced as if each began in a domain of "
            "its own, in equal parts of those that it needs, with the accelerators left over idle and not paid",
            join(cut), cluster.domain_size));
}

}  // namespace

std::vector<std::string> collect_assumptions(ModelSpec const& model, ClusterSpec const& cluster,
                                             FrameworkProfile const& framework, FrameworkTiming const& timing,
                                             ParallelPlan const& plan) {
    Assumptions list;
    add_accelerator(list, cluster.accelerator, plan);
    if (plan.world_size() > 1) add_scale_up(list, cluster);
    if (plan.world_size() > cluster.domain_size && cluster.scale_out) add_scale_out(list, cluster);
    std::string const owner = fmt::format("framework {} ({}, {})", framework.name, timing.generation, timing.precision);
    std::string const memory = "memory of " + framework.name;
    auto const add_fields = [&](std::string const& name, auto const& fields, auto const& holder) {
        for (auto const& field : fields)
            if (is_stated(field, holder) && is_used(field.key, plan, model))
                list.add(name, field.key, holder.*field.member);
    };
    add_fields(owner, timing_numbers, timing);
    add_fields(owner, timing_times, timing);
    add_fields(memory, memory_numbers, framework.memory);
    add_fields(memory, memory_sizes, framework.memory);
    std::vector<std::string> lines = list.take();
    if (framework.releases && tells_releases_apart(timing))
        lines.push_back(fmt::format("framework {}: as of release {} ({})", framework.name,
                                    name_of(framework.releases->at), other_releases(framework)));
    std::vector<std::string> notes = notes_on_profile(cluster);
    lines.insert(lines.begin(), std::move_iterator(notes.begin()), std::move_iterator(notes.end()));
    if (std::string remark = left_out_remark(model); !remark.empty()) lines.insert(lines.begin(), std::move(remark));
    if (model.moe && plan.ep > 1)
        lines.push_back(plan.expert_imbalance > 1
                            ? fmt::format("experts: the busiest of {} ranks has {:.3g} times the mean of the tokens",
                                          plan.ep, busiest_share(*model.moe, plan))
                            : "experts get equal shares of the tokens (--expert-imbalance)");
    if (offloads_parameters(plan))
        lines.emplace_back(
            "offload: weights come up before their gathers and hide as well as these; nothing hides their gradients' "
            "way down");
    if (plan.optimizer == Optimizer::adafactor)
        lines.emplace_back(
            "adafactor: the second moment is a row and a column of each matrix, and none the first; where DeepSpeed's "
            "ZeRO flattens weights it is whole, and counted so; under FSDP 1, which flattens them too, it is whole, 4 "
            "bytes a parameter more than counted");
    if (plan.offload != Offload::none)
        lines.emplace_back(
            "offload: transfers have the host link to themselves and the host updates at 25 GB/s; of measured steps "
            "those of MaxText on TPUs alone offloaded anything, activations");
    if (cluster.scale_up.kind == ScaleUpKind::torus && plan.world_size() > 1)
        lines.push_back(fmt::format("{} of {}, the most compact for {} accelerators; others may be slower",
                                    plan.world_size() > cluster.domain_size ? "slices" : "a slice",
                                    slice_topology(cluster, plan.world_size()), plan.world_size()));
    add_cut_groups(lines, cluster, plan);
    if (plan.pp > 1) add_schedule(lines, plan.schedule);
    if (plan.schedule == Schedule::overlapped && !can_overlap_experts(plan))
        lines.push_back(fmt::format("schedule {}: Megatron-Core refuses this plan; it wants {}", name_of(plan.schedule),
                                    join(missing_for_expert_overlap(plan))));
    if (plan.adapters.on())
        lines.emplace_back(
            "adapters: each product and each sum is a kernel of its own, in 16 bit, without dropout on their inputs; "
            "the first layer's input gradient is counted like any other's");
    return lines;
}

}  // namespace sextant

#include "cost_models/block_price.hpp"

#include <algorithm>

namespace sextant {

PassTime& PassTime::operator+=(PassTime const& other) {
    gemm += other.gemm;
    attention += other.attention;
    streaming += other.streaming;
    gaps += other.gaps;
    tp += other.tp;
    cp += other.cp;
    ep += other.ep;
    return *this;
}

PassTime operator*(double factor, PassTime const& t) {
    return {.gemm = factor * t.gemm,
            .attention = factor * t.attention,
            .streaming = factor * t.streaming,
            .gaps = factor * t.gaps,
            .tp = factor * t.tp,
            .cp = factor * t.cp,
            .ep = factor * t.ep};
}

GroupPlacement place(GroupKind group, ParallelPlan const& plan, ClusterSpec const& cluster) {
    std::int64_t const domain = cluster.domain_size;
    switch (group) {
        case GroupKind::tensor: return place_group(plan.tp, 1, domain);
        case GroupKind::context: return place_group(plan.cp, plan.tp, domain);
        case GroupKind::data: return place_group(plan.dp * plan.cp, plan.tp, domain);
        case GroupKind::expert: return place_group(plan.ep, plan.expert_tp, domain);
        case GroupKind::expert_data: return place_group(plan.expert_dp(), plan.ep * plan.expert_tp, domain);
        case GroupKind::pipeline: {
            // One neighbour pair: the worst is the one that crosses a domain, if any does.
            std::int64_t const stride = plan.tp * plan.cp * plan.dp;
            bool const inside = stride * plan.pp <= domain;
            return {.size = std::min<std::int64_t>(2, plan.pp),
                    .ranks_per_domain = inside ? 2 : 1,
                    .domains = inside ? 1 : 2,
                    .stride = stride};
        }
    }
    return {};
}

/// Which ops of a block a pricing run takes: all of a pass, or the forward ops that a recompute policy runs again.
struct Pricer::Selection {
    Pass pass = Pass::forward;
    Recompute rerun = Recompute::none;  ///< none: all ops of the pass
    Seconds floor;                      ///< least time
    [[nodiscard]] bool takes(Op const& op) const {
        return op.in(pass) && (rerun == Recompute::none || runs_again(rerun, op.rerun));
    }
};

Seconds Pricer::kernel(Op const& op, Pass pass) {
    auto const* gemm = std::get_if<Gemm>(&op.what);
    auto const* grouped = std::get_if<GroupedGemm>(&op.what);
    if (gemm == nullptr && grouped == nullptr) return kernel_time(op, pass, cluster_.accelerator, framework_);
    std::array<std::int64_t, 6> const key =
        gemm != nullptr ? std::array<std::int64_t, 6>{1,
                                                      gemm->m,
                                                      gemm->n,
                                                      gemm->k,
                                                      static_cast<std::int64_t>(gemm->precision),
                                                      static_cast<std::int64_t>(pass)}
                        : std::array<std::int64_t, 6>{-grouped->groups,
                                                      grouped->m,
                                                      grouped->n,
                                                      grouped->k,
                                                      static_cast<std::int64_t>(grouped->precision),
                                                      static_cast<std::int64_t>(pass)};
    auto const [found, is_new] = products_.try_emplace(key);
    if (is_new) found->second = kernel_time(op, pass, cluster_.accelerator, framework_);
    return found->second;
}

PassTime Pricer::price_pass(Block const& block, ParallelPlan const& plan, Selection const& selection) {
    PassTime time;
    Seconds context_communication;
    for (Op const& op : block.ops) {
        if (!selection.takes(op)) continue;
        if (auto const* c = std::get_if<Collective>(&op.what)) {
            if (op.hiding == Hiding::hidden) continue;
            GroupPlacement group = place(c->group, plan, cluster_);
            group.copies = c->copies;
            Seconds const t = curve(c->kind, group).time(c->bytes);
            switch (c->group) {
                case GroupKind::tensor: time.tp += (1 - framework_.tp_overlap.value) * t; break;
                case GroupKind::expert: time.ep += (1 - framework_.ep_overlap.value) * t; break;
                case GroupKind::context:
                    // Ring steps hide under attention; gathers and head exchanges come before it.
                    (c->kind == CollectiveKind::send_receive ? context_communication : time.cp) += t;
                    break;
                default: break;
            }
            continue;
        }
        Seconds const t = kernel(op, selection.pass);
        switch (op.op_class()) {
            case OpClass::gemm: time.gemm += t; break;
            case OpClass::attention: time.attention += t; break;
            default: time.streaming += t; break;
        }
        time.gaps += static_cast<double>(kernel_count(op, selection.pass)) * framework_.kernel_gap.value;
    }
    time.cp += std::max(Seconds{}, context_communication - framework_.cp_overlap.value * time.attention);
    time.gaps += std::max(Seconds{}, selection.floor - time.total());
    return time;
}

BlockPrice Pricer::price(Block const& block, ParallelPlan const& plan, HostFloor host_floor) {
    BlockPrice price;
    price.parameters = block.parameters;
    Seconds forward_floor;
    Seconds backward_floor;
    if (host_floor != HostFloor::none) {
        // Groups that leave the domain have been seen to need a floor that grows with the domains they span.
        auto const domains = static_cast<double>(place(GroupKind::tensor, plan, cluster_).domains);
        double const growth = 1 + framework_.cross_domain_floor_growth.value * (domains - 1);
        forward_floor = growth * framework_.host_floor_forward.value;
        backward_floor = growth * framework_.host_floor_backward.value;
        if (host_floor == HostFloor::per_moe_layer) {
            forward_floor = std::max(forward_floor, framework_.moe_floor_forward.value);
            backward_floor = std::max(backward_floor, framework_.moe_floor_backward.value);
        }
    }
    price.forward = price_pass(block, plan, {.pass = Pass::forward, .floor = forward_floor});
    price.backward = price_pass(block, plan, {.pass = Pass::backward, .floor = backward_floor});
    for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full}) {
        auto const i = static_cast<std::size_t>(policy);
        price.kept[i] = block.kept(policy);
        if (policy != Recompute::none)
            price.rerun[i] = price_pass(block, plan,
                                        {.pass = Pass::forward,
                                         .rerun = policy,
                                         .floor = policy == Recompute::full ? forward_floor : Seconds{}});
    }
    return price;
}

PricedBlocks Pricer::price(BlockSet const& blocks, ParallelPlan const& plan) {
    PricedBlocks priced;
    for (std::size_t k = 0; k < blocks.layers.size(); ++k)
        priced.layers.push_back(
            price(blocks.layers[k], plan, blocks.kinds[k].moe ? HostFloor::per_moe_layer : HostFloor::per_layer));
    priced.embedding = price(blocks.embedding, plan, HostFloor::none);
    priced.head = price(blocks.head, plan, HostFloor::none);
    priced.mtp = price(blocks.mtp, plan, HostFloor::none);
    priced.tied_output_copy = blocks.tied_output_copy;
    return priced;
}

CollectiveCurve const& Pricer::curve(CollectiveKind kind, GroupPlacement const& group) {
    std::array<std::int64_t, 5> const key{static_cast<std::int64_t>(kind), group.size, group.ranks_per_domain,
                                          group.stride, group.copies};
    auto const [found, is_new] = curves_.try_emplace(key);
    if (is_new) found->second = collective_curve(cluster_, kind, group);
    return found->second;
}

}  // namespace sextant

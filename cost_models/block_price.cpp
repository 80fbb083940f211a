#include "cost_models/block_price.hpp"

#include "core/spec/schedule_traits.hpp"
#include "cost_models/hidden_beside.hpp"
#include "cost_models/memory_footprint.hpp"

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
    waiting += other.waiting;
    launched += other.launched;
    return *this;
}

PassTime operator*(double factor, PassTime const& t) {
    return {.gemm = factor * t.gemm,
            .attention = factor * t.attention,
            .streaming = factor * t.streaming,
            .gaps = factor * t.gaps,
            .tp = factor * t.tp,
            .cp = factor * t.cp,
            .ep = factor * t.ep,
            .waiting = factor * t.waiting,
            .launched = factor * t.launched};
}

namespace {

/// A step of ring attention, which hides behind the attention of another step.
bool is_ring_step(Collective const& c) {
    return c.group == GroupKind::context && c.kind == CollectiveKind::send_receive;
}

/// Tokens on their way to experts and back, and between the ranks that share an expert.
bool is_of_experts(Collective const& c) { return c.group == GroupKind::expert || c.group == GroupKind::expert_tensor; }

}  // namespace

GroupPlacement place(GroupKind group, ParallelPlan const& plan, ClusterSpec const& cluster) {
    std::int64_t const job = plan.world_size();
    switch (group) {
        case GroupKind::tensor: return place_group(plan.tp, 1, cluster, job);
        case GroupKind::context: return place_group(plan.cp, plan.tp, cluster, job);
        case GroupKind::data: return place_group(plan.dp * plan.cp, plan.tp, cluster, job);
        case GroupKind::expert: return place_group(plan.ep, plan.expert_tp, cluster, job);
        case GroupKind::expert_tensor: return place_group(plan.expert_tp, 1, cluster, job);
        case GroupKind::expert_data: return place_group(plan.expert_dp(), plan.ep * plan.expert_tp, cluster, job);
        case GroupKind::pipeline: {
            // One neighbour pair: the worst is the one that crosses a pod, or a domain, if any does, and no bridge.
            std::int64_t const stride = plan.tp * plan.cp * plan.dp;
            bool const inside = stride * plan.pp <= cluster.domain_size;
            return {.size = std::min<std::int64_t>(2, plan.pp),
                    .ranks_per_domain = inside ? 2 : 1,
                    .domains = inside ? 1 : 2,
                    .stride = stride,
                    .pipeline = plan.pp};
        }
    }
    return {};
}

GradientSums gradient_sums(ParallelPlan const& plan) {
    return plan.zero >= 2 && dense_shards(plan) > 1 ? GradientSums::reduced : GradientSums::added;
}

double added_share(KeptGradients const& kept, ParallelPlan const& plan, std::int64_t microbatches) {
    if (kept.buffered()) return 1;
    auto const copies = static_cast<double>(traits_of(plan.schedule).parameter_copies());
    return std::max(0.0, 1 - copies / static_cast<double>(microbatches));
}

/// Which ops of a block a pricing run takes: all of a pass, or the forward ops that a recompute policy runs again.
struct Pricer::Selection {
    Pass pass = Pass::forward;
    Recompute rerun = Recompute::none;  ///< none: all ops of the pass
    Seconds floor;                      ///< least time
    Rerun last = Rerun::to_the_end;     ///< of the ops that run again
    [[nodiscard]] bool takes(Op const& op) const {
        return op.in(pass) && (rerun == Recompute::none || (runs_again(rerun, op.rerun) && op.rerun <= last));
    }
};

/// Least times of a layer's passes.
struct Pricer::Floors {
    Seconds forward;
    Seconds backward;
};

Pricer::Product Pricer::lone_kernel(Op const& op, Pass pass) {
    auto const price = [&] {
        return Product{
            .time = kernel_time(op, pass, cluster_.accelerator, framework_),
            .weight = pass == Pass::backward ? weight_gradient_time(op, cluster_.accelerator, framework_) : Seconds{}};
    };
    auto const* gemm = std::get_if<Gemm>(&op.what);
    auto const* grouped = std::get_if<GroupedGemm>(&op.what);
    if (gemm == nullptr && grouped == nullptr) return price();
    auto const key_of = [&](std::int64_t groups, std::int64_t rows, auto const& g) {
        return std::array<std::int64_t, 7>{groups,
                                           rows,
                                           g.n,
                                           g.k,
                                           static_cast<std::int64_t>(g.precision),
                                           static_cast<std::int64_t>(g.gradients),
                                           static_cast<std::int64_t>(pass)};
    };
    std::array<std::int64_t, 7> const key =
        gemm != nullptr ? key_of(1, gemm->m, *gemm) : key_of(-grouped->groups, grouped->busiest_rows(), *grouped);
    auto const [found, is_new] = products_.try_emplace(key);
    if (is_new) found->second = price();
    return found->second;
}

/// Prices the selected ops one by one, in forward order. What is hidden of communication is the most that its overlap
/// allows: what there is to run beside it is known only at the end of the block (`HiddenBeside`).
template <class Sink>
void Pricer::each_op(Block const& block, ParallelPlan const& plan, Selection const& selection, Sink sink) {
    for (Op const& op : block.ops) {
        if (!selection.takes(op)) continue;
        if (op.name == weight_cast && !casts_weights(plan)) continue;
        if (op.name == expert_padding && framework_.pads_experts.value == 0) continue;
        PricedOp priced;
        priced.name = op.name;
        priced.op_class = op.op_class();
        if (auto const* c = std::get_if<Collective>(&op.what)) {
            if (op.hiding == Hiding::hidden) continue;
            GroupPlacement group = place(c->group, plan, cluster_);
            group.copies = c->copies;
            if (c->copies > 1) {
                group.expert_groups = c->expert_groups;
                group.chosen_groups = c->chosen_groups;
            }
            CollectiveCurve const& cost = curve(c->kind, group);
            auto const messages = static_cast<double>(c->messages);
            Seconds const t = messages * cost.time(c->bytes / messages);
            double overlap = 0;
            if (c->group == GroupKind::tensor) overlap = framework_.tp_overlap.value;
            if (is_of_experts(*c)) overlap = framework_.ep_overlap.value;
            if (is_ring_step(*c)) overlap = 1;
            priced.collective = *c;
            priced.exposed = (1 - overlap) * t;
            priced.hidden = overlap * t;
            priced.latency = messages * cost.latency(c->bytes / messages);
            priced.launches = c->messages;
        } else {
            Product const product = lone_kernel(op, selection.pass);
            priced.compute = product.time;
            priced.weight = product.weight;
            if (selection.pass == Pass::backward) priced.gradients = weights_with_gradients(op);
            priced.launches = kernel_count(op, selection.pass);
            priced.gap = static_cast<double>(priced.launches) * framework_.kernel_gap.value;
        }
        sink(priced);
    }
}

namespace {

/// What the halves of a backward pass wait for the host, which launches a pass in no less than `floor`: each for its
/// share of the launches, beyond what it takes anyway.
class HalvesOfWaiting {
public:
    void add(PricedOp const& op) {
        launches_ += op.launches;
        if (op.weight > Seconds{}) weight_launches_ += 1;
    }
    [[nodiscard]] Seconds of_weights(Seconds floor, Seconds total, Seconds weight) const {
        if (weight_launches_ == 0 || floor <= total) return {};
        double const share = static_cast<double>(weight_launches_) / static_cast<double>(launches_);
        Seconds const weights_lack = std::max(Seconds{}, share * floor - weight);
        Seconds const rest_lacks = std::max(Seconds{}, (1 - share) * floor - (total - weight));
        return weights_lack / (weights_lack + rest_lacks) * (floor - total);
    }

private:
    std::int64_t launches_ = 0;
    std::int64_t weight_launches_ = 0;
};

}  // namespace

struct Pricer::BarePass {
    Halves halves;
    HalvesOfWaiting waiting;
    Seconds floor;
    double of_products = 0;  ///< weights whose gradients products leave, and other ops
    double apart = 0;
};

Pricer::BarePass Pricer::price_bare(Block const& block, ParallelPlan const& plan, Selection const& selection) {
    BarePass bare{.halves = {}, .waiting = {}, .floor = selection.floor};
    PassTime& time = bare.halves.all;
    HiddenBeside hidden;
    each_op(block, plan, selection, [&](PricedOp const& op) {
        time.gaps += op.gap;
        bare.waiting.add(op);
        hidden.add(op);
        if (op.weight > Seconds{}) {
            bare.halves.weight.gemm += op.weight;
            bare.halves.weight.gaps += framework_.kernel_gap.value;
        }
        (op.op_class == OpClass::gemm ? bare.of_products : bare.apart) += op.gradients;
        switch (op.op_class) {
            case OpClass::gemm: time.gemm += op.compute; break;
            case OpClass::attention: time.attention += op.compute; break;
            case OpClass::streaming: time.streaming += op.compute; break;
            case OpClass::communication:
                switch (op.collective.group) {
                    case GroupKind::tensor: time.tp += op.exposed; break;
                    case GroupKind::expert:
                    case GroupKind::expert_tensor: time.ep += op.exposed; break;
                    case GroupKind::context: time.cp += op.exposed; break;
                    default: break;
                }
        }
    });
    time.tp += hidden.beyond(GroupKind::tensor, framework_);
    time.ep += hidden.beyond(GroupKind::expert, framework_);
    time.cp += hidden.beyond(GroupKind::context, framework_);
    return bare;
}

Pricer::Halves Pricer::halves_of(BarePass const& bare, GradientSums sums, GradientTraffic const& traffic) const {
    Halves halves = bare.halves;
    PassTime& time = halves.all;
    GradientSumTime const sum =
        gradient_sum_time(bare.of_products, bare.apart, sums, traffic, cluster_.accelerator, framework_);
    time.gemm += sum.products;
    halves.weight.gemm += sum.products;
    time.streaming += sum.apart;
    halves.weight.gaps += bare.waiting.of_weights(bare.floor, time.total(), halves.weight.total());
    time.waiting = std::max(Seconds{}, bare.floor - time.total());
    time.gaps += time.waiting;
    time.launched = bare.floor;
    return halves;
}

PassTime Pricer::price_pass(Block const& block, ParallelPlan const& plan, Selection const& selection) {
    return halves_of(price_bare(block, plan, selection), GradientSums::first, {}).all;
}

Pricer::Floors Pricer::floors(Block const& block, ParallelPlan const& plan, HostFloor host_floor) const {
    // Groups that leave the domain have been seen to need a floor that grows with the domains they span.
    auto const domains = static_cast<double>(place(GroupKind::tensor, plan, cluster_).domains);
    double const growth = 1 + framework_.cross_domain_floor_growth.value * (domains - 1);
    return {.forward = growth * least_time(host_floor, block, Pass::forward, framework_),
            .backward = growth * least_time(host_floor, block, Pass::backward, framework_)};
}

bool Pricer::casts_weights(ParallelPlan const& plan) const {
    return framework_.casts_weights.value > 0 && plan.narrow_copies == Switch::off;
}

Rerun Pricer::last_rerun() const { return framework_.early_stop.value > 0 ? Rerun::full : Rerun::to_the_end; }

PricedPass Pricer::price_ops(Block const& block, ParallelPlan const& plan, HostFloor host_floor, Pass pass,
                             Recompute rerun, double added) {
    Floors const least = floors(block, plan, host_floor);
    Selection selection{.pass = pass,
                        .rerun = rerun,
                        .floor = pass == Pass::forward ? least.forward : least.backward,
                        .last = last_rerun()};
    if (rerun == Recompute::selective) selection.floor = Seconds{};
    GradientSums const sums = gradient_sums(plan);
    GradientTraffic const traffic = gradient_traffic(framework_, gradients_, plan);
    double const share = sums == GradientSums::added ? added : 1;
    PricedPass priced;
    Seconds total, weight, summed, summed_weight;
    HiddenBeside hidden;
    HalvesOfWaiting waiting;
    each_op(block, plan, selection, [&](PricedOp op) {
        waiting.add(op);
        hidden.add(op);
        if (op.weight > Seconds{}) weight += op.weight + framework_.kernel_gap.value;
        total += op.compute + op.gap + op.exposed;
        bool const is_product = op.op_class == OpClass::gemm;
        GradientSumTime const sum = gradient_sum_time(is_product ? op.gradients : 0, is_product ? 0 : op.gradients,
                                                      sums, traffic, cluster_.accelerator, framework_);
        summed += sum.products + sum.apart;
        summed_weight += sum.products;
        op.compute += share * (sum.products + sum.apart);
        op.weight += share * sum.products;
        priced.ops.push_back(op);
    });
    // Collectives of a kind share what hides them in proportion to their times.
    for (PricedOp& op : priced.ops) {
        if (op.op_class != OpClass::communication) continue;
        Seconds const shown = hidden.shown(op.collective, framework_) * op.hidden;
        op.exposed += shown;
        op.hidden -= shown;
        total += shown;
    }
    // The mean of microbatches whose gradients are added to others, and of those whose are not.
    auto const wait = [&](double part, Seconds pass_time, Seconds weight_time) {
        priced.waiting += part * std::max(Seconds{}, selection.floor - pass_time);
        priced.weight_waiting += part * waiting.of_weights(selection.floor, pass_time, weight_time);
    };
    wait(share, total + summed, weight + summed_weight);
    wait(1 - share, total, weight);
    priced.launched = selection.floor;
    if (pass == Pass::backward) std::reverse(priced.ops.begin(), priced.ops.end());
    return priced;
}

BlockPrice Pricer::price(Block const& block, ParallelPlan const& plan, HostFloor host_floor) {
    BlockPrice price;
    price.parameters = block.parameters;
    price.frozen = block.frozen;
    price.run_again = block.kept(Recompute::none, formats_.of_layer_run_again());
    price.workspace = block.workspace;
    Floors const least = floors(block, plan, host_floor);
    price.forward = price_pass(block, plan, {.pass = Pass::forward, .floor = least.forward});
    BarePass const backward = price_bare(block, plan, {.pass = Pass::backward, .floor = least.backward});
    GradientTraffic const traffic = gradient_traffic(framework_, gradients_, plan);
    auto const fill = [&](GradientSums sums, PassTime& all, PassTime& weight) {
        Halves const halves = halves_of(backward, sums, traffic);
        all = halves.all;
        weight = halves.weight;
    };
    fill(GradientSums::added, price.backward, price.weight);
    fill(GradientSums::first, price.first_backward, price.first_weight);
    fill(GradientSums::reduced, price.reduced_backward, price.reduced_weight);
    for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full}) {
        auto const i = static_cast<std::size_t>(policy);
        price.kept[i] = block.kept(policy, formats_);
        price.offloaded[i] = block.offloaded(policy, formats_, plan.offloaded_activations);
        price.waiting[i] = block.waiting(policy, formats_);
        if (policy != Recompute::none)
            price.rerun[i] = price_pass(block, plan,
                                        {.pass = Pass::forward,
                                         .rerun = policy,
                                         .floor = policy == Recompute::full ? least.forward : Seconds{},
                                         .last = last_rerun()});
    }
    return price;
}

PricedBlocks Pricer::price(BlockSet const& blocks, ParallelPlan const& plan) {
    PricedBlocks priced;
    for (std::size_t k = 0; k < blocks.layers.size(); ++k)
        priced.layers.push_back(price(blocks.layers[k], plan, host_floor(blocks.kinds[k])));
    priced.embedding = price(blocks.embedding, plan, HostFloor::none);
    priced.head = price(blocks.head, plan, HostFloor::none);
    priced.mtp = price(blocks.mtp, plan, host_floor(blocks.mtp_layers));
    priced.embedding_copy = blocks.embedding_copy;
    return priced;
}

CollectiveCurve const& Pricer::curve(CollectiveKind kind, GroupPlacement const& group) {
    std::array<std::int64_t, 11> const key{static_cast<std::int64_t>(kind),
                                           group.size,
                                           group.ranks_per_domain,
                                           group.stride,
                                           group.copies,
                                           group.expert_groups,
                                           group.chosen_groups,
                                           group.bridged ? 1 : 0,
                                           group.pipeline,
                                           group.slice,
                                           group.beside};
    auto const [found, is_new] = curves_.try_emplace(key);
    if (is_new) found->second = collective_curve(cluster_, kind, group);
    return found->second;
}

}  // namespace sextant

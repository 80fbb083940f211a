#pragma once

#include "core/graph/block.hpp"
#include "core/graph/step_graph.hpp"
#include "cost_models/collective_time.hpp"
#include "cost_models/host_floor.hpp"
#include "cost_models/kernel_time.hpp"

#include <array>
#include <map>
#include <vector>

namespace sextant {

/// Where the time of one pass goes. Communication is what the pass waits for, after overlap.
struct PassTime {
    Seconds gemm;
    Seconds attention;
    Seconds streaming;
    Seconds gaps;  ///< between kernels, and waiting for the host when it launches slower than the device runs
    Seconds tp;
    Seconds cp;
    Seconds ep;
    Seconds waiting;   ///< the part of `gaps` that waits for the host
    Seconds launched;  ///< no part of it: what the host needs to launch it, so that it takes no less

    [[nodiscard]] Seconds compute() const { return gemm + attention + streaming; }
    [[nodiscard]] Seconds total() const { return gemm + attention + streaming + gaps + tp + cp + ep; }
    PassTime& operator+=(PassTime const& other);
    friend PassTime operator*(double factor, PassTime const& time);
};

/// A block priced: everything after this works without shapes.
struct BlockPrice {
    PassTime forward;
    PassTime backward;  ///< without recompute
    PassTime weight;    ///< the part of `backward` that is weight gradients: matrix products, their gaps and waiting
    PassTime first_backward;  ///< as `backward` where gradients are not added to any before
    PassTime first_weight;
    PassTime reduced_backward;  ///< where they are reduced: ZeRO 2 and 3
    PassTime reduced_weight;
    std::array<PassTime, 3> rerun{};   ///< what each `Recompute` policy adds to the backward pass
    std::array<Bytes, 3> kept{};       ///< activations kept per microbatch under each policy
    std::array<Bytes, 3> offloaded{};  ///< of these, what lies in host memory where activations are offloaded
    std::array<Bytes, 3> waiting{};    ///< what each has again until a weight half (`Block::waiting`)
    Bytes run_again;                   ///< what is there of it, once, while it is run again
    Bytes workspace;                   ///< beside that, while its backward pass runs
    LocalParameters parameters;        ///< that are trained
    FrozenWeights frozen;
};

/// One op priced, in the order of execution. Of a kernel `compute` and `gap`; of a communication the time that the pass
/// waits for it, `exposed`, and the time that it runs beside compute, `hidden`.
struct PricedOp {
    std::string_view name;
    OpClass op_class = OpClass::gemm;
    Collective collective;  ///< of a communication
    Seconds compute;
    Seconds weight;        ///< the part of `compute` that is the weight gradient
    double gradients = 0;  ///< weights whose gradients it leaves
    Seconds gap;
    Seconds exposed;
    Seconds hidden;
    Seconds latency;            ///< of `exposed` and `hidden` together, the part in which no bytes move
    std::int64_t launches = 0;  ///< kernels, and one of a communication
};

/// One pass over a block, op by op. Adds up to the `PassTime` of the same pass.
struct PricedPass {
    std::vector<PricedOp> ops;
    Seconds waiting;         ///< for the host, at the end
    Seconds launched;        ///< what the host needs to launch it
    Seconds weight_waiting;  ///< the part of `waiting` that is for the launches of weight gradients
};

/// A whole model under one plan shape, priced.
struct PricedBlocks {
    std::vector<BlockPrice> layers;  ///< one per kind
    BlockPrice embedding;
    BlockPrice head;
    BlockPrice mtp;
    LocalParameters embedding_copy;
};

/// The groups of a plan placed on a cluster (Megatron-LM's rank order: tp, cp, dp, pp; experts: expert tp, ep, expert
/// dp).
GroupPlacement place(GroupKind group, ParallelPlan const& plan, ClusterSpec const& cluster);
/// Reduced where ZeRO splits gradients, added up where there is nobody to split them with.
GradientSums gradient_sums(ParallelPlan const& plan);
/// Of the microbatches of a step those whose gradients are added to others, where they are added up: all where there is
/// a buffer for them, else all but the first of each copy of the weights.
double added_share(KeptGradients const& kept, ParallelPlan const& plan, std::int64_t microbatches);

/// Prices blocks for one cluster and framework; remembers collective curves and matrix products it has seen.
class Pricer {
public:
    Pricer(ClusterSpec const& cluster, FrameworkTiming const& framework, KeptFormats const& formats = {},
           KeptGradients const& gradients = {})
        : cluster_(cluster), framework_(framework), formats_(formats), gradients_(gradients) {}

    [[nodiscard]] PricedBlocks price(BlockSet const& blocks, ParallelPlan const& plan);
    [[nodiscard]] BlockPrice price(Block const& block, ParallelPlan const& plan, HostFloor floor);
    /// The ops of one pass, or with a recompute policy other than `none` the forward ops that the backward pass runs
    /// again. Backward ops come in reverse order; of gradients that are added up the share `added` is.
    [[nodiscard]] PricedPass price_ops(Block const& block, ParallelPlan const& plan, HostFloor floor, Pass pass,
                                       Recompute rerun = Recompute::none, double added = 1);
    CollectiveCurve const& curve(CollectiveKind kind, GroupPlacement const& group);
    [[nodiscard]] ClusterSpec const& cluster() const { return cluster_; }
    [[nodiscard]] FrameworkTiming const& framework() const { return framework_; }
    [[nodiscard]] KeptGradients const& gradients() const { return gradients_; }
    /// After the framework's scales of matrix products changed; curves depend on the cluster alone and stay.
    void forget_products() { products_.clear(); }

    /// The last of the ops that this framework runs again of a layer.
    [[nodiscard]] Rerun last_rerun() const;

private:
    struct Selection;
    struct Floors;
    struct Product {
        Seconds time;
        Seconds weight;  ///< the part of `time` that is the weight gradient
    };
    template <class Sink>
    void each_op(Block const& block, ParallelPlan const& plan, Selection const& selection, Sink sink);
    /// A pass, and the part of it that is weight gradients.
    struct Halves {
        PassTime all;
        PassTime weight;
    };
    /// A pass without what its gradients are added to and without its waiting for the host.
    struct BarePass;
    BarePass price_bare(Block const& block, ParallelPlan const& plan, Selection const& selection);
    [[nodiscard]] Halves halves_of(BarePass const& bare, GradientSums sums, GradientTraffic const& traffic) const;
    PassTime price_pass(Block const& block, ParallelPlan const& plan, Selection const& selection);
    /// Where rounded weights are not kept from one microbatch to the next.
    [[nodiscard]] bool casts_weights(ParallelPlan const& plan) const;
    [[nodiscard]] Floors floors(Block const& block, ParallelPlan const& plan, HostFloor host_floor) const;
    Product lone_kernel(Op const& op, Pass pass);

    ClusterSpec const& cluster_;
    FrameworkTiming const& framework_;
    KeptFormats formats_;
    KeptGradients gradients_;
    std::map<std::array<std::int64_t, 11>, CollectiveCurve> curves_;
    std::map<std::array<std::int64_t, 7>, Product> products_;
};

}  // namespace sextant

#include "cost_models/host_floor.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// What the host takes to launch a collective of the tensor-parallel group, as a share of what it takes for a layer
/// without one. Source: layers of GPT bound by the host, vtrain-single.csv, h 1024, one sequence: 3.03 ms with tp 1,
/// 3.35 ms with tp 2, whose two all-reduces run in each of forward, recompute and backward.
constexpr double collective_launch = 0.05;

/// What it takes for a recurrent mixer, as a share of a dense layer: two projections, a convolution, the kernels of a
/// scan and a gated norm. Source: megatron-ci-tiny.csv, hybrid_mr_mcore_te on DGX H100, whose 44 layers are 20 Mamba-2
/// mixers, 4 attentions and 20 feed-forwards. Less the 16 ms a step and half of the 3.7 ms a layer that tests of dense
/// models take there, a mixer takes 4.1 ms with tp 1, 4.3 ms with tp 2 and with pp 4. Of the delta rule: assumed.
constexpr double recurrent_launch = 1.1;

/// What of a dense layer attention is, and a feed-forward. Assumed: both launch two products and what is around them.
constexpr double half_layer = 0.5;

}  // namespace

HostFloor const HostFloor::none{};
HostFloor const HostFloor::per_layer{.dense = 1};
HostFloor const HostFloor::per_moe_layer{.dense = half_layer, .experts = 1};

HostFloor& HostFloor::operator+=(HostFloor const& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
}

HostFloor host_floor(LayerKind kind) {
    HostFloor floor;
    if (kind.mixer == Mixer::attention) floor.dense += half_layer;
    if (kind.mixer == Mixer::recurrent) floor.dense += recurrent_launch;
    if (kind.feed_forward && kind.moe) floor.experts = 1;
    if (kind.feed_forward && !kind.moe) floor.dense += half_layer;
    return floor;
}

HostFloor host_floor(std::vector<LayerKind> const& layers) {
    HostFloor sum;
    for (LayerKind const kind : layers)
        sum += host_floor(kind);
    return sum;
}

Seconds least_time(HostFloor const& floor, Block const& block, Pass pass, FrameworkTiming const& framework) {
    if (floor.dense + floor.experts <= 0) return {};
    bool const forward = pass == Pass::forward;
    Seconds const dense = forward ? framework.host_floor_forward.value : framework.host_floor_backward.value;
    Seconds const of_experts = forward ? framework.moe_floor_forward.value : framework.moe_floor_backward.value;
    Seconds const moe = std::max(dense, of_experts);
    auto const count = std::count_if(block.ops.begin(), block.ops.end(), [&](Op const& op) {
        auto const* collective = std::get_if<Collective>(&op.what);
        return collective != nullptr && collective->group == GroupKind::tensor && op.in(pass);
    });
    return floor.dense * dense + floor.experts * (moe - half_layer * dense) +
           collective_launch * static_cast<double>(count) * (floor.experts > 0 ? moe : dense);
}

}  // namespace sextant

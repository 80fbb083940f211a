#pragma once

#include "core/graph/block.hpp"
#include "core/spec/framework_profile.hpp"

#include <vector>

namespace sextant {

/// What a framework needs at least on the host to launch a block, in floors of its layers: of dense layers, and of
/// halves of layers that are experts, which take what a layer with experts takes beyond half of a dense one.
struct HostFloor {
    double dense = 0;
    double experts = 0;
    static HostFloor const none, per_layer, per_moe_layer;
    HostFloor& operator+=(HostFloor const& other);
};

/// Attention and a feed-forward are half a layer each, in a layer of both or alone. A recurrent mixer is more than a
/// layer.
HostFloor host_floor(LayerKind kind);
/// Of all of them together.
HostFloor host_floor(std::vector<LayerKind> const& layers);

/// Least time of a pass over a block; each collective of the tensor-parallel group in it adds to what launches it.
Seconds least_time(HostFloor const& floor, Block const& block, Pass pass, FrameworkTiming const& framework);

}  // namespace sextant

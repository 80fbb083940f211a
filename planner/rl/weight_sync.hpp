#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "cost_models/serving/iteration_model.hpp"

#include <cstdint>

namespace sextant {

enum class RolloutPlacement : std::uint8_t {
    colocated,  ///< engines and trainer take turns on the same accelerators
    split,      ///< each has its own
};

/// New weights on their way from the trainer to the engines; the parts add up to `total()`.
struct WeightSync {
    Bytes rank_bytes;                ///< what one engine rank gets, in two bytes a weight
    std::int64_t gathered_from = 1;  ///< trainer ranks that together hold one copy
    Seconds gather;                  ///< these parts, brought together on the trainer's side
    Seconds broadcast;               ///< from there to the same rank of every replica; split only
    Seconds copy;                    ///< into the engine's layout, through device memory
    Seconds over_host;  ///< and into the engine from host memory, where it cannot stand beside the trainer's
    Seconds software;   ///< beyond the transfers: `RlOverheads::sync` and its share by byte
    [[nodiscard]] Seconds total() const { return gather + broadcast + copy + over_host + software; }
};

/// Resharding, assumed to go straight from device to device and every byte once: an all-gather of the bytes that an
/// engine rank needs over the trainer ranks that hold one copy of the model (tp pp ep, with ZeRO-3 its shards), then,
/// where engines have accelerators of their own, a broadcast to the replicas, all ranks of a replica at the same time
/// on their own links, and a copy within the device (read and write). The two do not overlap.
///
/// Ranks of an engine need different bytes. Where a copy is spread over domains, the d ranks of an engine in a domain
/// gather at the same time, each over the ranks at its own place in every domain; before that, ranks of a domain
/// exchange what they have for one another, by an all-to-all.
WeightSync weight_sync(ServingCase const& engine, ParallelPlan const& trainer, RolloutPlacement placement,
                       std::int64_t replicas);

}  // namespace sextant

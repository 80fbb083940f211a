#pragma once

#include "core/spec/parallel_plan.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/memory_footprint.hpp"

namespace sextant {

/// What data parallelism and the optimizer add to one step of one stage.
struct DataParallelTime {
    Seconds exposed;    ///< communication that compute does not hide
    Seconds optimizer;  ///< update kernels
    Seconds offload;    ///< transfers and the update on the host
};

/// Collectives of a plan's data-parallel groups, for dense and for expert parameters. Pointers into the pricer's store.
struct DataParallelCurves {
    struct Group {
        CollectiveCurve const* gather = nullptr;  ///< within a shard group
        CollectiveCurve const* scatter = nullptr;
        CollectiveCurve const* reduce = nullptr;  ///< over all replicas
        CollectiveCurve const* across = nullptr;  ///< across shard groups (HSDP), null without
    };
    Group dense;
    Group expert;
};
DataParallelCurves data_parallel_curves(ParallelPlan const& plan, Pricer& pricer);

/// Gradient reduction and weight gathers of a step, layer by layer.
///
/// ZeRO 0: all-reduce of the gradients. ZeRO 1, 2: reduce-scatter, then all-gather of the updated weights. ZeRO 3: two
/// all-gathers and one reduce-scatter in every microbatch. A share `dp_overlap` (`fsdp_overlap`) of the compute beside
/// which a transfer can run hides it: the last microbatch's backward for gradients, the first forward for weights; one
/// layer's part always shows. With a shard group (HSDP) the gathers stay inside the group and the gradients are
/// all-reduced across groups once per step.
/// @param forward, backward: compute of one microbatch on the stage.
DataParallelTime data_parallel_time(StageLoad const& load, ParallelPlan const& plan, Seconds forward, Seconds backward,
                                    DataParallelCurves const& curves, AcceleratorProfile const& accelerator,
                                    FrameworkTiming const& framework);

}  // namespace sextant

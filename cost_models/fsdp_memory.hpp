#pragma once

#include "cost_models/memory_footprint.hpp"

namespace sextant {

/// Whether state is sharded by units, each gathered in 16 bit for a pass of its own and reduced from a buffer of its
/// own, as PyTorch's FSDP2 does: under ZeRO 3 a unit is freed after its forward, under ZeRO 2 after its backward, and
/// where nothing else makes replicas (no `bucket_bytes`), under ZeRO 1 with the step.
bool shards_units(ParallelPlan const& plan, FrameworkMemory const& framework);

/// Whether these units stay gathered, and their gradients unsharded, until the last microbatch has gone backward: FSDP2
/// in a pipeline. Source: torch/distributed/pipelining/stage.py (`backward_maybe_with_nosync`).
bool reduces_units_last(ParallelPlan const& plan, FrameworkMemory const& framework);
/// What comes then with the first unit that is reduced: the buffer and the shard, less the copy that was freed.
Bytes first_unit_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// What is unsharded, or on its way to be reduced, at the loss and while layers go backward. Under ZeRO 2 and 1
/// gathered weights are not of it, under ZeRO 1 no buffers. Source: docs/memory.md, "Units of FSDP".
GatheredLayers unit_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// The same when the backward pass ends, where all gradients are there, of which `written_late` bytes a parameter come
/// with the last unit.
Bytes last_unit_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework,
                        double written_late);

/// Of a frozen reference, which no backward pass frees, what its units leave gathered after a forward pass, beside its
/// shards: the root under ZeRO 3, and all of it where weights are not sharded again after a forward pass (ZeRO 2 and
/// 1). Source: PyTorch, `_post_forward_reshard` (fsdp/_runtime_utils.py: neither the root's parameters nor those of
/// SHARD_GRAD_OP are freed) and `FSDPState._lazy_init` (fsdp/_fully_shard/_fsdp_state.py: the root is not resharded
/// unless `reshard_after_forward` is given).
Bytes gathered_reference(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// Gradients of the output matrix under a loss in chunks: of all chunks together, and, with those beside them, of the
/// last one as they are reduced.
struct ChunkedHead {
    Bytes summed;
    Bytes reduced;
};
ChunkedHead chunked_head(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

}  // namespace sextant

#pragma once

#include "core/graph/step_graph.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/parallel_plan.hpp"
#include "cost_models/goodput/failure_process.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Bytes of one full checkpoint.
struct CheckpointSize {
    Bytes total{};                   ///< of the whole model, each tensor once
    Bytes per_node{};                ///< that the busiest node writes
    Bytes busiest_rank{};            ///< that the busiest rank writes
    double bytes_per_parameter = 0;  ///< of all parameters on average
};

/// What is stored of one parameter: the working weights and all that the optimizer keeps (master copy, moments), no
/// gradients. bf16 with fp32 AdamW: 2 + 12.
double checkpoint_bytes_per_parameter(FrameworkMemory const& framework, Optimizer optimizer, Precision precision);

/// Checkpoint of `parameters` (`embedding` of them embeddings and output matrix) written by all `gpus` in equal shares.
CheckpointSize even_checkpoint(std::int64_t parameters, std::int64_t embedding, FrameworkMemory const& framework,
                               ParallelPlan const& plan, std::int64_t gpus, std::int64_t gpus_per_node);

/// The same under a plan: each rank writes its part of its stage, replicas of the same part share it (dense parameters
/// over dp * cp, experts over their data-parallel group), so that the busiest rank is one of the fullest stage.
/// @param parameters exact count of the model: tensor-parallel ranks that hold the same tensor write it once.
CheckpointSize sharded_checkpoint(StepGraph const& graph, std::int64_t parameters, std::int64_t embedding,
                                  FrameworkMemory const& framework, std::int64_t gpus_per_node);

/// A kind of storage for checkpoints. Rates of writing and reading.
struct StorageKind {
    char const* name;
    char const* title;
    BytesPerSecond write_per_node;
    BytesPerSecond read_per_node;
    BytesPerSecond write_aggregate;  ///< of all nodes together, zero: no limit but the nodes'
    BytesPerSecond read_aggregate;
    Seconds latency{};  ///< per checkpoint: metadata, closing, the last straggler
    char const* basis;
    char const* source;
};

/// local-nvme, parallel-fs, object-store, or host-memory (a copy on a neighbour, for the in-memory tier).
/// @throws InputError with the known names and the nearest one.
StorageKind const& find_storage(std::string_view name, std::string_view where);

/// Time to write (read) a checkpoint: the slower of the busiest node at its rate and all bytes at the aggregate's, plus
/// the latency.
Seconds write_time(StorageKind const& storage, CheckpointSize const& size);
Seconds read_time(StorageKind const& storage, CheckpointSize const& size);

/// One place that checkpoints go to, on its own clock.
struct CheckpointTier {
    std::string name;
    Seconds interval{};  ///< of work between two snapshots; zero: to be chosen (choose_intervals)
    Seconds stall{};     ///< training stands still for each
    Seconds lag{};       ///< after the stall, until a snapshot can be used: the write in the background
    Seconds load{};      ///< reading it back
    FailureScope survives = FailureScope::fabric;  ///< the widest failure after which it is still there
};

/// How a checkpoint is written.
enum class CheckpointMode : std::uint8_t {
    sync,       ///< training waits for the storage
    async,      ///< training waits for a copy into host memory, the storage is written behind it
    in_memory,  ///< often into the host memory of a neighbour; rarely, asynchronously, into the storage
};
std::string_view name_of(CheckpointMode mode);
CheckpointMode checkpoint_mode_from(std::string_view name, std::string_view where);

/// The tiers of a mode over a storage, their intervals still open. Local disks are drained into `drain` in the
/// background, because a node that is taken away takes them with it.
/// @param host_bandwidth of one accelerator to host memory, for snapshots.
std::vector<CheckpointTier> checkpoint_tiers(CheckpointMode mode, StorageKind const& storage, StorageKind const& drain,
                                             CheckpointSize const& size, BytesPerSecond host_bandwidth);

}  // namespace sextant

#include "cost_models/goodput/checkpoint.hpp"

#include "core/spec/named_values.hpp"
#include "cost_models/memory_footprint.hpp"

#include <algorithm>

namespace sextant {
namespace {

using units::GB;
using units::s;
using units::TB;

constexpr StorageKind storages[] = {
    {"parallel-fs", "parallel file system (Lustre, GPFS, Tectonic)", 10 * GB / s, 10 * GB / s, 2 * TB / s, 2 * TB / s,
     5 * s, "assumed",
     "aggregate: 2 TB/s sustained of Tectonic's 7500 servers, arXiv:2407.21783 section 3.3.1 (published; ask for your "
     "own); 10 GB/s per node (one 100 Gbit/s storage NIC) and 5 s are assumed"},
    {"local-nvme",
     "NVMe disks of each node, drained into the file system",
     20 * GB / s,
     40 * GB / s,
     {},
     {},
     1 * s,
     "assumed",
     "eight data-centre drives of about 2.5 GB/s sustained writes and 5 GB/s reads"},
    {"object-store", "object store (S3, GCS, Azure Blob)", 5 * GB / s, 8 * GB / s, 200 * GB / s, 400 * GB / s, 20 * s,
     "assumed", "a 100 Gbit/s front-end NIC at 40 % (64 % reading), and what one bucket gives many writers"},
    {"host-memory",
     "host memory of a neighbour node over the training network",
     50 * GB / s,
     50 * GB / s,
     {},
     {},
     1 * s,
     "assumed",
     "one 400 Gbit/s port's worth of a node's network; Gemini (SOSP 2023) interleaves it with training"},
};

constexpr Named<CheckpointMode> modes[] = {
    {CheckpointMode::sync, "sync"}, {CheckpointMode::async, "async"}, {CheckpointMode::in_memory, "in-memory"}};

/// A snapshot in host memory of what a rank writes.
Seconds snapshot_time(CheckpointSize const& size, BytesPerSecond host_bandwidth) {
    constexpr Seconds barrier = 0.5 * s;  // assumed: all ranks reach the same step, allocate, and go on together
    return barrier + size.busiest_rank / host_bandwidth;
}

Seconds transfer_time(BytesPerSecond node, BytesPerSecond aggregate, CheckpointSize const& size, Seconds latency) {
    Seconds time = size.per_node / node;
    if (aggregate.base() > 0) time = std::max(time, size.total / aggregate);
    return latency + time;
}

}  // namespace

double checkpoint_bytes_per_parameter(FrameworkMemory const& framework, Optimizer optimizer, Precision precision) {
    ParallelPlan plan;
    plan.optimizer = optimizer;
    plan.precision = precision;
    StateBytes const bytes = state_bytes(framework, plan, 1);
    return bytes.weights + bytes.optimizer;
}

CheckpointSize even_checkpoint(std::int64_t parameters, std::int64_t embedding, FrameworkMemory const& framework,
                               ParallelPlan const& plan, std::int64_t gpus, std::int64_t gpus_per_node) {
    CheckpointSize size;
    size.total = checkpoint_bytes_per_parameter(framework, plan.optimizer, plan.precision) *
                 static_cast<double>(parameters) * units::B;
    if (plan.optimizer == Optimizer::muon) size.total += 4 * embedding * units::B;  // AdamW's second moment there
    size.bytes_per_parameter = size.total.base() / static_cast<double>(parameters);
    size.busiest_rank = size.total / gpus;
    size.per_node = size.busiest_rank * std::min(gpus, gpus_per_node);
    return size;
}

CheckpointSize sharded_checkpoint(StepGraph const& graph, std::int64_t parameters, std::int64_t embedding,
                                  FrameworkMemory const& framework, std::int64_t gpus_per_node) {
    ParallelPlan const& plan = graph.plan;
    CheckpointSize size = even_checkpoint(parameters, embedding, framework, plan, plan.world_size(), gpus_per_node);
    auto const replicas = static_cast<double>(plan.dp * plan.cp);
    double const of_one = checkpoint_bytes_per_parameter(framework, plan.optimizer, plan.precision);
    double busiest = 0;
    for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage) {
        LocalParameters const local = stage_parameters(graph, stage);
        double written = of_one * (local.dense / replicas + local.expert / static_cast<double>(plan.expert_dp()));
        if (plan.optimizer == Optimizer::muon) written += 4 * local.embedding / replicas;
        busiest = std::max(busiest, written);
    }
    size.busiest_rank = busiest * units::B;
    // Ranks of a node lie in one stage, or the node holds all there is.
    size.per_node = std::min(size.total, size.busiest_rank * std::min(plan.world_size(), gpus_per_node));
    return size;
}

StorageKind const& find_storage(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (StorageKind const& storage : storages) {
        if (name == storage.name) return storage;
        known.emplace_back(storage.name);
    }
    throw InputError("{}: unknown storage '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

Seconds write_time(StorageKind const& storage, CheckpointSize const& size) {
    return transfer_time(storage.write_per_node, storage.write_aggregate, size, storage.latency);
}

Seconds read_time(StorageKind const& storage, CheckpointSize const& size) {
    return transfer_time(storage.read_per_node, storage.read_aggregate, size, storage.latency);
}

std::string_view name_of(CheckpointMode mode) { return name_in<CheckpointMode>(modes, mode); }

CheckpointMode checkpoint_mode_from(std::string_view name, std::string_view where) {
    return value_in<CheckpointMode>(modes, name, where, "way to write checkpoints");
}

std::vector<CheckpointTier> checkpoint_tiers(CheckpointMode mode, StorageKind const& storage, StorageKind const& drain,
                                             CheckpointSize const& size, BytesPerSecond host_bandwidth) {
    Seconds const snapshot = snapshot_time(size, host_bandwidth);
    Seconds const write = write_time(storage, size);
    Seconds const read = read_time(storage, size);
    std::vector<CheckpointTier> tiers;
    if (mode == CheckpointMode::in_memory) {
        StorageKind const& memory = find_storage("host-memory", "storage");
        tiers.push_back({.name = "in-memory",
                         .interval = {},
                         .stall = snapshot,
                         .lag = write_time(memory, size),
                         .load = read_time(memory, size),
                         .survives = FailureScope::node});
    }
    bool const local = std::string_view(storage.name) == "local-nvme";
    Seconds const stall = mode == CheckpointMode::sync ? write : snapshot;
    Seconds const behind = mode == CheckpointMode::sync ? Seconds{} : write;
    if (!local) {
        tiers.push_back({storage.name, {}, stall, behind, read, FailureScope::fabric});
        return tiers;
    }
    // The disk's copy is the same snapshot as the drained one: one stall, two moments at which it can be used.
    tiers.push_back({storage.name, {}, stall, behind, read, FailureScope::process});
    tiers.push_back({std::string(storage.name) + " drained to " + drain.name,
                     {},
                     {},
                     behind + write_time(drain, size),
                     read_time(drain, size),
                     FailureScope::fabric});
    return tiers;
}

}  // namespace sextant

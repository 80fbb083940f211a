#pragma once

#include "core/spec/parallel_plan.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/memory_footprint.hpp"
#include "simulator/chunk_turns.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace sextant {

/// What data parallelism and the optimizer add to one step of one stage.
struct DataParallelTime {
    Seconds exposed;    ///< communication that compute does not hide
    Seconds copies;     ///< the same of weights that come from host memory
    Seconds optimizer;  ///< update kernels, and what gradients move beside them
    Seconds offload;    ///< transfers and the update on the host
    [[nodiscard]] Seconds total() const { return exposed + copies + optimizer + offload; }
};

/// Collectives of a plan's data-parallel groups, for dense and for expert parameters. Pointers into the pricer's store.
struct DataParallelCurves {
    struct Group {
        std::int64_t ranks = 1;  ///< all replicas
        std::int64_t shard = 1;  ///< ranks that gathers and scatters run over
        std::int64_t stride = 1;
        CollectiveCurve const* gather = nullptr;  ///< within a shard group
        CollectiveCurve const* scatter = nullptr;
        CollectiveCurve const* reduce = nullptr;  ///< over all replicas
        CollectiveCurve const* across = nullptr;  ///< across shard groups (HSDP), null without
    };
    Group dense;
    Group expert;
    /// Weights are sharded again after every backward pass, with ZeRO 2, too, and replicas of shards reduce in each
    /// (PyTorch's FSDP: SHARD_GRAD_OP, HYBRID_SHARD, fully_shard).
    bool in_units = false;
    /// Ranks have shards of all weights alone between steps, of frozen ones, too (`shards_weights`).
    bool shards_weights = false;
    /// Parameters that a collective of ZeRO 0 and 1 has at least (`gradient_bucket`); 0: those of a layer.
    double bucket = 0;
    KeptGradients gradients{};
    CollectiveCurve host;                     ///< a copy from host memory, for weights that are there
    CollectiveCurve const* copies = nullptr;  ///< between the two copies of a stage, of a pipeline that runs both ways
    CollectiveCurve const* ends = nullptr;    ///< between the first and the last stage of a pipeline
};
DataParallelCurves data_parallel_curves(ParallelPlan const& plan, Pricer& pricer);

/// Parameters of a bucket of gradients: 40 M, and 1 M for each data-parallel rank. Source: Megatron-Core,
/// distributed_data_parallel.py.
double gradient_bucket(ParallelPlan const& plan);

/// When a collective of data parallelism runs.
enum class DataParallelMoment : std::uint8_t {
    forward_each,   ///< before each layer's forward of every microbatch
    backward_each,  ///< with each layer's backward of every microbatch
    backward_last,  ///< after each layer's last backward of the step
    forward_first,  ///< before each layer's first forward of the step
};

/// A collective that data parallelism calls once per layer, or a layer's part of one for several.
struct DataParallelCall {
    DataParallelMoment moment = DataParallelMoment::backward_last;
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupKind group = GroupKind::data;  ///< expert_data: for the layers with experts
    /// `copies`: the two copies of a stage, across the pipeline. `host`: none, a rank's shard comes from host memory.
    enum class Over : std::uint8_t { replicas, copies, host } over = Over::replicas;
    std::int64_t ranks = 1;  ///< of the group, `stride` apart
    std::int64_t stride = 1;
    double layers = 1;    ///< that call, or have a part, per stage and microbatch
    double together = 1;  ///< layers of one call: of a bucket, where that is longer than a layer
    Seconds time;         ///< of one layer
    Seconds latency;      ///< the part of `time` in which no bytes move
    [[nodiscard]] Seconds stage_time() const { return layers * time; }
};

/// The calls of one stage; none without data parallelism.
class DataParallelCalls {
public:
    void add(DataParallelCall const& call) { calls_.at(count_++) = call; }
    [[nodiscard]] DataParallelCall const* begin() const { return calls_.data(); }
    [[nodiscard]] DataParallelCall const* end() const { return calls_.data() + count_; }
    /// Time of all calls of one moment over the stage's layers, once.
    [[nodiscard]] Seconds at(DataParallelMoment moment) const;

private:
    std::array<DataParallelCall, 14> calls_{};
    std::size_t count_ = 0;
};
DataParallelCalls data_parallel_calls(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                                      FrameworkTiming const& framework);

/// Of the time in which a transfer and the compute beside it could both run, the share that is gained: transfers take
/// multiprocessors and memory bandwidth, and begin late.
double data_parallel_overlap(DataParallelMoment moment, ParallelPlan const& plan, FrameworkTiming const& framework);

/// What shows of the weights that ZeRO 3 gathers for one forward pass of a stage, which takes `compute`, where nothing
/// else hides them. Zero otherwise.
Seconds shown_gathers(StageLoad const& load, ParallelPlan const& plan, Seconds compute,
                      DataParallelCurves const& curves, FrameworkTiming const& framework);

/// All-reduce between first and last stage of the gradients of an embedding that both hold, once per step when both
/// have reduced theirs; nothing hides it. Whole unless ZeRO 2 or 3 splits gradients. Zero for stages between, and
/// without a copy. Source: Megatron-Core, finalize_model_grads.py; nanotron and DeepSpeed do the same with tied
/// weights.
Seconds exchange_of_ends(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                         FrameworkTiming const& framework);

/// What a stage does beside the traffic of data parallelism, for one microbatch over all its chunks.
struct PassesBeside {
    Seconds forward;            ///< compute, and the communication that it waits for
    Seconds backward;           ///< of halves: both
    Seconds weight;             ///< the half that has the gradients, or all of it
    Seconds forward_ends{};     ///< of `forward`, embedding and head, which have no layer's traffic beside them
    Seconds weight_ends{};      ///< the same of `weight`
    double alternating = 0;     ///< of layers with experts, those that come after one without; 0: taken as all alike
    Seconds forward_experts{};  ///< of `forward`, layers with experts
    Seconds weight_experts{};   ///< the same of `weight`
    Seconds forward_wait{};     ///< for activations on their way to the host, and back: traffic hides there for nothing
    Seconds backward_wait{};
    Seconds begins_later{};  ///< than the first rank, and ends earlier: the step is not longer for what shows then
    Seconds ends_earlier{};
    double chunks = 1;  ///< that one microbatch passes
    ChunkTurns turns{};
};

/// Gradient reduction and weight gathers of a step, layer by layer.
///
/// ZeRO 0: all-reduce of the gradients. ZeRO 1, 2: reduce-scatter (or all-reduce, `all_reduces_gradients`), then
/// all-gather of the updated weights. ZeRO 3: two all-gathers and one reduce-scatter in every microbatch; ZeRO 2 in
/// FSDP's units one of each. Of a transfer t beside compute c there shows t - o min(t, c) with o = `dp_overlap`
/// (`fsdp_overlap`); c is the last microbatch's backward for gradients, the first forward for weights, and one layer's
/// part always shows. With ZeRO 0 and 1 layers that are shorter than a bucket of gradients share a call, and one call
/// always shows. What every microbatch sends (ZeRO 2, 3) has the layers in c, and not the ends of the model; where
/// layers with experts come between others, layer by layer (`exposed_by_layer`). Traffic of all chunks but the one
/// whose backwards end last (whose forwards begin first) has the passes between their turns, too. With a shard group
/// (HSDP) the gathers stay inside the group and the gradients are all-reduced across groups once per step, in FSDP's
/// units with every microbatch. Frozen weights are gathered with the others where they are sharded, by ZeRO 3 and in
/// FSDP's units, and have no gradients. A pipeline that runs both ways has every stage on two of its ranks: they add
/// their gradients (with ZeRO their parts of them) once per step, behind the last backward. Last of all come the
/// gradients of an embedding that both ends of a pipeline hold (`exchange_of_ends`).
DataParallelTime data_parallel_time(StageLoad const& load, ParallelPlan const& plan, PassesBeside const& beside,
                                    DataParallelCurves const& curves, AcceleratorProfile const& accelerator,
                                    FrameworkTiming const& framework);

}  // namespace sextant

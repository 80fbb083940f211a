#pragma once

#include "core/graph/block.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/parallel_plan.hpp"

#include <array>

namespace sextant {

/// What one pipeline stage has to hold, in numbers that no longer know the model. Tokens are those of one microbatch on
/// one rank.
struct StageLoad {
    LocalParameters parameters;     ///< that are trained
    LocalParameters largest_layer;  ///< parameters of the largest layer (ZeRO-3 gathers layer by layer)
    LocalParameters ends;           ///< parameters of embedding and head on this stage, without prediction modules
    LocalParameters head;           ///< of these, what passes after the last layer
    FrozenWeights frozen;           ///< the same three of what is held and not trained
    FrozenWeights frozen_layer;
    FrozenWeights frozen_ends;
    double shared_embedding = 0;  ///< trained parameters that the stage at the other end of the pipeline holds, too
    double layers = 0;
    double offloaded_share = 1;  ///< of these, those whose activations are offloaded, where some are
    double moe_layers = 0;
    Bytes kept;           ///< activations of one microbatch over the stage, under the plan's recompute policy
    Bytes kept_by_layer;  ///< of one layer (mean), under the policy
    Bytes offloaded;      ///< of `kept`, what lies in host memory where activations are offloaded
    Bytes working_layer;  ///< what one layer adds to what is kept of it while it is run again; zero without recompute
    Bytes waiting_layer;  ///< of `working_layer`, what a weight half needs, too (`Block::waiting`)
    Switch waits = Switch::off;       ///< backwards are split: what runs again stays for the weight half
    Bytes waiting;                    ///< there, of all passes, the most beside `in_flight * kept`
    Bytes workspace;                  ///< what one layer needs beside, while its backward pass runs
    double in_flight = 1;             ///< microbatches whose activations are held at the same time
    double in_flight_on_device = -1;  ///< the same of what stays on the device where some are offloaded; -1: as many
    bool pairs = false;               ///< forwards run beside backwards
    bool leads = true;                ///< is of the first rank of a pipeline
    /// Of activations that are offloaded: most microbatches that have come back for the input half of their backward
    /// and wait for the weight half, while no whole pass runs, one, and two side by side; negative where that never is.
    std::array<double, 3> between_halves{-1, 0, -1};
    double microbatches = 1;
    double hidden_tokens = 0;          ///< T h: unsharded tokens times hidden size
    double sharded_hidden_tokens = 0;  ///< T h / tp
    double logits = 0;                 ///< T V / tp on the stage with the head (and once more per MTP module), else 0
    double postponed_logits =
        0;  ///< microbatches whose logits' gradients wait for a weight half, beside the one at work
    Switch reference = Switch::off;      ///< a frozen copy of the model is there beside it
    Switch capped_logits = Switch::off;  ///< bounded by a scaled tanh before the loss
    double narrow_copies = 0;            ///< of a weight, in the format of narrow products (`narrow_copies_of`)
};

/// Of activations that are offloaded, what is on the device for each pass that runs: the layer at work and the one in
/// transfer.
Bytes layers_in_transfer(StageLoad const& load);

/// Bytes on one accelerator, by what they are. `allocated()` is what the tensors need at the peak; `reserved` is what
/// the framework's allocator takes for that, as a typical figure and an 80 % range.
struct StageMemory {
    Bytes weights;
    Bytes gradients;
    Bytes optimizer;
    Bytes reference;  ///< weights of a frozen reference
    Bytes activations;
    Bytes logits;
    Bytes buffers;     ///< communication buckets, gathered weights, step buffers
    Bytes workspaces;  ///< BLAS and communication workspaces inside the allocator
    Bytes slack;       ///< reserved, not allocated: copies that linger, held gathers, fragmentation (typical)
    Bytes reserved_low;
    Bytes reserved_high;
    Bytes host;            ///< in host memory: offloaded optimizer state and activations
    double in_flight = 1;  ///< microbatches whose activations are held at the peak, in device or host memory

    [[nodiscard]] Bytes state() const { return weights + gradients + optimizer; }
    [[nodiscard]] Bytes allocated() const { return state() + reference + activations + logits + buffers + workspaces; }
    [[nodiscard]] Bytes reserved() const { return allocated() + slack; }
};

/// Static state in bytes per local parameter, after ZeRO, optimizer kind and offload.
struct StateBytes {
    double weights = 0;
    double gradients = 0;
    double optimizer = 0;
    double host = 0;
};
/// @param shards ranks that a sharded state is split over (dp * cp, the shard group, or the expert data-parallel
/// group).
/// @param microbatches of a step: gradients that go to host memory stay on the device until the last (`KeptGradients`).
StateBytes state_bytes(FrameworkMemory const& framework, ParallelPlan const& plan, double shards,
                       double microbatches = 1);

/// Ranks over which ZeRO shards dense and expert state. With shard groups an expert's is shared by those of its
/// replicas that lie in one group: one where an expert group fills it or spans several.
double dense_shards(ParallelPlan const& plan);
double expert_shards(ParallelPlan const& plan);

/// Whether a rank holds a shard of the weights alone between passes.
bool shards_weights(ParallelPlan const& plan, FrameworkMemory const& framework);

/// What ZeRO 3 holds unsharded of layers while passes run: at the loss, as in any forward, the weights of the last one,
/// which its backward needs next; in the backward of a layer its weights and gradients, and the weights of the one
/// prefetched. Where units are sharded (cost_models/fsdp_memory.hpp) the ends are of it.
struct GatheredLayers {
    Bytes at_loss;
    Bytes in_backward;
};
GatheredLayers gathered_layers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// Whether a pipeline runs all forwards before the backwards, and so holds the logits' gradients of every microbatch.
bool holds_all_logits(ParallelPlan const& plan);

/// Logits and their gradients on the stage with the head: of `others`, microbatches that have them beside the one at
/// work, and of those whose weight halves are still to come. With a loss in chunks, gradients of hidden states in their
/// place.
Bytes other_logits(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework, double others);
/// Those of a microbatch at its loss, of a loss in chunks those of one and what all chunks are added to; under ZeRO 3
/// with a compiler's plan, or what the output matrix's backward needs where that is more: gradients of logits, the
/// matrix gathered, its gradient before it is spread. Source: docs/memory.md, "Activations".
Bytes logits_at_loss(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// Beside what is kept: a layer that is run again (of what waits for weight halves, nothing), and gradients of what it
/// leaves. Of layers with experts the former is more than is there at once already.
Bytes layer_at_work(StageLoad const& load, FrameworkMemory const& framework);

/// Copies of a weight that narrow products read: one as it is, for the forward pass, and one transposed, for the
/// gradient of the input. Blackwells of data centres multiply fp8 with one scale for a matrix as it is. Source:
/// Transformer Engine, `is_non_tn_fp8_gemm_supported` (compute capability 10).
double narrow_copies_of(Precision precision, AcceleratorProfile const& accelerator);

inline constexpr double frozen_weight_bytes = 2;  ///< bf16 or fp16, as checkpoints are published

/// What an optimizer holds less of a parameter in moments, in bytes, than AdamW with both in fp32.
double optimizer_saving(Optimizer optimizer);

/// Bytes of frozen weights in the formats that they are held in. Source: docs/memory.md, "Adapters".
Bytes frozen_bytes(FrozenWeights const& weights, ParallelPlan const& plan);
/// The same of those whose state is sharded with the dense parameters, or with the experts.
Bytes frozen_dense_bytes(FrozenWeights const& weights, ParallelPlan const& plan);
Bytes frozen_expert_bytes(FrozenWeights const& weights, ParallelPlan const& plan);

/// Buffers that are there whatever the passes do.
Bytes standing_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// What comes beside those when the passes are over or about to be, with no activations: the updated weights before
/// they are spread, or the unit that is reduced last. Negative where they give up more.
Bytes closing_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

/// Peak of one stage: static state, plus the larger of the forward/backward peak (activations in flight, logits or a
/// layer being run again, gathered weights) and what follows without activations (`closing_buffers`). Source: term by
/// term in docs/memory.md.
StageMemory stage_memory(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework);

}  // namespace sextant

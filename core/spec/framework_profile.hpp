#pragma once

#include "core/spec/parallel_plan.hpp"
#include "core/spec/release.hpp"
#include "core/spec/sourced.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// What a training framework makes of the hardware: kept per family, device generation and precision, because that is
/// how far such constants carry (research: within a family 2-8 % median, across families 20-36 %).
struct FrameworkTiming {
    std::string generation;  ///< accelerator generation these hold for, "*": any other
    std::string precision;   ///< "bf16", "fp8", ..., "*": any other
    /// Measured steps of that generation in that precision ("*": in formats of two bytes and more) that the constants
    /// were fitted to; absent: the file does not state it.
    std::optional<std::int64_t> steps{};
    Sourced<double> gemm_scale;        ///< achieved fraction of the kernel table's speed (power, cold caches, streams)
    Sourced<double> yearly_gemm_gain;  ///< by which the logarithm of gemm_scale grows with a year of releases
    /// By which the logarithm of attention_scale grows with a year of releases.
    Sourced<double> yearly_attention_gain;
    Sourced<double> grouped_gemm_scale;  ///< the same for the experts' grouped products, times gemm_scale
    Sourced<double> attention_scale;
    Sourced<double> memory_scale;         ///< of streaming kernels
    Sourced<double> activation_passes;    ///< unfused passes: multiplies the bytes of element-wise kernels
    Sourced<Seconds> host_floor_forward;  ///< per layer and microbatch; a pass takes at least this long
    Sourced<Seconds> host_floor_backward;
    Sourced<Seconds> moe_floor_forward;  ///< the same two for a mixture-of-experts layer, if larger
    Sourced<Seconds> moe_floor_backward;
    Sourced<double> cross_domain_floor_growth;  ///< the floors grow by this much per further domain a tp group spans
    Sourced<Seconds> kernel_gap;                ///< added per kernel
    Sourced<Seconds> fixed_per_step;
    Sourced<double> tp_overlap;    ///< fraction of tensor-parallel communication hidden behind compute
    Sourced<double> dp_overlap;    ///< of the compute that may hide data-parallel communication, the part that does
    Sourced<double> fsdp_overlap;  ///< the same for ZeRO-3/FSDP gathers
    Sourced<double> pp_overlap;
    Sourced<double> ep_overlap;
    Sourced<double> cp_overlap;
    /// 1: what full recompute runs again of a layer ends with the last tensor that the backward pass needs, so that the
    /// last product is left out; 0: a layer runs again to its end.
    Sourced<double> early_stop;
    /// 1: products in narrow formats round their weights in every pass of every microbatch; 0: once a step, which is
    /// not counted.
    Sourced<double> casts_weights;
    /// 1: the tokens of each expert are copied to a multiple of what products in narrow formats take, and back, where a
    /// dispatcher does not leave them so; 0: they lie so.
    Sourced<double> pads_experts;
    Sourced<double> gradient_bytes_sent;  ///< per parameter, by data-parallel reduction
    /// The same where context parallelism divides sequences, if that is more.
    Sourced<double> cp_gradient_bytes_sent;
    /// 1: with ZeRO 1 and 2 all gradients are reduced on every rank, which keeps its part; 0: a rank gets its part
    /// alone.
    Sourced<double> all_reduces_gradients;
    /// 1: with ZeRO 1 and 2 the updated weights are gathered at the end of a step, beside nothing; 0: beside the next
    /// step's first forward.
    Sourced<double> gathers_after_step;
    /// Per weight, moved to add a microbatch's gradient to those before, beyond writing it in the working precision.
    Sourced<double> gradient_sum_bytes;
    Sourced<double> weight_bytes_sent;              ///< per parameter, by ZeRO's gathers
    Sourced<double> optimizer_bytes_per_parameter;  ///< read and written by one update
};

/// Bytes a framework keeps, per parameter or per token; see docs/memory.md.
struct FrameworkMemory {
    Sourced<double> weight_bytes;         ///< per parameter, working copy
    Sourced<double> gradient_bytes;       ///< per parameter, accumulated
    Sourced<double> fp16_gradient_bytes;  ///< the same two under fp16 with loss scaling
    Sourced<double> fp16_master_bytes;
    Sourced<double> master_bytes;  ///< per parameter, fp32 copy and the like, sharded by ZeRO-1
    Sourced<double> bucket_bytes;  ///< per parameter, buckets that stay (dp > 1, ZeRO 0 and 1), not sharded
    Sourced<double> gather_bytes;  ///< per parameter at the optimizer, updated weights before they are spread (ZeRO-1)
    Sourced<double> logits_bytes;  ///< per token and vocabulary entry, need
    Sourced<double> logits_bytes_reserved;  ///< the same as the allocator keeps it
    Sourced<double> fused_logits_bytes;     ///< need in place of `logits_bytes` with a fused cross entropy
    /// Need in place of either, per entry that a rank has, where tensor-parallel ranks share the vocabulary; 0: as
    /// without.
    Sourced<double> split_logits_bytes;
    Sourced<double> gated_extra_bytes;   ///< per token and feed-forward unit, where gate and product are not one kernel
    Sourced<double> extra_hidden_bytes;  ///< per token and hidden unit and layer, kept besides the tensor list (pp > 1)
    Sourced<double> held_gather_bytes;   ///< per token (not / tp), hidden unit and layer, for each microbatch in flight
                                         ///< beyond the second
    Sourced<double> step_buffer_bytes;   ///< per unsharded token and hidden unit, once
    Sourced<double> routed_token_bytes;  ///< per routed token and hidden unit: experts' outputs, where they are
                                         ///< weighted by the router, with copies; 0: their activation is weighted
    Sourced<double> norm_copy_bytes;     ///< per token, hidden unit and norm before a half of a layer: fp32 residuals,
                                         ///< casts and norms that run op by op
    Sourced<double> repeated_key_value_bytes;  ///< per token and key or value unit that is repeated for query heads
    /// Per unsharded token and hidden unit of what tensor-parallel layers read, as far as other ranks have it: bytes
    /// that are kept from the forward pass (2: nothing is gathered again in the backward pass).
    Sourced<double> gathered_input_bytes;
    /// 1: each tensor-parallel rank has the gradient of the whole embedding before it takes its part (PyTorch's
    /// DTensor).
    Sourced<double> whole_embedding_gradient;
    /// Per parameter: 16-bit copies of fp32 weights, made as the forward pass goes (autocast) and freed by the backward
    /// pass; not sharded. With `stacks_layers`, of those shards of layers that a rank holds, for as long as passes run.
    Sourced<double> cast_weight_bytes;
    /// An element of what is kept of the input of a product in fp8; below 2, of one in fp4 0.5625 of that (with
    /// scales).
    Sourced<double> narrow_input_bytes;
    Sourced<double> gathered_share;  ///< of a layer that ZeRO 3 gathers, and reduces gradients of, at once
    /// 1: gradients are freed with the update and come into being in the backward pass (PyTorch's set_to_none), so that
    /// a step of one microbatch holds the larger of them and of the activations that they replace; 0: they stay.
    Sourced<double> frees_gradients;
    /// 1: with optimizer state in host memory gradients are there, too, as the backward pass makes them (DeepSpeed's
    /// ZeRO-Offload); 0: they stay on the device.
    Sourced<double> offloads_gradients;
    /// 1: what the layers keep, and their gradients, are one array each (a scan over them): gradients that are freed
    /// replace logits, but no activations.
    Sourced<double> stacks_layers;
    /// 1: buffers of routed tokens are as large as if one rank of an expert group got all that its experts may get.
    Sourced<double> worst_case_experts;
    /// Gradients beside what the layer at work leaves, as a share of it.
    Sourced<double> working_gradient_share;
    /// Per gradient, in the buffer that a unit is reduced from and that stays until the next unit's: where ZeRO 2 and 3
    /// are units of fp32 shards, gathered in 16 bit (PyTorch's FSDP2); 0: they are not.
    Sourced<double> reduce_buffer_bytes;
    /// Layers whose gradients fit in a bucket that ZeRO reduces from, which has several buffers (DeepSpeed); 0: there
    /// are no such buckets.
    Sourced<double> reduce_bucket_layers;
    Sourced<double> end_units;     ///< 1: embedding and head are units of their own; 0: one, which stays gathered
    Sourced<Bytes> constant;       ///< workspaces of BLAS and communication libraries inside the allocator
    Sourced<Bytes> context;        ///< outside the allocator: driver context, NCCL; not in allocated nor reserved
    Sourced<double> reserved_low;  ///< reserved / allocated prediction: 10 % quantile
    Sourced<double> reserved_typical;
    Sourced<double> reserved_high;    ///< 90 % quantile
    Sourced<double> usable_fraction;  ///< of the device memory, before a run is called out of memory
    /// Size of a device up to which the fraction holds. What a run needs beside its tensors (driver context, buffers of
    /// NCCL) does not grow with the device: a larger one has no more that is not usable. 0: the fraction holds for any.
    Sourced<Bytes> usable_fraction_up_to;
    [[nodiscard]] Bytes usable_of(Bytes capacity) const;
};

/// What the same framework needs where another compiler builds it.
struct GenerationMemory {
    std::string generation;  ///< of devices
    FrameworkMemory memory;
};

/// 80 % interval of a step's time, as factors on it: of rows that the constants were fitted to and of rows whose source
/// was left out, in equal parts.
struct StepInterval {
    double low = 0.8;  ///< assumed, until a fit says otherwise
    double high = 1.25;
    std::int64_t rows = 0;  ///< it comes from; 0: assumed
};

/// How layers are spread over pipeline stages. `by_cost`: those of dense models by cost, with the output matrix as a
/// block of its own; of other models evenly.
enum class LayerSpread : std::uint8_t { even, by_cost };
std::string_view name_of(LayerSpread spread);
LayerSpread layer_spread_from(std::string_view name, std::string_view where);

/// Pipelines that a framework has: none, one chunk of the layers per stage, or several; `uneven`: several also where no
/// number of chunks divides the layers.
enum class Pipelines : std::uint8_t { none, plain, interleaved, uneven };
std::string_view name_of(Pipelines pipelines);
Pipelines pipelines_from(std::string_view name, std::string_view where);

/// What a tensor-parallel rank sends to the next stage of hidden states that lie whole on each (without sequence
/// parallelism): all of them, or its part, and the receivers gather the parts.
enum class StageSends : std::uint8_t { whole, parts };
std::string_view name_of(StageSends sends);
StageSends stage_sends_from(std::string_view name, std::string_view where);

/// What a framework does where a plan leaves it open, and what a search leaves out that is not asked for.
struct UsualPlan {
    LayerSpread layers = LayerSpread::even;
    int zero = 1;  ///< ZeRO stage, where there is no pipeline (with one ZeRO 2 and 3 do not go)
    ContextParallel cp_mode = ContextParallel::ring;  ///< of models without sliding windows
    Pipelines pipelines = Pipelines::interleaved;
    StageSends sends = StageSends::whole;
};

/// The releases whose steps the constants were fitted to, and the one that they hold for.
struct FrameworkReleases {
    Release first, last, at;

    /// Where a step stands that was measured with this release: with the nearest of those fitted; midway where it
    /// states none.
    [[nodiscard]] Release of_step(std::optional<Release> stated) const;
};

struct FrameworkProfile {
    std::string name;  ///< "megatron", "fsdp", ...
    std::string title;
    std::vector<std::string> aliases;
    std::string family{};  ///< the shipped framework that it is with other constants; empty: none but itself
    UsualPlan usual{};
    std::optional<FrameworkReleases> releases{};  ///< absent: the constants do not tell releases apart
    std::vector<FrameworkTiming> timing;
    FrameworkMemory memory;
    std::vector<GenerationMemory> memory_on{};  ///< in place of `memory` on devices of these generations
    StepInterval interval{};
};

/// The shipped framework that it is, whatever its constants and its name ("megatron:dp_overlap=1", a file of one's
/// own).
inline std::string const& family_name(FrameworkProfile const& framework) {
    return framework.family.empty() ? framework.name : framework.family;
}
inline bool is_framework(FrameworkProfile const& framework, std::string_view shipped) {
    return family_name(framework) == shipped;
}

/// With the memory constants of devices of this generation.
FrameworkProfile on_generation(FrameworkProfile framework, std::string_view generation);

/// Whether the constants are others for another release.
inline bool tells_releases_apart(FrameworkTiming const& timing) {
    return timing.yearly_gemm_gain.value > 0 || timing.yearly_attention_gain.value > 0;
}
/// The constants `years` of releases later.
FrameworkTiming later(FrameworkTiming timing, double years);
/// Has the constants hold for that release, or for the nearest of those fitted; for a profile that tells releases
/// apart.
void move_to(FrameworkProfile& framework, Release release);
/// How another release is asked for: "megatron:release=YY.MM for another of 24.03 to 26.02"; likewise.
std::string other_releases(FrameworkProfile const& framework);

/// The entry for this device generation and precision; more specific entries win. @throws InputError if even "*" is
/// missing.
FrameworkTiming const& timing_for(FrameworkProfile const& framework, std::string const& generation,
                                  std::string const& precision);
/// The same; of fp8 however it is scaled.
FrameworkTiming const& timing_for(FrameworkProfile const& framework, std::string const& generation,
                                  Precision precision);

}  // namespace sextant

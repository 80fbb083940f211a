#pragma once

#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sextant {

/// What starts a run: whose rules a search keeps to. `any` has none that are known.
enum class Launcher : std::uint8_t { any, megatron, deepspeed, torchtitan, fsdp2, maxtext, nanotron };
Launcher launcher_of(FrameworkProfile const& framework);
/// Its format of `export`; empty: there is none.
std::string_view export_format(Launcher launcher);

/// The schedule of a pipeline that a plan names none for: 1F1B, of several chunks a rank interleaved. MaxText's
/// pipeline is one loop that JAX differentiates as a whole: all forwards, chunk after chunk, then all backwards.
Schedule usual_schedule(Launcher launcher, std::int64_t vpp);
/// Whether every chunk of an interleaved pipeline has the microbatches that Megatron-Core asks for: as many as stages.
bool has_microbatches_to_interleave(ParallelPlan const& plan, std::int64_t microbatches);
/// Whether Megatron-Core offloads activations of such a plan: of one without stages and recompute.
/// Source: Megatron-Core 0.15, checks of fine_grained_activation_offloading and cpu_offloading.
bool megatron_offloads_activations(ParallelPlan const& plan);
/// Whether Megatron-DeepSpeed splits sequences in such a plan: Ulysses goes without tensor parallelism and pipelines.
bool deepspeed_splits_sequences(ParallelPlan const& plan);
/// Whether torchtitan recomputes as many layers: every k-th one of a rank.
bool recomputes_every_kth_layer(ParallelPlan const& plan, ModelSpec const& model);
/// Whether torchtitan 0.2 divides experts over as many ranks: whole context-parallel groups, and whole tensor-parallel
/// ones unless these cut each expert.
bool torchtitan_divides_experts(ParallelPlan const& plan);
/// Layers that MaxText has in a pipeline: its DeepSeek block has the first dense layers before it
/// (first_num_dense_layers).
std::int64_t maxtext_pipelined_layers(ModelSpec const& model);
/// Whether the script for FSDP2 has a rule for every module of a layer, and its heads can be split over tp ranks.
bool fsdp2_splits_layers(ModelSpec const& model, std::int64_t tp);

/// Whether it can make logits and loss in parts (`--loss-chunks`), and in one kernel that keeps fewer bytes of each
/// logit
/// (`--fused-cross-entropy`); where the training script does, it may.
bool cuts_loss(Launcher launcher);
bool fuses_loss(Launcher launcher);
/// Parts of the loss that advice offers. Source: the default of torchtune and of torchtitan 0.3.
inline constexpr std::int64_t usual_loss_chunks = 8;

/// Axes of which a question names values: what is named is searched whether the framework runs it or not.
struct NamedAxes {
    bool tp = false, pp = false, cp = false, ep = false, expert_tp = false, vpp = false, zero = false;
    bool sequence_parallel = false, recompute_layers = false, offload = false;
};

/// What a search leaves out by itself because the framework does not run it, or has no words for it in its files: the
/// rules that exporters keep to (`Translation`), as far as they tell plans of a search apart.
///
/// Source: that of the exporters, and for nanotron its configuration (`zero_stage`: 0 or 1).
class FrameworkRules {
public:
    FrameworkRules() = default;
    FrameworkRules(Launcher launcher, NamedAxes named) : launcher_(launcher), named_(named) {}

    /// Tensor parallelism inside an expert where nobody names it.
    [[nodiscard]] std::int64_t expert_tp(ParallelPlan const& plan) const;
    /// Whether it runs the degrees, the schedule and the micro-batch.
    [[nodiscard]] bool lays_out(ParallelPlan const& plan, ModelSpec const& model, std::int64_t microbatches) const;
    /// Whether it runs so many layers again. @pre the layout has its layers.
    [[nodiscard]] bool recomputes(ParallelPlan const& plan, ModelSpec const& model) const;
    [[nodiscard]] bool shards(ParallelPlan const& plan, ModelSpec const& model) const;
    [[nodiscard]] bool offloads(ParallelPlan const& plan, ModelSpec const& model) const;

private:
    Launcher launcher_ = Launcher::any;
    NamedAxes named_;
};

}  // namespace sextant

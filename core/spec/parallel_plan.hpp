#pragma once

#include "core/spec/activation_groups.hpp"
#include "core/spec/low_rank_adapters.hpp"
#include "core/spec/precision.hpp"
#include "core/spec/recompute_modules.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// How microbatches go through a pipeline (docs/schedules.md). What each asks of the layout: `traits_of`.
enum class Schedule : std::uint8_t {
    gpipe,
    one_f_one_b,
    interleaved,
    overlapped,
    breadth_first,
    zb_h1,
    zb_h2,
    zb_v,
    dualpipe,
    dualpipe_v,
};
enum class Recompute : std::uint8_t { none, selective, full };
/// What lies in host memory. `parameters`: shards of the weights, which come to the device for each pass, their
/// gradients and the optimizer's state (DeepSpeed's `offload_param` with `offload_optimizer`, FSDP's CPU offload).
enum class Offload : std::uint8_t {
    none,
    optimizer,
    activations,
    optimizer_and_activations,
    parameters,
    parameters_and_activations,
};
/// What of the training state and of the activations lies in host memory. Parameters take the optimizer's state along.
constexpr bool offloads_parameters(Offload offload) {
    return offload == Offload::parameters || offload == Offload::parameters_and_activations;
}
constexpr bool offloads_optimizer(Offload offload) {
    return offload == Offload::optimizer || offload == Offload::optimizer_and_activations ||
           offloads_parameters(offload);
}
constexpr bool offloads_activations(Offload offload) {
    return offload == Offload::activations || offload == Offload::optimizer_and_activations ||
           offload == Offload::parameters_and_activations;
}
/// The same with activations in host memory, or without what is named.
constexpr Offload with_activations(Offload offload) {
    if (offloads_parameters(offload)) return Offload::parameters_and_activations;
    return offloads_optimizer(offload) ? Offload::optimizer_and_activations : Offload::activations;
}
constexpr Offload without_activations(Offload offload) {
    if (offloads_parameters(offload)) return Offload::parameters;
    return offloads_optimizer(offload) ? Offload::optimizer : Offload::none;
}
constexpr Offload without_parameters(Offload offload) {
    if (!offloads_parameters(offload)) return offload;
    return offloads_activations(offload) ? Offload::optimizer_and_activations : Offload::optimizer;
}
constexpr Offload without_optimizer(Offload offload) {
    return offloads_activations(offload) ? Offload::activations : Offload::none;
}
/// How context parallelism moves keys and values.
enum class ContextParallel : std::uint8_t { ring, all_gather, ulysses };
/// `adamw_bf16` and `adamw_8bit` keep fp32 weights and narrow the moments. `adamw_pure_bf16` has weights, gradients and
/// both moments in bf16 and no fp32 copy: torch.optim.AdamW on a model in bf16, as torchtune's `dtype=bf16` runs it.
/// `sgd` and `lion` (arXiv:2302.06675) keep one moment; `adafactor` (arXiv:1804.04235) the second alone, as a row and a
/// column of each matrix, transformers' default.
enum class Optimizer : std::uint8_t {
    adamw,
    adamw_bf16,
    adamw_8bit,
    adamw_pure_bf16,
    sgd,
    muon,
    lion,
    lion_8bit,
    adafactor
};
/// One fused kernel; or scores in memory, and their softmax in a kernel of its own with the mask (Megatron's) or in
/// fp32 by kernels for each operation (PyTorch's, `attn_implementation="eager"`).
enum class AttentionKernel : std::uint8_t { flash, unfused, eager };
/// How mixture-of-experts layers send tokens: once per chosen expert (NCCL all-to-all), or once per domain that holds a
/// chosen expert and on from there (DeepEP, HybridEP).
enum class Dispatcher : std::uint8_t { all_to_all, deduplicated };
/// What gradients are added up and sent in: as the framework does by itself (often fp32), or in bf16
/// (Megatron-Core's `--grad-reduce-in-bf16`, NeMo's `grad_reduce_in_fp32=False`).
enum class GradientFormat : std::uint8_t { usual, bf16 };
enum class Switch : std::uint8_t { off, on };

std::string_view name_of(Schedule schedule);
std::string_view name_of(Recompute recompute);
std::string_view name_of(Offload offload);
std::string_view name_of(ContextParallel mode);
std::string_view name_of(Optimizer optimizer);
std::string_view name_of(AttentionKernel kernel);
std::string_view name_of(Dispatcher dispatcher);
std::string_view name_of(GradientFormat format);
/// @throws InputError with the known names and the nearest one.
Schedule schedule_from(std::string_view name, std::string_view where);
Recompute recompute_from(std::string_view name, std::string_view where);
Offload offload_from(std::string_view name, std::string_view where);
ContextParallel context_parallel_from(std::string_view name, std::string_view where);
Optimizer optimizer_from(std::string_view name, std::string_view where);
Dispatcher dispatcher_from(std::string_view name, std::string_view where);
AttentionKernel attention_kernel_from(std::string_view name, std::string_view where);
GradientFormat gradient_format_from(std::string_view name, std::string_view where);

/// How one model is split over accelerators, and how its step is run.
///
/// World size = dp * tp * pp * cp; expert parallelism lies inside dp * cp * tp. Ranks are placed tp fastest, then cp,
/// dp, pp (so tensor-parallel groups are neighbours): Megatron-LM's order.
struct ParallelPlan {
    std::int64_t dp = 1;
    std::int64_t tp = 1;
    std::int64_t pp = 1;
    std::int64_t cp = 1;
    std::int64_t ep = 1;
    std::int64_t expert_tp = 1;    ///< tensor parallelism inside an expert
    double expert_imbalance = 1;   ///< tokens of the busiest expert rank over the mean; see `busiest_share`
    std::int64_t vpp = 1;          ///< model chunks per pipeline stage
    std::int64_t micro_batch = 1;  ///< sequences
    Schedule schedule = Schedule::one_f_one_b;
    int zero = 0;                  ///< 0: replicas, 1: optimizer state, 2: + gradients, 3: + weights (FSDP)
    std::int64_t shard_group = 0;  ///< ranks that a ZeRO state is split over (HSDP), 0: all of dp * cp
    Recompute recompute = Recompute::none;
    std::int64_t recompute_layers = 0;                    ///< with `full`: layers per stage that are recomputed, 0: all
    RecomputeModules recompute_modules = attention_core;  ///< what `selective` runs again
    ActivationGroups kept_activations{};                  ///< what `full` keeps all the same, and does not run again
    Switch sequence_parallel = Switch::off;
    ContextParallel cp_mode = ContextParallel::ring;
    Dispatcher dispatcher = Dispatcher::all_to_all;
    Offload offload = Offload::none;
    ActivationGroups offloaded_activations = all_activations;  ///< which of them, where activations are offloaded
    std::int64_t offload_layers = 0;  ///< layers of the model, spread evenly, whose activations are; 0: all
    AttentionKernel attention = AttentionKernel::flash;
    Optimizer optimizer = Optimizer::adamw;
    Precision precision = Precision::bf16;
    GradientFormat gradients = GradientFormat::usual;
    Switch fp8_activation_input = Switch::off;  ///< what a gated feed-forward's activation reads is kept in fp8
    /// Products in fp8 or fp4 read copies that are kept beside 16-bit weights: Transformer Engine's without
    /// `--fp8-param-gather`. Otherwise weights are in the format alone.
    Switch narrow_copies = Switch::off;
    Switch dropout = Switch::off;
    Switch fused_cross_entropy = Switch::off;
    std::int64_t loss_chunks = 1;  ///< parts of a microbatch whose logits, loss and gradients are made one by one
    std::vector<std::int64_t>
        stage_layers{};                 ///< layers of each chunk in model order (pp * vpp entries), empty: balanced
    LowRankAdapters adapters{};         ///< none: every weight is trained
    std::int64_t vocab_multiple = 128;  ///< of the rows that each tensor-parallel rank holds of the vocabulary

    [[nodiscard]] std::int64_t world_size() const { return dp * tp * pp * cp; }
    [[nodiscard]] std::int64_t expert_dp() const { return dp * cp * tp / (ep * expert_tp); }
};

/// What gradients are held, added up and sent in: in bf16 where all that the optimizer works on is.
constexpr GradientFormat gradient_format(ParallelPlan const& plan) {
    return plan.optimizer == Optimizer::adamw_pure_bf16 ? GradientFormat::bf16 : plan.gradients;
}

constexpr bool offloads_parameters(ParallelPlan const& plan) { return offloads_parameters(plan.offload); }
constexpr bool offloads_optimizer(ParallelPlan const& plan) { return offloads_optimizer(plan.offload); }
constexpr bool offloads_activations(ParallelPlan const& plan) { return offloads_activations(plan.offload); }

/// Whether full recompute is told to keep something, and offloading to take some tensors alone, or some of the layers.
constexpr bool keeps_activations(ParallelPlan const& plan) {
    return plan.recompute == Recompute::full && !plan.kept_activations.empty();
}
constexpr bool offloads_some_activations(ParallelPlan const& plan) {
    return offloads_activations(plan) && plan.offloaded_activations != all_activations;
}
constexpr bool offloads_some_layers(ParallelPlan const& plan) {
    return offloads_activations(plan) && plan.offload_layers > 0;
}
/// What the same settings say of where activations would be offloaded: a search prices both ways by one pipeline.
/// Whether in part, and of how many of the model's layers.
constexpr bool would_offload_in_part(ParallelPlan const& plan) {
    return plan.offloaded_activations != all_activations || plan.offload_layers > 0;
}
constexpr double offloaded_share(ParallelPlan const& plan, std::int64_t layers) {
    return plan.offload_layers > 0 ? static_cast<double>(plan.offload_layers) / static_cast<double>(layers) : 1;
}

/// Training on pairs of answers to a prompt, one chosen and one rejected, that go through the model together, for the
/// log-probabilities of their tokens. `reference_free`: of the model alone (SimPO, ORPO; DPO whose reference's were
/// stored before). `dpo`: of a frozen reference as well, which every step asks (arXiv:2305.18290).
enum class Preference : std::uint8_t { none, reference_free, dpo };
std::string_view name_of(Preference preference);
/// @throws InputError with the known names and the nearest one.
Preference preference_from(std::string_view name, std::string_view where);

/// One training sequence: its tokens, and how far they attend. Documents that are packed into a sequence attend to
/// nothing outside themselves; a sequence of one document is a number of tokens.
struct SequenceShape {
    constexpr SequenceShape(std::int64_t all_tokens, std::int64_t document_tokens = 0)
        : tokens(all_tokens), document(document_tokens) {}
    std::int64_t tokens;
    std::int64_t document;  ///< tokens of each packed document, 0: one document

    /// Documents in the sequence, the last one shorter: at least one.
    [[nodiscard]] constexpr std::int64_t documents() const {
        return document > 0 && document < tokens ? (tokens + document - 1) / document : 1;
    }
    /// Tokens that attend to one another: those of a document of the mean length.
    [[nodiscard]] constexpr std::int64_t attended() const { return (tokens + documents() - 1) / documents(); }
};

/// What one optimizer step has to process.
struct Workload {
    std::int64_t sequence = 0;      ///< tokens per sequence
    std::int64_t global_batch = 0;  ///< sequences per step
    std::int64_t document = 0;      ///< tokens per document where documents are packed into sequences, 0: one fills it
    Preference preference = Preference::none;  ///< a sequence is then a pair of documents
    /// Of `answer_tokens` each. A pair is one microbatch's, whole.
    static Workload pairs(Preference preference, std::int64_t answer_tokens, std::int64_t global_batch) {
        return {.sequence = 2 * answer_tokens,
                .global_batch = global_batch,
                .document = answer_tokens,
                .preference = preference};
    }
    /// Whether a frozen reference goes over every sequence before the model that is trained does.
    [[nodiscard]] bool has_reference() const { return preference == Preference::dpo; }
    /// Of what is a sequence to the model.
    [[nodiscard]] std::int64_t positions() const { return preference == Preference::none ? sequence : document; }
    [[nodiscard]] std::int64_t tokens() const { return sequence * global_batch; }
    [[nodiscard]] SequenceShape shape() const { return {sequence, document}; }
};

}  // namespace sextant

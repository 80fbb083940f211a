#pragma once

#include "core/ops/op.hpp"
#include "core/ops/work.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

struct FrameworkMemory;

/// What a framework that keeps the inputs of narrow products (fp8, fp4) as narrow as they are makes of a tensor:
/// nothing, a narrow tensor in its place, or a narrow copy beside it (an op that is no product needs it in 16 bit).
enum class NarrowInput : std::uint8_t { no, instead, beside };

/// A copy that some frameworks keep beside the tensors of the graph, in bytes an element of their own: of a gate beside
/// its product, where the two are not one kernel; of routed tokens, as experts leave them and they are combined; around
/// a norm, where it runs op by op, in fp32 or between casts; of keys and values, repeated for the query heads that
/// share them; of a norm's output, gathered over the tensor-parallel ranks and not gathered again in the backward pass;
/// of experts' activation, where the router's scores weight that and not their outputs.
enum class KeptCopy : std::uint8_t { none, gate, routed, norm, repeated, gathered, unweighted };

/// Bytes an element of what frameworks keep otherwise than the graph says (`FrameworkMemory`).
struct KeptFormats {
    double narrow_input = 2;  ///< of the input of a product in fp8; of one in fp4 `SavedTensor::narrow_width` of it
    double gate_copy = 0;
    double routed_copy = 2;  ///< 0: experts' activation is weighted, and not their outputs
    double norm_copy = 0;
    double repeated_copy = 0;
    double gathered_copy = 0;
    bool worst_case = false;  ///< buffers of routed tokens hold what one rank could get at most
    bool planned = false;     ///< a compiler has a layer that runs again free what is around its norms as it goes
    [[nodiscard]] double of(KeptCopy copy) const;
    /// Of a layer that is run again, until its backward is over.
    [[nodiscard]] KeptFormats of_layer_run_again() const;
};
KeptFormats kept_formats(FrameworkMemory const& framework);

/// A tensor that the forward pass keeps for the backward pass, on one rank, of one microbatch.
struct SavedTensor {
    std::string_view name;
    std::string_view formula;  ///< bytes in terms of T (tokens of the rank), h, f, a, d, s, b, t
    Bytes bytes;               ///< of a copy: one an element
    /// The weakest recompute policy under which the tensor is not kept. A layer's input is kept under every policy: it
    /// is not in this list but in `Block::input`.
    Rerun dropped_by = Rerun::full;
    NarrowInput narrow = NarrowInput::no;
    double narrow_width = 1;  ///< of a narrow tensor, in bytes of fp8
    KeptCopy copy = KeptCopy::none;
    double worst_case = 1;        ///< of routed tokens: what one rank could get at most, over its even share
    Switch scores = Switch::off;  ///< of attention, or their statistics: no weight's gradient needs them
    ActivationGroup group = ActivationGroup::other;
    /// An element of it, where it is narrow.
    [[nodiscard]] double narrow_bytes(KeptFormats const& formats) const;
    [[nodiscard]] Bytes kept(KeptFormats const& formats) const;
};

/// Parameters that one rank holds of something, by how ZeRO may shard them.
struct LocalParameters {
    double dense = 0;      ///< sharded over dp * cp
    double expert = 0;     ///< sharded over the expert data-parallel group
    double embedding = 0;  ///< the part of `dense` that is token embedding or output matrix
    /// FLOPs that make the updates of all matrices but those orthogonal once (Muon), and of the largest one.
    double dense_orthogonal = 0;
    double expert_orthogonal = 0;
    double largest_orthogonal = 0;
    LocalParameters& operator+=(LocalParameters const& other);
    friend LocalParameters operator*(double factor, LocalParameters const& p);
    [[nodiscard]] double total() const { return dense + expert; }
};

/// Weights that one rank holds and does not train: no gradient, no optimizer state. None unless adapters are trained.
struct FrozenWeights {
    LocalParameters plain;      ///< in 16 bit: norms, router, embeddings, output matrix; matrices too without a format
    LocalParameters packed;     ///< matrices in the format of the base weights
    double largest_packed = 0;  ///< of one matrix
    FrozenWeights& operator+=(FrozenWeights const& other);
    friend FrozenWeights operator*(double factor, FrozenWeights const& weights);
    [[nodiscard]] double total() const { return plain.total() + packed.total(); }
};

/// What rounds the weights of a product in a narrow format, which some frameworks run once a step
/// (`FrameworkTiming::casts_weights`).
inline constexpr std::string_view weight_cast = "cast weights";
/// What copies the tokens of each expert to a multiple, and what it leaves back, as some frameworks do for products in
/// narrow formats (`FrameworkTiming::pads_experts`).
inline constexpr std::string_view expert_padding = "pad experts";

/// One piece of the model as one rank executes it for one microbatch: a decoder layer, the embedding end, the head
/// end. Shapes exist here and nowhere after.
struct Block {
    std::string name;
    std::vector<Op> ops;
    Bytes input;      ///< of the block, kept under every recompute policy
    Bytes workspace;  ///< beside what is kept, while its backward pass runs
    std::vector<SavedTensor> saved;
    LocalParameters parameters;  ///< that are trained
    FrozenWeights frozen;
    double offloaded_share = 1;  ///< of the model's layers whose activations are offloaded, where some are: the mean

    /// Work of one pass over all ops, communication among them.
    [[nodiscard]] Work work(Pass pass) const;
    /// Extra forward work under a recompute policy.
    [[nodiscard]] Work rerun_work(Recompute recompute, Rerun last = Rerun::to_the_end) const;
    /// Bytes kept for the backward pass under a recompute policy, of these groups; the input is one of them.
    [[nodiscard]] Bytes kept(Recompute recompute, KeptFormats const& formats = {},
                             ActivationGroups groups = all_activations) const;
    /// Of these, what lies in host memory where activations of these groups are offloaded.
    [[nodiscard]] Bytes offloaded(Recompute recompute, KeptFormats const& formats, ActivationGroups groups) const {
        return offloaded_share * kept(recompute, formats, groups);
    }
    /// What a recompute policy drops and a split backward has again from its input half to its weight half, which needs
    /// input and output gradient of every product.
    [[nodiscard]] Bytes waiting(Recompute recompute, KeptFormats const& formats = {}) const;
};

/// True if this recompute policy runs `rerun` ops again.
bool runs_again(Recompute policy, Rerun rerun);

/// What of a plan's recompute is for multi-token-prediction modules: all but the first layers of a stage, which are
/// counted without them. Source: Megatron-Core, `multi_token_prediction.py`.
Recompute recompute_of_mtp(ParallelPlan const& plan);

/// What of a plan's recompute the layers themselves know. `by_op`: products are counted one by one to say what runs
/// again, torchtitan's policy; those of queries, keys and values are three and those of gate and up two, otherwise each
/// is one. `keeping`: full recompute, but for what it is told to keep.
enum class LayerForm : std::uint8_t { usual, by_op, keeping };
inline constexpr std::size_t layer_forms = 3;
LayerForm layer_form(ParallelPlan const& plan);

/// One decoder layer. Depends on tp, cp, ep, expert_tp, expert_imbalance, micro_batch, sequence_parallel, cp_mode,
/// attention, precision, dropout, fp8_activation_input, recompute_modules, kept_activations and adapters of the plan,
/// on `layer_form`, and on the shape of a sequence; nothing else.
Block build_layer(ModelSpec const& model, LayerKind kind, ParallelPlan const& plan, SequenceShape const& sequence);
/// Token and position embedding (first stage).
Block build_embedding(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence);
/// Final norm, and what the model's head has: output matrix and loss (last stage). A tied output matrix is not among
/// its parameters.
Block build_head(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence);
/// Multi-token-prediction modules with their share of the head (last stage), which no policy runs again. Empty ops if
/// the model has none.
Block build_mtp(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence);

/// Attention over chosen keys of sequences longer than what is chosen: all heads of a rank over one latent.
/// @pre `attention.index`
Attention sparse_attention(AttentionSpec const& attention, std::int64_t batch, std::int64_t heads, std::int64_t tokens);
/// The scores that choose them, on every rank: products of queries and keys without values.
Attention index_scores(KeyIndex const& index, std::int64_t batch, std::int64_t tokens);

/// Tokens that the busiest rank of an expert group receives over the mean: the plan's `expert_imbalance`, but no more
/// than `worst_share`. Products, copies and activations of its experts, and the exchange that it ends, are so much
/// longer, and all ranks wait for it; FLOPs are those of the mean.
double busiest_share(MoeSpec const& moe, ParallelPlan const& plan);
/// The same where every rank of the group sends one rank all that its experts may get.
double worst_share(MoeSpec const& moe, std::int64_t ep);

/// Every distinct block of a model under one plan shape.
struct BlockSet {
    std::vector<LayerKind> kinds;
    std::vector<Block> layers;  ///< one per kind
    Block embedding;
    Block head;
    Block mtp;
    std::vector<LayerKind> mtp_layers;  ///< the layers in `mtp`, one per module
    /// Embedding that a last stage without it holds as well, with optimizer state unless it is frozen: as the output
    /// matrix, where that is tied, and to look up what prediction modules predict from. Source: Megatron-Core,
    /// gpt_model.py (`pre_process or mtp_process`).
    LocalParameters embedding_copy;
};
BlockSet build_blocks(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence);

/// Vocabulary rows after padding to the plan's multiple per tensor-parallel rank, as Megatron-LM pads.
std::int64_t padded_vocabulary(std::int64_t vocab, ParallelPlan const& plan);

}  // namespace sextant

#pragma once

#include "core/graph/block.hpp"
#include "core/spec/parameters.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace sextant {

/// Along which side tensor parallelism splits a matrix.
enum class Split : std::uint8_t { none, output, input };
/// Whether a weight is one of the matrices that the base weights' format is for.
enum class Storage : std::uint8_t { base, plain };

/// Width of the token embedding and of the output matrix: that of the model, or narrower (OPT-350M).
inline std::int64_t table_width(ModelSpec const& model) {
    return model.embedding_width > 0 ? model.embedding_width : model.hidden;
}

/// Sizes that the block builders share, and short ways to append ops and tensors.
class BlockBuilder {
public:
    BlockBuilder(std::string name, ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& shape);

    ModelSpec const& model;
    ParallelPlan const& plan;
    std::int64_t documents;  ///< of one microbatch that attend apart: micro_batch sequences of so many each
    std::int64_t document;   ///< tokens that attend to one another, on all ranks of the context-parallel group
    std::int64_t tokens;     ///< T: tokens of one microbatch on one rank, micro_batch * sequence / cp
    double norm_tokens;      ///< tokens in the regions that sequence parallelism splits: T / tp with it, T without
    double hidden;

    /// A linear layer [T, k] x [k, n] in the plan's precision; `split`: the side that tensor parallelism splits, or
    /// `none` where every rank has all of it.
    void gemm(std::string_view name, Split split, std::int64_t n, std::int64_t k);
    void gemm_on(std::int64_t rows, std::string_view name, std::int64_t n, std::int64_t k, Precision precision,
                 Storage storage = Storage::base);
    /// A memory-bound kernel that touches `forward` bytes; its backward touches `backward_ratio` times as many.
    void streaming(std::string_view name, double forward_bytes, double backward_ratio, std::int64_t kernels = 1);
    /// The same pass by pass: what no framework takes more passes for.
    void counted_streaming(std::string_view name, double forward_bytes, double backward_bytes, std::int64_t kernels);
    void collective(std::string_view name, CollectiveKind kind, GroupKind group, double bytes, Passes passes,
                    Hiding hiding = Hiding::exposed);
    /// Entry of a tensor-parallel region: all-gather of the sequence (with sequence parallelism); backward mirrors it.
    /// `readers`: what stands for the linear layers at its entry. `precision`: of these; what is gathered for products
    /// in narrow formats is rounded before, unless an adapter reads it as well. `width`: values a token, 0: `hidden`.
    void enter_tensor_region(std::string_view name, std::initializer_list<AdapterTarget> readers, Precision precision,
                             std::int64_t width = 0);
    /// Exit: reduce-scatter or all-reduce of the partial sums. The gradient of what a product in a narrow format leaves
    /// there is rounded before the ranks gather it.
    void leave_tensor_region(std::string_view name, Precision precision);
    /// Attention and feed-forward have one region: one exit, which is the feed-forward's, and where they read the
    /// output of the same norm also one entry, which is attention's.
    [[nodiscard]] bool joint_exit() const { return model.joint_sum; }
    [[nodiscard]] bool joint_entry() const { return model.joint_sum && model.norms_per_layer == 1; }
    void norm(std::string_view name);
    /// Dropout (if any) and residual addition on the norm region, with the dropout mask it keeps.
    void residual(std::string_view name);
    void keep(std::string_view name, std::string_view formula, double bytes);
    /// A tensor that products of the plan's precision read. `narrow`: what becomes of it where these are narrow.
    void keep_input(std::string_view name, std::string_view formula, double bytes,
                    NarrowInput narrow = NarrowInput::instead);
    void keep_copy(KeptCopy copy, std::string_view name, std::string_view formula, double elements);
    void hold(std::vector<Parameter> const& parameters);
    /// Calls `append`. Where the plan's selective recompute names the module, ops that were appended run again and what
    /// they keep is dropped.
    template <class Append>
    void module(RecomputeModule name, Append append) {
        if (plan.recompute_modules.has(name))
            mark(Rerun::selective, append);
        else
            append();
    }

    /// Calls `append`. What it appended makes the tensors of a group, or is one of them; what was named inside stays.
    template <class Append>
    void group(ActivationGroup name, Append append) {
        std::size_t const ops = block.ops.size();
        std::size_t const saved = block.saved.size();
        append();
        for (std::size_t i = ops; i < block.ops.size(); ++i)
            if (block.ops[i].makes == ActivationGroup::other) block.ops[i].makes = name;
        for (std::size_t i = saved; i < block.saved.size(); ++i)
            if (block.saved[i].group == ActivationGroup::other) block.saved[i].group = name;
    }

    /// Both of these.
    template <class Append>
    void module_group(RecomputeModule policy, ActivationGroup name, Append append) {
        module(policy, [&] { group(name, append); });
    }

    /// Calls `append`. No policy runs its ops again or drops what they keep.
    template <class Append>
    void outside_layers(Append append) {
        mark(Rerun::never, append);
    }

    /// Whether the backward pass needs the input of these layers: for their weights, or for an adapter on one of them.
    [[nodiscard]] bool needs_input(std::initializer_list<AdapterTarget> readers) const;
    /// What a frozen weight leaves of the backward pass.
    [[nodiscard]] Gradients weight_gradients() const;
    /// Reads a frozen matrix of so many elements in its storage format and writes it in 16 bit, if it is not used as it
    /// is.
    void dequantise(double elements);
    /// Rounds so many weights in 16 bits to the format of a product that reads them: in the forward pass, and along the
    /// other side in the backward pass. Source: torchao, `Float8Linear`, which keeps neither.
    void cast_weights(double elements, Precision precision);
    /// One side of a product, in values: those that a rank rounds, and those that it multiplies, more where ranks
    /// gather what each of them rounded.
    struct Rounded {
        double own = 0;
        double all = 0;
    };
    /// What narrow formats make of a product's input in the forward pass and of its output's gradient in the backward
    /// pass: 2 bytes read of a value, and what it is rounded to written, along rows and, for the gradient of a weight,
    /// along columns. With a scale for each tensor the latter are transposed copies of bytes, made of what was
    /// gathered, the input's in the backward pass. Source: Transformer Engine, `grad_output_preprocess` of
    /// `module/base.py`, `_all_gather_fp8` of `distributed.py`.
    void quantise(Rounded input, Rounded gradient, Precision precision);
    /// Adapters on a linear layer [rows, k] x [k, n] if one of `targets` is asked for; see adapter_ops.cpp.
    void adapters(std::initializer_list<AdapterTarget> targets, std::int64_t rows, std::int64_t n, std::int64_t k,
                  Split split);
    /// Leaves no gradient: drops the backward pass and what is kept for it.
    void end_gradient();

    Block block;

private:
    /// Frozen weights that products read as they are stored.
    [[nodiscard]] bool stored_as_read(Precision precision) const;
    void product(std::int64_t rows, std::string_view name, std::int64_t n, std::int64_t k, Precision precision,
                 Storage storage);
    /// Bytes a value that tensor-parallel ranks gather for a product, rounded along `sides` of rows and columns.
    [[nodiscard]] double gathered_bytes(Precision precision, double sides) const;

    double column_tokens_;  ///< that a rank rounds of what enters the tensor-parallel region

    /// Calls `append`, and says of the ops that it appended, and of what they keep, by which policy they run again.
    template <class Append>
    void mark(Rerun rerun, Append append) {
        std::size_t const ops = block.ops.size();
        std::size_t const saved = block.saved.size();
        append();
        for (std::size_t i = ops; i < block.ops.size(); ++i)
            block.ops[i].rerun = rerun;
        for (std::size_t i = saved; i < block.saved.size(); ++i)
            block.saved[i].dropped_by = rerun;
    }
};

/// A block of a plan whose products are of this format, made with values of two bytes between them: with four in fp32
/// and tf32.
Block with_wide_values(Block block, Precision precision);
/// One decoder layer with values of two bytes, whatever the format of its products.
Block layer_in_16_bits(ModelSpec const& model, LayerKind kind, ParallelPlan const& plan, SequenceShape const& sequence);

/// Sums what one rank holds of a list of weights under the plan's tp, ep and expert_tp.
LocalParameters local_parameters(std::vector<Parameter> const& parameters, ParallelPlan const& plan);

/// The targets that read what enters attention, and a dense feed-forward.
inline constexpr std::initializer_list<AdapterTarget> attention_readers{AdapterTarget::q, AdapterTarget::k,
                                                                        AdapterTarget::v, AdapterTarget::qkv};
inline constexpr std::initializer_list<AdapterTarget> mlp_readers{AdapterTarget::gate, AdapterTarget::up,
                                                                  AdapterTarget::gate_up};
inline constexpr std::initializer_list<AdapterTarget> joint_readers{
    AdapterTarget::q,    AdapterTarget::k,  AdapterTarget::v,      AdapterTarget::qkv,
    AdapterTarget::gate, AdapterTarget::up, AdapterTarget::gate_up};

/// Names of ops that `build_layer` looks for.
inline constexpr std::string_view quantised_input = "quantise";
inline constexpr std::string_view last_product = "mlp down";  ///< of a dense feed-forward
inline constexpr std::string_view router_product = "router";
inline constexpr std::string_view dispatched_tokens = "dispatch";
inline constexpr std::string_view combined_tokens = "combine";
/// Of tokens that each rank sent in the order of its experts, by those of the rank that has them.
inline constexpr std::string_view sorted_tokens = "sort by expert";
/// Of experts with biases.
inline constexpr std::string_view clamped_experts = "expert clamp";
inline constexpr std::string_view weighted_expert_bias = "expert bias";
/// What frameworks do pass by pass around experts' products.
inline constexpr std::array around_experts{sorted_tokens, expert_padding, clamped_experts, weighted_expert_bias};
/// Names of tensors that it looks for.
inline constexpr std::string_view softmax_statistics = "softmax statistics";
inline constexpr std::string_view attention_output = "attention output";

/// Mixing half of a layer (without its norm), and the feed-forward halves.
void append_attention(BlockBuilder& builder, LayerKind kind);
void append_recurrence(BlockBuilder& builder, RecurrentSpec const& recurrent);
void append_mlp(BlockBuilder& builder, std::int64_t intermediate);
void append_moe(BlockBuilder& builder, MoeSpec const& moe);

/// Bytes between scores and the keys chosen by them; serving prices it with attention.
inline constexpr std::string_view index_choice = "index choice";

/// ceil(a / b) for positive integers.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace sextant

#pragma once

#include "core/spec/activation_groups.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/spec/precision.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace sextant {

/// Which products the backward pass of a matrix product consists of: those of its input and of its weight. A frozen
/// weight has no gradient.
enum class Gradients : std::uint8_t { both, input };

/// Dense matrix product [m, k] x [k, n] -> [m, n]. In the backward pass it costs one more for each gradient.
struct Gemm {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    Precision precision = Precision::bf16;
    Gradients gradients = Gradients::both;
};

/// `groups` matrix products that share n and k: [m_i, k] x [k, n], sum of m_i = m (experts).
struct GroupedGemm {
    std::int64_t groups = 0;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    Precision precision = Precision::bf16;
    Gradients gradients = Gradients::both;
    double busiest = 1;  ///< rows of the rank that has most of them over m, the mean of all: its time counts

    /// Of the busiest rank.
    [[nodiscard]] std::int64_t busiest_rows() const;
};

/// Scaled dot-product attention of `batch` sequences on one rank: queries [batch, heads, queries, head_dim], keys
/// [batch, kv_heads, keys, head_dim], values [batch, kv_heads, keys, value_head_dim].
struct Attention {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t queries = 0;  ///< tokens of this rank (sequence / cp)
    std::int64_t keys = 0;     ///< tokens attended to (the whole sequence)
    std::int64_t past = 0;     ///< of these, before the first query: what a chunk of a prompt finds in the cache
    std::int64_t window = 0;   ///< sliding window in tokens, 0: none
    std::int64_t pieces = 1;   ///< calls over equal parts of the keys (steps of ring attention)
    std::int64_t head_dim = 0;
    std::int64_t value_head_dim = 0;
    Precision precision = Precision::bf16;  ///< of its values: four bytes in fp32 and tf32, two in all others
    AttentionKernel kernel = AttentionKernel::flash;
    Switch dropout = Switch::off;
    Switch causal = Switch::on;  ///< over the whole sequence; off: every query sees every key
};

/// The recurrence of `heads` states [key_dim, value_dim] over `tokens` tokens of each of `batch` sequences on one rank,
/// in chunks: products within a chunk and a state passed from each to the next.
struct Recurrence {
    std::int64_t batch = 0;
    std::int64_t tokens = 0;
    std::int64_t heads = 0;
    std::int64_t key_heads = 0;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    std::int64_t chunk = 0;
    StateRule rule = StateRule::delta;
};

/// One decode step of attention: a query per sequence reads the keys and values before it.
struct DecodeAttention {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t keys = 0;  ///< per sequence, in the cache
    std::int64_t head_dim = 0;
    double cache_bytes = 2;  ///< per element of the cache
};

/// A kernel bound by memory: so many bytes read and written, forward and backward.
struct Streaming {
    Bytes forward;
    Bytes backward;
    std::int64_t kernels = 1;  ///< launches when nothing is fused (backward: the same number)
    bool counted = false;      ///< pass by pass: no framework takes more (`FrameworkTiming::activation_passes`)
    double weights = 0;        ///< whose gradients the backward pass writes, apart from those before
};

enum class CollectiveKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    send_receive
};
enum class GroupKind : std::uint8_t { tensor, context, expert, expert_tensor, data, expert_data, pipeline };

/// Communication of one rank group. `bytes` follows nccl-tests' size: the whole buffer of an all-reduce, the gathered
/// output of an all-gather, the input of a reduce-scatter, what one rank sends in an all-to-all.
struct Collective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupKind group = GroupKind::tensor;
    Bytes bytes;
    /// All-to-all of tokens that go to this many experts each and cross to another domain only once for all of them
    /// there; 1: no such saving.
    std::int64_t copies = 1;
    /// Those experts are in this many of the groups, in equal parts, that all experts are in; 1 and 1: anywhere.
    std::int64_t expert_groups = 1;
    std::int64_t chosen_groups = 1;
    /// Equal messages that `bytes` are sent in, one after the other: the steps of ring attention.
    std::int64_t messages = 1;
};

std::string_view name_of(CollectiveKind kind);
std::string_view name_of(GroupKind group);

enum class Pass : std::uint8_t { forward, backward };
/// In which passes an op appears (most appear in both; a collective's backward is an op of its own).
enum class Passes : std::uint8_t { forward, backward, both };
/// The weakest recompute policy that runs the op again. `full` runs every forward op of a layer again, but for those
/// behind the last tensor that the backward pass needs (`to_the_end`) where the framework stops there. `never`: it is
/// of no layer.
enum class Rerun : std::uint8_t { selective, full, to_the_end, never };
/// Whether frameworks run a communication beside independent compute anyway.
enum class Hiding : std::uint8_t { exposed, hidden };

/// Recurrences count as attention, whose place they take.
enum class OpClass : std::uint8_t { gemm, attention, streaming, communication };

struct Op {
    std::string_view name;
    std::variant<Gemm, GroupedGemm, Attention, Recurrence, Streaming, Collective> what;
    Passes passes = Passes::both;
    Rerun rerun = Rerun::full;
    Hiding hiding = Hiding::exposed;
    ActivationGroup makes = ActivationGroup::other;  ///< whose tensors are made by it, and need nothing else to be made

    [[nodiscard]] OpClass op_class() const;
    [[nodiscard]] bool in(Pass pass) const {
        return passes == Passes::both || passes == (pass == Pass::forward ? Passes::forward : Passes::backward);
    }
};

}  // namespace sextant

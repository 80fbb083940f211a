#pragma once

#include "core/spec/model_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// How tensor and expert parallelism split a weight.
enum class Sharding : std::uint8_t {
    replicated,  ///< every tensor-parallel rank holds all of it (norms, row-parallel biases, router)
    tensor,      ///< split over the tp group (column- and row-parallel matrices)
    heads,       ///< split over min(tp, heads) ranks: key/value heads, or key heads, are replicated beyond that
    vocabulary,  ///< split over the tp group along the (padded) vocabulary
    expert,      ///< one copy per expert-parallel group, split by experts and expert tp
};

/// One weight tensor: `rows` x `columns` elements (`columns` 1 for vectors), `copies` times.
struct Parameter {
    std::string name;
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    std::int64_t copies = 1;
    Sharding sharding = Sharding::replicated;
    std::int64_t heads = 0;  ///< of `Sharding::heads`
    /// Ranks of a tensor-parallel group of `tp` that it is split over; experts are split otherwise, 1 here.
    [[nodiscard]] std::int64_t tensor_shards(std::int64_t tp) const;
    [[nodiscard]] std::int64_t count() const { return rows * columns * copies; }
};

/// The distinct layer kinds of a model, in order of first appearance.
std::vector<LayerKind> distinct_kinds(ModelSpec const& model);
/// Weights of one decoder layer of this kind.
std::vector<Parameter> layer_parameters(ModelSpec const& model, LayerKind kind);
/// Token embedding, learned positions, embedding norm: what the first pipeline stage holds besides layers.
std::vector<Parameter> embedding_parameters(ModelSpec const& model);
/// Final norm and output matrix (absent when tied; of labels on every tensor-parallel rank): what the last stage holds
/// besides layers.
std::vector<Parameter> head_parameters(ModelSpec const& model);
/// One multi-token-prediction module: norms, projection and its own decoder layer.
std::vector<Parameter> mtp_parameters(ModelSpec const& model);

/// Totals of a whole model, in parameters.
struct ParameterCounts {
    std::int64_t total = 0;              ///< without multi-token-prediction modules, as checkpoints are usually counted
    std::int64_t active = 0;             ///< used by one token: top_k of the routed experts, everything else
    std::int64_t embedding = 0;          ///< token and position tables; a tied table counts once, here
    std::int64_t head = 0;               ///< output matrix if it is not tied
    std::int64_t mtp = 0;                ///< all multi-token-prediction modules together
    std::int64_t without_embedding = 0;  ///< total - embedding - head
};
ParameterCounts count_parameters(ModelSpec const& model);

/// Sum of `count()`.
std::int64_t total_count(std::vector<Parameter> const& parameters);

/// Whether so many tensor-parallel ranks can have equal parts of the heads of attention and of recurrent layers.
bool divides_heads(ModelSpec const& model, std::int64_t tp);

/// Layers with this mixer.
std::int64_t count_mixers(ModelSpec const& model, Mixer mixer);

/// What recurrent layers keep of one sequence, whatever its length, over all of them: states in fp32 and the last
/// tokens that the convolution reaches back to in two bytes. 0 without such layers.
/// Source: mamba_ssm_cache_dtype of Nemotron-H and what vLLM keeps of Qwen3-Next.
double recurrent_state_bytes(ModelSpec const& model);

/// Bytes of key/value cache that one token adds in a layer on one rank of `tp`, at `bytes_per_value` each. GQA:
/// 2 kv_heads head_dim, split over the heads, which ranks share where they are more; MLA: kv_rank + rope_head_dim,
/// which every rank keeps whole; an index of keys adds its own bytes.
double cached_bytes(AttentionSpec const& a, double bytes_per_value, std::int64_t tp = 1);

/// The same over all layers of attention. Sliding windows cap the number of tokens, not this figure.
double kv_cache_bytes_per_token(ModelSpec const& model, double bytes_per_value, std::int64_t tp = 1);

}  // namespace sextant

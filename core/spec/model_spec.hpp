#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

enum class NormKind : std::uint8_t { rms, layer };
enum class PositionKind : std::uint8_t { rotary, learned, alibi, none };

/// Multi-head latent attention (DeepSeek-V2/V3): queries and keys/values pass through low-rank
/// projections, the cache holds the latent and one shared rotary key. Source: arXiv:2405.04434 sec. 2.1.
struct LatentAttention {
    std::int64_t query_rank = 0;  ///< 0: queries are projected directly
    std::int64_t kv_rank = 0;
    std::int64_t rope_head_dim = 0;
    std::int64_t nope_head_dim = 0;
};

/// Sparse attention over chosen keys (DeepSeek-V3.2, arXiv:2512.02556): an index of small heads, which every rank
/// has whole, scores all keys before a query, and attention goes over the best of them, in the space of the latent.
struct KeyIndex {
    std::int64_t heads = 0;
    std::int64_t head_dim = 0;  ///< of all index heads one key, kept in a byte a value and four of scale
    std::int64_t chosen = 0;    ///< keys that attention goes over; shorter sequences are attended to whole
    [[nodiscard]] std::int64_t cache_bytes() const { return head_dim + 4; }  ///< of a token and layer
};

struct AttentionSpec {
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;        ///< heads: MHA, 1: MQA, between: GQA
    std::int64_t head_dim = 0;        ///< query/key size (MLA: nope + rope)
    std::int64_t value_head_dim = 0;  ///< equal to head_dim but for MLA
    std::optional<LatentAttention> latent;
    std::optional<KeyIndex> index{};  ///< only of latent attention
    bool qkv_bias = false;
    bool output_bias = false;
    /// Learned scales of query/key norms: none, one vector per head_dim shared by all heads (Qwen3, Gemma 3), or
    /// one over all heads (OLMo 2), or one per head with its own values (Cohere).
    enum class QueryKeyNorm : std::uint8_t {
        none,
        shared_head,
        all_heads,
        per_head
    } query_key_norm = QueryKeyNorm::none;
    bool sinks = false;            ///< one learned logit per head (gpt-oss)
    bool keys_are_values = false;  ///< values are what is projected for the keys, before their norm (Gemma 4)
    bool gated = false;            ///< the output is multiplied by a sigmoid of a projection of its width (Qwen3-Next)
    std::int64_t window = 0;       ///< sliding window in tokens of the `sliding` layers, 0: none
};

/// How a recurrent layer updates its state: it decays and adds (Mamba-2, arXiv:2405.21060), or takes out what it held
/// under the key before (gated delta rule, arXiv:2412.06464).
enum class StateRule : std::uint8_t { decay, delta };

/// Mixers that carry a state of fixed size from token to token in place of the keys and values of all tokens. Mamba-2's
/// C, B and x are queries, keys and values here, its groups key heads.
struct RecurrentSpec {
    StateRule rule = StateRule::delta;
    std::int64_t heads = 0;      ///< of values, each with a state [key_head_dim, value_head_dim]
    std::int64_t key_heads = 0;  ///< of queries and of keys; each serves the same number of value heads
    std::int64_t key_head_dim = 0;
    std::int64_t value_head_dim = 0;
    std::int64_t convolution = 0;  ///< taps of the causal convolution over queries, keys and values
    bool convolution_bias = false;
    std::int64_t chunk = 0;  ///< tokens that kernels take at a time
    [[nodiscard]] std::int64_t key_width() const { return 2 * key_heads * key_head_dim; }  ///< queries and keys
    [[nodiscard]] std::int64_t value_width() const { return heads * value_head_dim; }
    /// Numbers a head makes of a token beside its values: how much decays, and with the delta rule how much is written.
    [[nodiscard]] std::int64_t gates() const { return rule == StateRule::delta ? 2 : 1; }
};

struct MlpSpec {
    std::int64_t intermediate = 0;
    bool gated = false;  ///< two input projections and a product (SwiGLU, GeGLU)
    bool bias = false;
};

struct MoeSpec {
    std::int64_t experts = 0;
    std::int64_t top_k = 0;
    std::int64_t groups = 1;               ///< of experts, equal in size; a token chooses from `chosen_groups` of them
    std::int64_t chosen_groups = 1;        ///< (device- or node-limited routing, DeepSeek-V2 and -V3)
    std::int64_t intermediate = 0;         ///< of one routed expert
    std::int64_t shared_intermediate = 0;  ///< of all shared experts together, 0: none
    bool shared_gate = false;              ///< a sigmoid gate [hidden, 1] on the shared expert (Qwen2-MoE)
    bool router_bias = false;              ///< learned bias on the router's linear layer (gpt-oss)
    bool correction_bias = false;          ///< per-expert score correction, counted as a parameter (DeepSeek-V3)
    bool expert_bias = false;              ///< biases on the experts' linear layers (gpt-oss)
};

/// What a layer mixes its tokens with; `none`: a layer that is a feed-forward alone.
enum class Mixer : std::uint8_t { attention, recurrent, none };

/// What one decoder layer is made of; layers of the same kind cost the same.
struct LayerKind {
    bool moe = false;
    bool sliding = false;
    Mixer mixer = Mixer::attention;
    bool feed_forward = true;  ///< false: a mixer alone
    auto operator<=>(LayerKind const&) const = default;
};

/// What the last layer's hidden states are turned into: logits over the vocabulary; `labels` numbers for each token,
/// of which a reward or critic model has one; nothing (embedding models).
enum class OutputHead : std::uint8_t { vocabulary, labels, none };

/// A transformer of one stack of layers: a decoder, or an encoder whose attention looks both ways. All sizes are in
/// elements; parameter counts follow from this alone (see `core/spec/parameters.hpp`).
struct ModelSpec {
    std::string name;
    std::string architecture;  ///< Hugging Face `model_type`
    std::int64_t hidden = 0;
    std::int64_t vocab = 0;
    std::int64_t max_positions = 0;  ///< longest sequence the model was built for; rows of a learned table
    AttentionSpec attention;
    std::optional<AttentionSpec>
        window_attention{};  ///< of the `sliding` layers where their heads are others (Gemma 4)
    MlpSpec mlp;             ///< of the dense layers
    std::optional<MoeSpec> moe;
    std::optional<RecurrentSpec> recurrent;
    std::vector<LayerKind> layers;  ///< one entry per layer, in order
    bool causal = true;             ///< false: every token sees all others, or those of its window on both sides

    NormKind norm = NormKind::rms;
    bool norm_bias = false;
    bool norm_scale = true;       ///< false: norms without learned parameters
    int norms_per_layer = 2;      ///< half of them in layers that are a mixer or a feed-forward alone; 1: parallel
                                  ///< halves on one norm; 3: experts have one (Arctic); 4: before and after (Gemma 2);
                                  ///< 8: experts and router have norms beside those of the shared expert (Gemma 4)
    bool parallel_block = false;  ///< attention and MLP read the same input (Falcon, Cohere, GPT-NeoX)
    /// Tensor-parallel ranks add what attention and MLP leave and sum it once. Source: Falcon in vLLM and TensorRT-LLM,
    /// GPT-NeoX in its own trainer; the other parallel blocks are summed twice by the engines.
    bool joint_sum = false;
    bool final_norm = true;
    bool embedding_norm = false;  ///< a norm right after the embedding (BLOOM)
    PositionKind position = PositionKind::rotary;
    std::int64_t position_rows = 0;  ///< rows of a learned position table (OPT: max_positions + 2), 0 without one
    OutputHead head = OutputHead::vocabulary;
    std::int64_t labels = 0;        ///< of such a head (core/spec/output_head.hpp), else 0
    bool head_transform = false;    ///< a layer [h, h], an activation and a norm before logits (BERT's masked tokens)
    bool pooler = false;            ///< a layer [h, h] on one token of each sequence behind the last layer (BERT)
    std::int64_t segment_rows = 0;  ///< rows of a table of token types beside the positions (BERT)
    bool tied_embeddings = false;
    bool head_bias = false;
    bool capped_logits = false;        ///< bounded by a scaled tanh before the loss (Gemma 2)
    std::int64_t embedding_width = 0;  ///< width of the token embedding where it is not `hidden` (OPT-350M), else 0

    /// Multi-token-prediction modules (DeepSeek-V3): one more layer each, with three norms, a projection [2 hidden,
    /// hidden] and the shared embedding and head. Not counted in `layers`.
    std::int64_t mtp_modules = 0;

    /// Checkpoints in narrow formats keep all matrices but the experts' in two bytes (gpt-oss).
    bool only_experts_narrow = false;

    [[nodiscard]] AttentionSpec const& attention_of(LayerKind kind) const {
        return kind.sliding && window_attention ? *window_attention : attention;
    }
    /// Numbers that come out for each token.
    [[nodiscard]] std::int64_t outputs() const { return head == OutputHead::vocabulary ? vocab : labels; }
    [[nodiscard]] std::int64_t layer_count() const { return static_cast<std::int64_t>(layers.size()); }
};

}  // namespace sextant

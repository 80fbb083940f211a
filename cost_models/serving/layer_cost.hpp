#pragma once

#include "cost_models/collective_time.hpp"
#include "cost_models/serving/iteration_model.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// Time of the layers of a model (all stages) for some tokens, without attention and without the experts' products.
struct LayerTime {
    Seconds gemm;             ///< products that are no experts'
    Seconds gemm_at_peak;     ///< their FLOPs at the device's peak
    double rounded = 0;       ///< those of them whose inputs are rounded first
    Seconds expert_rounding;  ///< of tokens, before they are copied to their experts
    Seconds streaming;
    Seconds communication;
    double kernels = 0;  ///< attention's among them
    double expert_layers = 0;
};

/// Time of the experts' products, all layers.
struct ExpertTime {
    Seconds reading;  ///< of the weights of experts that the tokens touch
    Seconds compute;
    Seconds floor;  ///< of `compute`, what a single row takes
};

/// Prices the forward pass of `build_layer` and `build_head` for serving. The case must outlive it.
class LayerCosts {
public:
    explicit LayerCosts(ServingCase const& what);

    /// Products, element-wise kernels and communication of `tokens` tokens of each attention data-parallel group
    /// through every layer, the embedding and between stages. Groups over which experts are cut gather their tokens
    /// before these, padded to as many as this one has, and scatter the sums.
    /// Source: vLLM 0.11 AgRsAll2AllManager and get_dp_padding, SGLang 0.5.5 dp_attention.py (all-reduces instead in
    /// iterations with prompts), TensorRT-LLM fused_moe_cutlass.py.
    [[nodiscard]] LayerTime of_tokens(std::int64_t tokens);
    /// Products of the experts on one rank, where these have so many tokens: of all attention data-parallel groups.
    [[nodiscard]] ExpertTime of_experts(double tokens) const;
    /// Output matrix, exchange of logits and sampling for `samples` sequences.
    [[nodiscard]] Seconds head(std::int64_t samples);
    /// Attention and recurrences over a whole prompt, all layers.
    [[nodiscard]] Seconds prompt_attention(std::int64_t tokens) const;
    /// Attention of one query each of `sequences` over `context` cached tokens and one step of every recurrent state,
    /// all layers.
    [[nodiscard]] Seconds cache_attention(std::int64_t sequences, std::int64_t context) const;

    /// Arithmetic of attention for one query over a context, all layers, at the rate that prompts' attention reaches.
    [[nodiscard]] Seconds query_products(std::int64_t context) const;

private:
    /// One decode step of one layer, by the kernels that were measured.
    [[nodiscard]] Seconds cache_read(AttentionSpec const& a, DecodeAttention const& read) const;
    /// The same of a narrow cache by kernels that split the keys of a sequence: no longer than so many sequences of a
    /// part of the keys each, while their heads leave multiprocessors without work, and a kernel that puts the parts
    /// together (fp32, written and read), and no longer than from a cache of two bytes a value.
    /// Source: FlashDecoding (pytorch.org/blog/flash-decoding); FlashAttention num_splits_heuristic; TensorRT-LLM's
    /// kernel for an fp8 cache on L40S, which the tables time, does not: 1 to 16 sequences take as long.
    [[nodiscard]] Seconds split_cache_read(AttentionSpec const& a, DecodeAttention const& read) const;
    /// Of a cache in fp8 on a device without it (`fp8_widening` of the engine); else nothing.
    [[nodiscard]] Seconds widening(DecodeAttention const& read) const;
    [[nodiscard]] Seconds product(std::int64_t m, std::int64_t n, std::int64_t k, GemmFormat const& format) const;
    [[nodiscard]] Seconds quantising(std::int64_t m, std::int64_t k, GemmFormat const& format) const;
    [[nodiscard]] Seconds touched(Bytes bytes, std::int64_t kernels) const;
    /// Shared experts in units of a routed one, where engines multiply them beside the routed ones: in the same grouped
    /// product (SGLang) or on another stream (vLLM, TensorRT-LLM); with attention groups they are cut over tp alone,
    /// and have the group's tokens.
    [[nodiscard]] double shared_beside_routed() const;
    /// What the rows of a grouped product are: tokens as they came, which are rounded once before they are copied to
    /// their experts, or what the product before made of each copy.
    enum class ExpertInput : std::uint8_t { tokens, copies };
    [[nodiscard]] static ExpertInput input_of(Op const& op);
    void add_experts(GroupedGemm const& product, ExpertInput input, double tokens, ExpertTime& time) const;
    /// Of one sequence on one rank. @pre the model has recurrent layers
    [[nodiscard]] Recurrence recurrence(std::int64_t tokens) const;
    /// A prompt whose queries all go over chosen keys, with what chooses them. @pre the model has an index
    [[nodiscard]] Seconds sparse_prompt(std::int64_t tokens, std::string_view variant) const;
    /// One decode step of the index of keys: every key is read and scored, on every rank; scores in fp32 are written
    /// and read by what chooses.
    [[nodiscard]] Seconds index_step(std::int64_t sequences, std::int64_t context) const;
    void add_op(Op const& op, std::int64_t tokens, LayerTime& time);
    void add_sends();
    /// Sum over the tensor-parallel ranks.
    [[nodiscard]] Seconds reduced(Bytes bytes) const;

    ServingCase const& what_;
    AcceleratorProfile const& device_;
    ParallelPlan plan_;  ///< of one stage, as the block builders take it
    GemmFormat const& format_;
    GemmFormat const& wide_;  ///< of the parts that stay in two bytes
    CollectiveCurve reduce_;
    CollectiveCurve own_reduce_;  ///< of small messages by the engine's own kernels, where NCCL says too much of them
    CollectiveCurve gather_;
    CollectiveCurve exchange_;     ///< of tokens with experts, where they are sent
    double dispatched_share_ = 1;  ///< bytes of tokens on their way to the experts, over those of two a value
    CollectiveCurve share_;        ///< among the ranks of all attention groups that have the same part of a group
    CollectiveCurve collect_;
    std::vector<std::pair<double, CollectiveCurve>> sends_;  ///< between stages, and how many are alike
};

}  // namespace sextant

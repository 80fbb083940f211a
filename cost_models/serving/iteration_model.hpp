#pragma once

#include "core/units.hpp"
#include "cost_models/serving/serving_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

class RememberedCosts;

/// Where the time of one iteration goes; the parts add up to `total()`.
struct IterationTime {
    Seconds gemm;       ///< matrix products and what is fused to them
    Seconds prefill;    ///< attention of prompt tokens
    Seconds decode;     ///< attention of one query per sequence over its cache
    Seconds streaming;  ///< norms, activations, rotary embedding, cache writes, and gaps between kernels
    Seconds communication;
    Seconds head;  ///< output matrix and sampling
    Seconds host;  ///< what the device waits for
    [[nodiscard]] Seconds device() const { return gemm + prefill + decode + streaming + communication + head; }
    [[nodiscard]] Seconds total() const { return device() + host; }
    IterationTime& operator+=(IterationTime const& other);
    friend IterationTime operator*(double factor, IterationTime time);
};

/// What one iteration of a replica processes. Everything but `elsewhere` is of one attention data-parallel group: the
/// one that takes longest, for which the others wait in each layer.
struct IterationLoad {
    double prefill_tokens = 0;    ///< prompt tokens, of all chunks
    Seconds prefill_attention{};  ///< sum of `IterationModel::prefill_attention` over the chunks
    double decodes = 0;           ///< sequences that produce one more token
    double guesses = 0;           ///< further tokens of these, which a draft proposed and this iteration checks
    double decode_context = 0;    ///< tokens in the cache of these, together
    double samples = 0;           ///< sequences that get a token out of this iteration (decodes and finished prompts)
    double elsewhere = 0;         ///< tokens of the other groups, which the experts have in the same iteration
    /// `IterationModel::decode_attention` of the decodes, where it is known.
    std::optional<Seconds> decode_attention = std::nullopt;
};

/// Time of an iteration for any mix of prompt and decode tokens, from tables made once: a call takes well under a
/// microsecond.
///
/// Products, their streaming kernels and the tensor- or expert-parallel communication depend on the tokens of the
/// iteration, T = prefill + decodes + guesses: shapes of `build_layer` (core/graph/block.hpp) at T tokens, priced by
/// `estimate_product` in the format of the weights; experts touched by T tokens of top_k of E: E (1 - (1 - top_k /
/// E)^T), where T has the tokens of all attention data-parallel groups (`elsewhere`): their ranks share the experts,
/// cut or divided (of the latter all wait for the rank with most touched, `busiest_touched_experts`). The experts'
/// products take r to read the touched weights and c to multiply, (r^3 + c^3)^(1/3) together; what c is above the time
/// of a single row is what engines scale. Shared experts count as more of the same groups. An iteration with prompt
/// tokens is not captured as a graph: where its kernels take d on the device and l to launch, they take (d^3 +
/// l^3)^(1/3) together; l = kernels x `prompt_launch` + layers with experts x `expert_launch`. The host takes h =
/// host_per_iteration + samples x host_per_sequence, after the device's d; an engine that plans ahead works on the next
/// iteration meanwhile, and the two take (d^2 + h^2)^(1/2): assumed between the sum and the longer. Attention of a
/// chunk of c tokens after p: F(p + c) - F(p), F the time of a whole prompt by `estimate_prefill`. Attention of decodes
/// by `estimate_decode` at the mean context; with guesses, the cache is read once, and it takes no less than the
/// products of all queries at the rate of prompts' attention. With pp stages an iteration passes all of them; the
/// stages work on different iterations at a time, which `at_slowest_stage` is for.
class IterationModel {
public:
    /// @throws InputError when the plan does not fit the model (`check_serving_plan`), or the device has no such
    /// format.
    explicit IterationModel(ServingCase const& what);
    /// The same, for many that differ in the limits of a batch at most.
    /// @param costs of one of them
    IterationModel(ServingCase const& what, RememberedCosts& costs);

    /// Through all stages: the latency of the iteration.
    [[nodiscard]] IterationTime operator()(IterationLoad const& load) const;
    /// What a stage of the pipeline has of an iteration, after which it can begin the next: the whole of it without
    /// pipelining; else of the slowest stage, the one with the most layers or the last, which has the output matrix,
    /// with the host. Layers count alike, whatever their kind.
    [[nodiscard]] Seconds at_slowest_stage(IterationTime const& time) const;
    /// Attention of `tokens` prompt tokens that follow `past` cached ones, over all layers.
    [[nodiscard]] Seconds prefill_attention(double past, double tokens) const;
    /// The same of `sequences` that decode, with so many tokens in the cache together.
    [[nodiscard]] Seconds decode_attention(double sequences, double context) const;

    /// The same tables under an engine's other constants. @pre its gap between kernels is the same: tables hold it.
    [[nodiscard]] IterationModel with_scales(EngineProfile const& engine) const;

    [[nodiscard]] ServingCase const& what() const { return what_; }
    /// Of one rank of the replica: worked out once, every steady state asks for it.
    [[nodiscard]] ServingMemory const& memory() const { return memory_; }

private:
    /// Piecewise linear over a rising grid that all have; beyond the last point in proportion to the last slope.
    template <std::size_t N>
    struct Curves {
        std::vector<double> x;
        std::vector<std::array<double, N>> y;
        void add(double at, std::array<double, N> const& values);
        [[nodiscard]] std::array<double, N> operator()(double at) const;
    };
    using Curve = Curves<1>;
    void tabulate(RememberedCosts& costs);
    void tabulate_tokens(RememberedCosts& costs);
    void tabulate_head(RememberedCosts& costs);
    /// @param tokens of the group; those elsewhere count as well, as groups share the experts
    [[nodiscard]] double expert_seconds(double tokens, double elsewhere) const;
    /// What the device waits for launches, beyond the time it works.
    [[nodiscard]] Seconds launching(Seconds device) const;
    /// The same for the scheduler, the preparation of inputs and the handling of outputs.
    [[nodiscard]] Seconds waiting_for_host(Seconds device, double samples) const;
    void tabulate_prefill(RememberedCosts& costs);
    void tabulate_decode(RememberedCosts& costs);

    ServingCase what_;
    ServingMemory memory_;
    double kernels_ = 0;        ///< of all layers
    double gemm_at_peak_ = 0;   ///< seconds a token, all layers
    double rounded_ = 0;        ///< products whose inputs are rounded, all layers
    double fullest_stage_ = 1;  ///< share of the layers
    double last_stage_ = 1;
    double expert_layers_ = 0;
    Curves<3> of_tokens_;          ///< products, streaming, communication: seconds over tokens, all layers
    double sharing_groups_ = 1;    ///< attention data-parallel groups whose tokens the same experts have
    Curves<2> experts_;            ///< to read and to multiply, over the tokens of all of these
    Curve expert_rounding_;        ///< over those of one
    double expert_floor_ = 0;      ///< seconds of the same with a single row
    bool widens_weights_ = false;  ///< narrow weights, wide products
    Curve head_;                   ///< over sequences that get a token
    Curve prefill_;                ///< F over the length of a prompt
    Curve query_products_;         ///< attention's arithmetic of one query, over its context
    std::vector<double> decode_batches_;
    std::vector<double> batch_steps_;  ///< logarithms of the ratios of neighbours
    std::vector<double> decode_contexts_;
    std::vector<double> context_steps_;
    std::vector<double> decode_;  ///< seconds, batch-major
};

/// Experts that T tokens touch when each picks `top_k` of `experts` at random: E (1 - (1 - top_k / E)^T).
double touched_experts(double experts, double top_k, double tokens);
/// The same of the rank that has most of them, mean: each of R ranks holds E / R, of which a binomial number is
/// touched, and the largest of R such has the mean sum over n of 1 - P(up to n)^R. Within 3 % of drawn tokens (a test).
double busiest_touched_experts(double experts, double top_k, double tokens, double ranks);

}  // namespace sextant

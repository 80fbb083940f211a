#include "cost_models/serving/serving_memory.hpp"

#include "core/graph/block.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Elements of a list of weights that one rank of a stage holds: those in the format of the plan, and those in two
/// bytes.
struct RankWeights {
    double narrow = 0;
    double wide = 0;
};

double share_of(Parameter const& p, ServingPlan const& plan) {
    if (p.sharding == Sharding::expert) return 1.0 / static_cast<double>(plan.ep > 1 ? plan.ep : plan.tp);
    return 1.0 / static_cast<double>(p.tensor_shards(plan.tp));
}

void add(RankWeights& total, std::vector<Parameter> const& parameters, ServingCase const& what, double times,
         bool layers) {
    for (Parameter const& p : parameters) {
        double const count = times * static_cast<double>(p.count()) * share_of(p, what.plan);
        bool const kept = what.model.only_experts_narrow && p.sharding != Sharding::expert;
        // Vectors (norms, biases) stay wide.
        (layers && p.columns > 1 && !kept ? total.narrow : total.wide) += count;
    }
}

Bytes weights_of(ServingCase const& what) {
    ModelSpec const& model = what.model;
    RankWeights total;
    double const stage = 1.0 / static_cast<double>(what.plan.pp);
    for (LayerKind const kind : distinct_kinds(model))
        add(total, layer_parameters(model, kind), what,
            stage * static_cast<double>(std::count(model.layers.begin(), model.layers.end(), kind)), true);
    // The fullest stage holds an end of the model; with one stage both.
    add(total, embedding_parameters(model), what, 1, false);
    if (what.plan.pp == 1) add(total, head_parameters(model), what, 1, false);
    GemmFormat const& format = *find_gemm_format(what.plan.weights);
    // Scales of quantised weights: one of two bytes for 128 values (group-wise formats) is 1.6 % of an int4's bytes.
    double const scales = format.right < 1 ? 2.0 / 128 : 0;
    return (total.narrow * (format.right + scales) + total.wide * 2) * units::B;
}

/// Two live copies of the hidden state, the widest layer's intermediates, and the logits of the sampled tokens in fp32.
Bytes activations_of(ServingCase const& what) {
    ModelSpec const& model = what.model;
    ServingPlan const& plan = what.plan;
    double const tokens = static_cast<double>(plan.max_batched_tokens);
    double const tp = static_cast<double>(plan.tp);
    double width = 0;
    for (LayerKind const kind : distinct_kinds(model)) {
        AttentionSpec const& a = model.attention_of(kind);
        width = std::max(width, static_cast<double>(a.heads * a.head_dim + 2 * a.kv_heads * a.head_dim) / tp);
    }
    if (model.recurrent)
        width = std::max(width,
                         static_cast<double>(model.recurrent->key_width() + 3 * model.recurrent->value_width()) / tp);
    double const mlp = static_cast<double>(model.mlp.intermediate) * (model.mlp.gated ? 3 : 2) / tp;
    width = std::max(width, mlp);
    if (model.moe) {
        double const sharing = static_cast<double>(plan.ep > 1 ? 1 : plan.tp);
        double const routed =
            static_cast<double>(model.moe->top_k) / (plan.ep > 1 ? tp : 1) *
            (static_cast<double>(model.moe->intermediate) * 3 / sharing + static_cast<double>(model.hidden));
        width = std::max(width, routed);
    }
    double const samples = static_cast<double>(std::min(plan.max_batch, plan.max_batched_tokens));
    return (2 * tokens * (2 * static_cast<double>(model.hidden) + width) +
            4 * samples * static_cast<double>(model.vocab)) *
           units::B;
}

}  // namespace

ServingMemory serving_memory(ServingCase const& what) {
    ServingPlan const& plan = what.plan;
    ServingMemory memory;
    memory.capacity = what.cluster.accelerator.memory_capacity.value;
    memory.usable = memory.capacity * plan.memory_utilisation;
    memory.weights = weights_of(what);
    memory.activations = activations_of(what);
    memory.overhead = what.engine.memory_overhead.value;
    memory.cache = memory.usable - memory.weights - memory.activations - memory.overhead;
    memory.cache_per_token = kv_cache_bytes_per_token(what.model, bytes_per_value(plan.cache), plan.tp) /
                             static_cast<double>(plan.pp) * units::B;
    double const blocks =
        std::floor(std::max(0.0, memory.cache / (memory.cache_per_token * static_cast<double>(plan.block_tokens))));
    memory.cache_tokens = blocks * static_cast<double>(plan.block_tokens);
    memory.shape = cache_shape(what.model, what.engine, plan);
    // States are split over the heads and kept in blocks of the cache, as vLLM does.
    memory.state = recurrent_state_bytes(what.model) / static_cast<double>(plan.tp * plan.pp) * units::B;
    Bytes const block =
        memory.cache_per_token * static_cast<double>(plan.block_tokens) / static_cast<double>(memory.shape.groups());
    memory.shape.state_blocks = static_cast<std::int64_t>(std::ceil(memory.state / block));
    return memory;
}

double largest_batch(ServingCase const& what, ServingMemory const& memory, double context) {
    double const block = static_cast<double>(what.plan.block_tokens);
    double const tokens = memory.shape.kept(std::ceil(std::max(1.0, context) / block) * block);
    return std::min(static_cast<double>(what.plan.max_batch),
                    std::floor(memory.cache_tokens / tokens) * static_cast<double>(what.plan.attention_dp));
}

}  // namespace sextant

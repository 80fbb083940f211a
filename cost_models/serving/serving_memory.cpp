#include "cost_models/serving/serving_memory.hpp"

#include "core/graph/block.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/serving_split.hpp"
#include "cost_models/serving/memory_share.hpp"
#include "cost_models/serving/recurrent_state.hpp"
#include "cost_models/serving/stage_split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace sextant {
namespace {

/// Elements of a list of weights that one rank of a stage holds: those in the format of the plan, and those in two
/// bytes.
struct RankWeights {
    double narrow = 0;
    double wide = 0;
};

/// Experts that there are, their copies counted, over the model's.
double expert_copies(ModelSpec const& model, ServingPlan const& plan) {
    return 1 + static_cast<double>(plan.redundant_experts) / static_cast<double>(model.moe->experts);
}

double share_of(Parameter const& p, ModelSpec const& model, ServingPlan const& plan) {
    if (p.sharding == Sharding::expert)
        return expert_copies(model, plan) / static_cast<double>(plan.ep * expert_ranks(plan));
    return 1.0 / static_cast<double>(p.tensor_shards(plan.tp));
}

void add(RankWeights& total, std::vector<Parameter> const& parameters, ServingCase const& what, double times,
         bool layers) {
    for (Parameter const& p : parameters) {
        double const count = times * static_cast<double>(p.count()) * share_of(p, what.model, what.plan);
        bool const kept = what.model.only_experts_narrow && p.sharding != Sharding::expert;
        // Vectors (norms, biases) stay wide.
        (layers && p.columns > 1 && !kept ? total.narrow : total.wide) += count;
    }
}

/// Layers of one pipeline stage.
struct Stage {
    std::span<LayerKind const> layers;
    bool first;
    bool last;
};

std::vector<Stage> stages_of(ServingCase const& what) {
    std::vector<Stage> out;
    std::span<LayerKind const> left = what.model.layers;
    for (std::int64_t const layers : stage_layers(what)) {
        auto const count = static_cast<std::size_t>(layers);
        out.push_back({left.first(count), out.empty(), count == left.size()});
        left = left.subspan(count);
    }
    return out;
}

/// Bytes of the copy that an engine makes, as it loads them, of each weight that expands latents to keys and values:
/// decodes multiply queries and outputs by these instead. vLLM's are in 16 bits, and views where the weights are;
/// SGLang lays them out anew, fp8 as it is. Source: `process_weights_after_loading` of vLLM's
/// v1/attention/backends/mla/common.py, `post_load_weights` of SGLang's models/deepseek_v2.py.
double latent_copy_bytes(ServingCase const& what) {
    bool const narrow = find_gemm_format(what.plan.weights)->right < 2 && !what.model.only_experts_narrow;
    if (is_vllm(what.engine.program)) return narrow ? 2 : 0;
    if (what.engine.program == EngineProgram::sglang) return narrow && what.plan.weights.starts_with("fp8") ? 1 : 2;
    return 0;
}

Bytes latent_copies(ServingCase const& what, Stage const& stage) {
    double weights = 0;
    for (LayerKind const kind : stage.layers) {
        AttentionSpec const& a = what.model.attention_of(kind);
        if (kind.mixer == Mixer::attention && a.latent)
            weights += static_cast<double>(a.heads * (a.latent->nope_head_dim + a.value_head_dim) * a.latent->kv_rank);
    }
    return latent_copy_bytes(what) * weights / static_cast<double>(what.plan.tp) * units::B;
}

Bytes weights_of(ServingCase const& what, Stage const& stage) {
    ModelSpec const& model = what.model;
    RankWeights total;
    for (LayerKind const kind : distinct_kinds(model))
        add(total, layer_parameters(model, kind), what,
            static_cast<double>(std::count(stage.layers.begin(), stage.layers.end(), kind)), true);
    // A tied output matrix is a copy of the embedding where another stage has that.
    if (stage.first || (model.tied_embeddings && stage.last)) add(total, embedding_parameters(model), what, 1, false);
    if (stage.last) add(total, head_parameters(model), what, 1, false);
    GemmFormat const& format = *find_gemm_format(what.plan.weights);
    double const scales = scale_bytes_per_value(what.plan.stored.empty() ? format.name : what.plan.stored);
    return (total.narrow * (format.right + scales) + total.wide * 2) * units::B + latent_copies(what, stage);
}

Bytes cache_per_token_of(ServingCase const& what, Stage const& stage) {
    double bytes = 0;
    for (LayerKind const kind : stage.layers)
        if (kind.mixer == Mixer::attention)
            bytes += cached_bytes(what.model.attention_of(kind), bytes_per_value(what.plan.cache), what.plan.tp);
    return bytes * units::B;
}

/// Of the recurrent layers of one sequence, split over the heads.
Bytes state_of(ServingCase const& what, Stage const& stage) {
    auto const recurrent = [](std::span<LayerKind const> layers) {
        return static_cast<double>(
            std::count_if(layers.begin(), layers.end(), [](LayerKind kind) { return kind.mixer == Mixer::recurrent; }));
    };
    double const here = recurrent(stage.layers);
    if (here == 0) return {};
    return here / recurrent(what.model.layers) / static_cast<double>(what.plan.tp) * sequence_state(what);
}

/// What fills up first: of stages that lack memory the one that lacks most, else the one whose cache holds the fewest
/// tokens. Stages without attention keep none.
bool is_fuller(ServingMemory const& a, ServingMemory const& b) {
    auto const room = [](ServingMemory const& m) {
        if (m.cache <= Bytes{}) return m.cache.base();
        return m.cache_per_token > Bytes{} ? m.cache / m.cache_per_token : std::numeric_limits<double>::infinity();
    };
    return room(a) < room(b);
}

/// Values of the experts' layers on one rank, per token of its group. Experts cut over the ranks of several groups have
/// the tokens of all, 32768 at a time (vLLM 0.11, VLLM_FUSED_MOE_CHUNK_SIZE), which are gathered before and summed
/// after.
double expert_width(ModelSpec const& model, ServingPlan const& plan) {
    constexpr double largest_chunk = 32768;
    auto const top_k = static_cast<double>(model.moe->top_k);
    auto const inner = static_cast<double>(model.moe->intermediate) * 3;
    auto const hidden = static_cast<double>(model.hidden);
    if (plan.ep > 1) return top_k / static_cast<double>(plan.tp) * (inner + hidden);
    if (plan.attention_dp == 1) return top_k * (inner / static_cast<double>(plan.tp) + hidden);
    auto const groups = static_cast<double>(plan.attention_dp);
    double const chunks = std::min(groups, std::max(1.0, largest_chunk / static_cast<double>(plan.max_batched_tokens)));
    return chunks * top_k * (inner / static_cast<double>(expert_ranks(plan)) + hidden) + 2 * groups * hidden;
}

/// Values of keys and values that vLLM expands of the latents of earlier chunks, as many tokens at a time as 8 of the
/// longest sequences have, up to 65536: beside queries, keys and values of the tokens of an iteration. Its run without
/// requests, which leaves the rest to the cache, makes them. Source: `determine_chunked_prefill_workspace_size` and
/// `forward` of v1/attention/backends/mla/common.py.
double expanded_context(ServingCase const& what) {
    AttentionSpec const& a = what.model.attention;
    if (!a.latent || a.index || !is_vllm(what.engine.program)) return 0;
    constexpr std::int64_t most = 65536;
    std::int64_t const longest = what.model.max_positions > 0 ? std::min(most, what.model.max_positions) : most;
    return static_cast<double>(std::min(most, 8 * longest)) *
           static_cast<double>(a.heads * (a.latent->nope_head_dim + a.value_head_dim)) /
           static_cast<double>(what.plan.tp);
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
    double const attention = tokens * width + expanded_context(what);
    if (model.recurrent)
        width = std::max(width,
                         static_cast<double>(model.recurrent->key_width() + 3 * model.recurrent->value_width()) / tp);
    double const mlp = static_cast<double>(model.mlp.intermediate) * (model.mlp.gated ? 3 : 2) / tp;
    width = std::max(width, mlp);
    if (model.moe) width = std::max(width, expert_width(model, plan));
    double const places =
        std::ceil(static_cast<double>(plan.max_batch) / static_cast<double>(plan.attention_dp));  // of one group
    double const samples = std::min(places, tokens);
    return (2 * (2 * tokens * static_cast<double>(model.hidden) + std::max(tokens * width, attention)) +
            4 * samples * static_cast<double>(model.vocab)) *
           units::B;
}

bool has_state_pool(ServingCase const& what, ServingMemory const& memory) {
    return what.engine.window_cache == WindowCache::pools && memory.state > Bytes{};
}

/// Takes the pool of states out of what is left for the cache.
void take_states_apart(ServingMemory& memory) {
    constexpr double states_to_cache = 0.9;
    constexpr double claimed_states = 3;  // its own, one found in the prefix cache, one to be kept there
    double const share = states_to_cache / (1 + states_to_cache);
    double const states = std::floor(std::max(0.0, share * memory.cache / memory.state));
    memory.state_pool = states * memory.state;
    memory.state_places = static_cast<std::int64_t>(states / claimed_states);
    if (memory.state_places > 0) memory.cache -= memory.state_pool;
}

/// Of a rank of one stage.
ServingMemory stage_memory(ServingCase const& what, Stage const& stage) {
    ServingMemory memory;
    memory.capacity = what.cluster.accelerator.memory_capacity.value;
    memory.weights = weights_of(what, stage);
    memory.overhead = what.engine.memory_overhead.value;
    memory.cache_per_token = cache_per_token_of(what, stage);
    memory.state = state_of(what, stage);
    return memory;
}

}  // namespace

ServingMemory serving_memory(ServingCase const& what) {
    ServingPlan const& plan = what.plan;
    Bytes const activations = activations_of(what);
    std::optional<ServingMemory> fullest;
    for (Stage const& stage : stages_of(what)) {
        ServingMemory memory = stage_memory(what, stage);
        memory.activations = activations;
        memory.usable = usable_memory(what.engine, plan, memory.capacity, memory.weights, activations, memory.overhead);
        memory.cache = memory.usable - memory.fixed();
        if (has_state_pool(what, memory)) take_states_apart(memory);
        if (!fullest || is_fuller(memory, *fullest)) fullest = memory;
    }
    ServingMemory& memory = *fullest;
    memory.shape = cache_shape(what.model, what.engine, plan);
    Bytes const block_of_all = memory.cache_per_token * static_cast<double>(plan.block_tokens);
    if (block_of_all <= Bytes{}) return memory;
    memory.cache_tokens =
        std::floor(std::max(0.0, memory.cache / block_of_all)) * static_cast<double>(plan.block_tokens);
    if (has_state_pool(what, memory)) {
        memory.shape.apart_tokens = memory.state / memory.cache_per_token;
        if (memory.state_places == 0) memory.cache_tokens = 0;
        return memory;
    }
    Bytes const block = block_of_all / static_cast<double>(memory.shape.groups());
    memory.shape.state_blocks = static_cast<std::int64_t>(std::ceil(memory.state / block));
    return memory;
}

double largest_batch(ServingCase const& what, ServingMemory const& memory, double context, double shared) {
    double const block = static_cast<double>(what.plan.block_tokens);
    double const each = memory.shape.own(std::ceil(std::max(1.0, context) / block) * block, shared);
    double const left = std::max(0.0, memory.cache_tokens - memory.prefix_tokens(shared));
    double sequences = std::floor(left / each);  // of a group
    if (memory.state_places > 0) sequences = std::min(sequences, static_cast<double>(memory.state_places));
    return std::min(static_cast<double>(what.plan.max_batch), sequences * static_cast<double>(what.plan.attention_dp));
}

}  // namespace sextant

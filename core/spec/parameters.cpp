#include "core/spec/parameters.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sextant {
namespace {

using List = std::vector<Parameter>;

/// A matrix [rows, columns] and, if it has one, its bias. Row-parallel biases are added after the reduction, so every
/// rank holds them whole; column-parallel biases are split like their rows.
enum class Bias : std::uint8_t { absent, present };
Bias bias_if(bool has) { return has ? Bias::present : Bias::absent; }

void add_column_parallel(List& list, std::string const& name, std::int64_t rows, std::int64_t columns, Bias bias) {
    list.push_back({.name = name, .rows = rows, .columns = columns, .sharding = Sharding::tensor});
    if (bias == Bias::present) list.push_back({.name = name + " bias", .rows = rows, .sharding = Sharding::tensor});
}

/// The same of a matrix whose rows are so many heads of `width`, which ranks share where they are more.
void add_heads(List& list, std::string const& name, std::int64_t heads, std::int64_t width, std::int64_t columns,
               Bias bias) {
    Parameter matrix{.name = name,
                     .rows = heads * width,
                     .columns = columns,
                     .sharding = Sharding::heads,
                     .heads = std::max<std::int64_t>(1, heads)};
    list.push_back(matrix);
    if (bias == Bias::absent) return;
    matrix.name += " bias";
    matrix.columns = 1;
    list.push_back(matrix);
}

void add_row_parallel(List& list, std::string const& name, std::int64_t rows, std::int64_t columns, Bias bias) {
    list.push_back({.name = name, .rows = rows, .columns = columns, .sharding = Sharding::tensor});
    if (bias == Bias::present) list.push_back({.name = name + " bias", .rows = rows});
}

void add_replicated(List& list, std::string const& name, std::int64_t rows, std::int64_t columns, Bias bias) {
    list.push_back({.name = name, .rows = rows, .columns = columns});
    if (bias == Bias::present) list.push_back({.name = name + " bias", .rows = rows});
}

/// `copies` norms over `width` values: scale, and bias if the model's norms have one.
void add_norm(List& list, std::string const& name, ModelSpec const& model, std::int64_t width, std::int64_t copies = 1,
              Sharding sharding = Sharding::replicated, std::int64_t heads = 0) {
    if (!model.norm_scale || copies == 0) return;
    list.push_back({.name = name, .rows = width, .copies = copies, .sharding = sharding, .heads = heads});
    if (model.norm_bias)
        list.push_back({.name = name + " bias", .rows = width, .copies = copies, .sharding = sharding, .heads = heads});
}

void add_query_key_norm(List& list, ModelSpec const& model, AttentionSpec const& a) {
    switch (a.query_key_norm) {
        case AttentionSpec::QueryKeyNorm::none: return;
        case AttentionSpec::QueryKeyNorm::shared_head:
            add_norm(list, "attention.q_norm", model, a.head_dim);
            add_norm(list, "attention.k_norm", model, a.head_dim);
            return;
        case AttentionSpec::QueryKeyNorm::all_heads:
        case AttentionSpec::QueryKeyNorm::per_head:
            add_norm(list, "attention.q_norm", model, a.heads * a.head_dim, 1, Sharding::tensor);
            add_norm(list, "attention.k_norm", model, a.kv_heads * a.head_dim, 1, Sharding::heads, a.kv_heads);
            return;
    }
}

/// The down-projections to the latents are small and every rank computes all of them; what expands them is split by
/// heads.
void add_latent_attention(List& list, ModelSpec const& model, AttentionSpec const& a, LatentAttention const& latent) {
    Bias const bias = bias_if(a.qkv_bias);
    if (latent.query_rank > 0) {
        add_replicated(list, "attention.q_down", latent.query_rank, model.hidden, bias);
        add_norm(list, "attention.q_down_norm", model, latent.query_rank);
        add_column_parallel(list, "attention.q_up", a.heads * a.head_dim, latent.query_rank, Bias::absent);
    } else {
        add_column_parallel(list, "attention.q", a.heads * a.head_dim, model.hidden, Bias::absent);
    }
    add_replicated(list, "attention.kv_down", latent.kv_rank + latent.rope_head_dim, model.hidden, bias);
    add_norm(list, "attention.kv_down_norm", model, latent.kv_rank);
    add_column_parallel(list, "attention.kv_up", a.heads * (latent.nope_head_dim + a.value_head_dim), latent.kv_rank,
                        Bias::absent);
    if (!a.index) return;
    add_replicated(list, "attention.index_query", a.index->heads * a.index->head_dim, latent.query_rank, Bias::absent);
    add_replicated(list, "attention.index_key", a.index->head_dim, model.hidden, Bias::absent);
    list.push_back({.name = "attention.index_norm", .rows = a.index->head_dim, .copies = 2});  // scale and bias
    add_replicated(list, "attention.index_weights", a.index->heads, model.hidden, Bias::absent);
}

void add_attention(List& list, ModelSpec const& model, AttentionSpec const& a) {
    if (a.latent) {
        add_latent_attention(list, model, a, *a.latent);
    } else {
        Bias const bias = bias_if(a.qkv_bias);
        // A gate of the output is made beside the queries, in the same matrix.
        add_column_parallel(list, "attention.q", (a.gated ? 2 : 1) * a.heads * a.head_dim, model.hidden, bias);
        add_heads(list, "attention.k", a.kv_heads, a.head_dim, model.hidden, bias);
        if (!a.keys_are_values) add_heads(list, "attention.v", a.kv_heads, a.value_head_dim, model.hidden, bias);
    }
    add_query_key_norm(list, model, a);
    if (a.sinks) list.push_back({.name = "attention.sinks", .rows = a.heads, .sharding = Sharding::tensor});
    add_row_parallel(list, "attention.output", model.hidden, a.heads * a.value_head_dim, bias_if(a.output_bias));
}

/// Mamba-2's learned skip of a head is the third vector beside its decay and step.
void add_recurrent(List& list, ModelSpec const& model, RecurrentSpec const& r) {
    std::int64_t const keys = r.key_width();
    std::int64_t const values = r.value_width();
    add_heads(list, "recurrent.query_key", r.key_heads, 2 * r.key_head_dim, model.hidden, Bias::absent);
    add_column_parallel(list, "recurrent.value_gate", 2 * values, model.hidden, Bias::absent);
    add_column_parallel(list, "recurrent.decay", r.gates() * r.heads, model.hidden, Bias::absent);
    std::int64_t const taps = r.convolution + (r.convolution_bias ? 1 : 0);  // a vector each
    list.push_back({.name = "recurrent.query_key_taps",
                    .rows = keys,
                    .copies = taps,
                    .sharding = Sharding::heads,
                    .heads = r.key_heads});
    list.push_back({.name = "recurrent.value_taps", .rows = values, .copies = taps, .sharding = Sharding::tensor});
    list.push_back({.name = "recurrent.step",
                    .rows = r.heads,
                    .copies = r.rule == StateRule::decay ? 3 : 2,
                    .sharding = Sharding::tensor});
    if (r.rule == StateRule::decay)
        add_norm(list, "recurrent.norm", model, values, 1, Sharding::tensor);
    else
        add_norm(list, "recurrent.norm", model, r.value_head_dim);
    add_row_parallel(list, "recurrent.output", model.hidden, values, Bias::absent);
}

void add_mlp(List& list, ModelSpec const& model, std::string const& prefix, std::int64_t intermediate, Bias bias) {
    if (model.mlp.gated) add_column_parallel(list, prefix + ".gate", intermediate, model.hidden, bias);
    add_column_parallel(list, prefix + ".up", intermediate, model.hidden, bias);
    add_row_parallel(list, prefix + ".down", model.hidden, intermediate, bias);
}

void add_expert_weight(List& list, std::string const& name, std::int64_t rows, std::int64_t columns,
                       MoeSpec const& moe) {
    list.push_back(
        {.name = name, .rows = rows, .columns = columns, .copies = moe.experts, .sharding = Sharding::expert});
    if (moe.expert_bias)
        list.push_back({.name = name + " bias", .rows = rows, .copies = moe.experts, .sharding = Sharding::expert});
}

void add_moe(List& list, ModelSpec const& model, MoeSpec const& moe) {
    add_replicated(list, "router", moe.experts, model.hidden, bias_if(moe.router_bias));
    if (moe.correction_bias) list.push_back({.name = "router.correction", .rows = moe.experts});
    if (model.mlp.gated) add_expert_weight(list, "experts.gate", moe.intermediate, model.hidden, moe);
    add_expert_weight(list, "experts.up", moe.intermediate, model.hidden, moe);
    add_expert_weight(list, "experts.down", model.hidden, moe.intermediate, moe);
    if (moe.shared_intermediate > 0) add_mlp(list, model, "shared_expert", moe.shared_intermediate, Bias::absent);
    if (moe.shared_gate) list.push_back({.name = "shared_expert.switch", .rows = 1, .columns = model.hidden});
}

/// Parameters of one layer that a token does not touch: the experts it is not routed to.
std::int64_t idle_count(ModelSpec const& model, std::vector<Parameter> const& layer) {
    std::int64_t idle = 0;
    for (auto const& p : layer)
        if (p.sharding == Sharding::expert) idle += p.rows * p.columns * (p.copies - model.moe->top_k);
    return idle;
}

}  // namespace

std::int64_t Parameter::tensor_shards(std::int64_t tp) const {
    switch (sharding) {
        case Sharding::replicated:
        case Sharding::expert: return 1;
        case Sharding::tensor:
        case Sharding::vocabulary: return tp;
        case Sharding::heads: return std::min(tp, heads);
    }
    return 1;
}

std::vector<LayerKind> distinct_kinds(ModelSpec const& model) {
    std::vector<LayerKind> kinds;
    for (LayerKind const kind : model.layers)
        if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    return kinds;
}

std::vector<Parameter> layer_parameters(ModelSpec const& model, LayerKind kind) {
    List list;
    bool const is_half = kind.mixer == Mixer::none || !kind.feed_forward;
    add_norm(list, "norms", model, model.hidden, is_half ? model.norms_per_layer / 2 : model.norms_per_layer);
    if (kind.mixer == Mixer::attention) add_attention(list, model, model.attention_of(kind));
    if (kind.mixer == Mixer::recurrent && model.recurrent) add_recurrent(list, model, *model.recurrent);
    if (!kind.feed_forward) return list;
    if (kind.moe && model.moe)
        add_moe(list, model, *model.moe);
    else
        add_mlp(list, model, "mlp", model.mlp.intermediate, bias_if(model.mlp.bias));
    return list;
}

std::vector<Parameter> embedding_parameters(ModelSpec const& model) {
    std::int64_t const width = model.embedding_width > 0 ? model.embedding_width : model.hidden;
    List list{{.name = "embedding", .rows = model.vocab, .columns = width, .sharding = Sharding::vocabulary}};
    if (model.position_rows > 0)
        list.push_back({.name = "positions", .rows = model.position_rows, .columns = model.hidden});
    if (model.segment_rows > 0)
        list.push_back({.name = "segments", .rows = model.segment_rows, .columns = model.hidden});
    if (model.embedding_width > 0)
        list.push_back({.name = "embedding.projection", .rows = model.hidden, .columns = width});
    if (model.embedding_norm) add_norm(list, "embedding.norm", model, model.hidden);
    return list;
}

std::vector<Parameter> head_parameters(ModelSpec const& model) {
    std::int64_t const width = model.embedding_width > 0 ? model.embedding_width : model.hidden;
    List list;
    if (model.final_norm) add_norm(list, "final_norm", model, model.hidden);
    if (model.embedding_width > 0) list.push_back({.name = "head.projection", .rows = width, .columns = model.hidden});
    if (model.pooler) add_replicated(list, "pooler", model.hidden, model.hidden, bias_if(model.mlp.bias));
    if (model.head_transform) {
        add_replicated(list, "head.transform", model.hidden, model.hidden, bias_if(model.mlp.bias));
        add_norm(list, "head.norm", model, model.hidden);
    }
    if (model.head == OutputHead::labels) list.push_back({.name = "head", .rows = model.labels, .columns = width});
    if (model.head == OutputHead::vocabulary && !model.tied_embeddings)
        list.push_back({.name = "head", .rows = model.vocab, .columns = width, .sharding = Sharding::vocabulary});
    if (model.head_bias) list.push_back({.name = "head bias", .rows = model.vocab, .sharding = Sharding::vocabulary});
    return list;
}

std::vector<Parameter> mtp_parameters(ModelSpec const& model) {
    List list;
    // Norms of the embedding, of the hidden state, and before the shared output matrix.
    add_norm(list, "mtp.norms", model, model.hidden, 3);
    list.push_back(
        {.name = "mtp.projection", .rows = model.hidden, .columns = 2 * model.hidden, .sharding = Sharding::tensor});
    for (auto& parameter : layer_parameters(model, model.layers.back()))
        list.push_back(std::move(parameter));
    return list;
}

std::int64_t total_count(std::vector<Parameter> const& parameters) {
    return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0},
                           [](std::int64_t sum, Parameter const& p) { return sum + p.count(); });
}

ParameterCounts count_parameters(ModelSpec const& model) {
    ParameterCounts counts;
    std::map<LayerKind, std::int64_t> layers_of_kind;
    for (LayerKind const kind : model.layers)
        ++layers_of_kind[kind];
    std::int64_t idle = 0;
    for (auto const& [kind, layers] : layers_of_kind) {
        auto const layer = layer_parameters(model, kind);
        counts.total += layers * total_count(layer);
        if (kind.moe && model.moe) idle += layers * idle_count(model, layer);
    }
    for (auto const& p : embedding_parameters(model)) {
        counts.total += p.count();
        if (p.name == "embedding" || p.name == "positions" || p.name == "segments") counts.embedding += p.count();
    }
    for (auto const& p : head_parameters(model)) {
        counts.total += p.count();
        if (p.name == "head" || p.name == "head bias") counts.head += p.count();
    }
    counts.active = counts.total - idle;
    counts.without_embedding = counts.total - counts.embedding - counts.head;
    if (model.mtp_modules > 0) counts.mtp = model.mtp_modules * total_count(mtp_parameters(model));
    return counts;
}

bool divides_heads(ModelSpec const& model, std::int64_t tp) {
    if (model.attention.heads % tp != 0) return false;
    if (model.window_attention && model.window_attention->heads % tp != 0) return false;
    if (!model.recurrent) return true;
    RecurrentSpec const& r = *model.recurrent;
    return r.heads % tp == 0 && r.key_heads % tp == 0;
}

std::int64_t count_mixers(ModelSpec const& model, Mixer mixer) {
    return std::count_if(model.layers.begin(), model.layers.end(), [&](LayerKind kind) { return kind.mixer == mixer; });
}

double cached_bytes(AttentionSpec const& a, double bytes_per_value, std::int64_t tp) {
    // A latent belongs to all heads: every rank keeps it whole. So is a key/value head that ranks share.
    if (a.latent) {
        double const index = a.index ? static_cast<double>(a.index->cache_bytes()) : 0;
        return static_cast<double>(a.latent->kv_rank + a.latent->rope_head_dim) * bytes_per_value + index;
    }
    std::int64_t const ranks = std::min(tp, std::max<std::int64_t>(1, a.kv_heads));
    return static_cast<double>(a.kv_heads * (a.head_dim + a.value_head_dim)) / static_cast<double>(ranks) *
           bytes_per_value;
}

double recurrent_state_bytes(ModelSpec const& model) {
    if (!model.recurrent) return 0;
    RecurrentSpec const& r = *model.recurrent;
    auto const state = static_cast<double>(r.heads * r.key_head_dim * r.value_head_dim);
    auto const reached = static_cast<double>((r.key_width() + r.value_width()) * (r.convolution - 1));
    return static_cast<double>(count_mixers(model, Mixer::recurrent)) * (4 * state + 2 * reached);
}

double kv_cache_bytes_per_token(ModelSpec const& model, double bytes_per_value, std::int64_t tp) {
    double bytes = 0;
    for (LayerKind const kind : model.layers)
        if (kind.mixer == Mixer::attention) bytes += cached_bytes(model.attention_of(kind), bytes_per_value, tp);
    return bytes;
}

}  // namespace sextant

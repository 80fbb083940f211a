#include "cost_models/serving/layer_cost.hpp"

#include "core/error.hpp"
#include "core/graph/block.hpp"
#include "core/graph/shapes.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/serving_split.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/kernel_time.hpp"
#include "cost_models/serving/engine_attention.hpp"
#include "cost_models/serving/expert_exchange.hpp"
#include "cost_models/serving/recurrent_state.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

/// What training frameworks do to share tokens among tensor-parallel ranks (every rank of an engine has them all), and
/// copies that engines' kernels of the delta rule do without (vLLM, SGLang), as they do without `around_experts`.
constexpr std::array training_only{"expert gather", "expert reduce", "moe gather", "repeat queries and keys"};

/// What `prompt_attention` and `cache_attention` price, as it depends on the tokens before.
bool is_of_attention(std::string_view name) { return name == "index choice"; }

bool is_training_only(std::string_view op) { return is_one_of(training_only, op) || is_one_of(around_experts, op); }

/// Engines multiply by both down projections of latent attention in one product: "kv down".
/// Source: vLLM fused_qkv_a_proj, SGLang fused_qkv_a_proj_with_mqa, TensorRT-LLM fused_a.
bool is_fused(std::string_view name) { return name == "q down"; }

/// Products of the shared expert, which a layer of experts names like those of a dense one.
bool is_of_shared_expert(std::string_view name) {
    return name == "mlp up" || name == "activation" || name == "mlp down";
}

ParallelPlan block_plan(ServingPlan const& plan, Precision precision) {
    ParallelPlan out;
    out.tp = plan.tp;
    out.dp = plan.attention_dp;
    out.ep = plan.ep;
    out.expert_tp = expert_ranks(plan);
    out.precision = precision;
    return out;
}

std::int64_t count_of(ModelSpec const& model, LayerKind kind) {
    return std::count(model.layers.begin(), model.layers.end(), kind);
}

/// Of a context, those that one query of a decode goes over.
std::int64_t keys_seen(AttentionSpec const& a, LayerKind kind, std::int64_t context) {
    std::int64_t keys = kind.sliding && a.window > 0 ? std::min(context, a.window) : context;
    if (a.index) keys = std::min(keys, a.index->chosen);
    return std::max<std::int64_t>(1, keys);
}

/// @pre attention is latent
LatentDecode latent_read(AttentionSpec const& a, DecodeAttention const& read) {
    return {.batch = read.batch,
            .heads = read.heads,
            .keys = read.keys,
            .kv_rank = a.latent->kv_rank,
            .rope_head_dim = a.latent->rope_head_dim,
            .cache_bytes = read.cache_bytes};
}

/// Engines add up a few tokens in kernels of their own, for which NCCL's times on Hopper stand with the constants that
/// were fitted there. On Blackwell NCCL's small messages take half as long again (two logs), those kernels do not: a
/// sum is what it would be on an H100, at most. Empty for other machines.
CollectiveCurve reduce_of_hopper(ClusterSpec const& cluster, GroupPlacement const& ranks) {
    bool const is_newer =
        cluster.accelerator.generation == "blackwell" && cluster.scale_up.kind == ScaleUpKind::switched;
    if (!is_newer || ranks.domains > 1) return {};
    ClusterSpec const hopper = find_cluster("h100-sxm", "reduce_of_hopper");
    if (ranks.size > hopper.domain_size) return {};
    return collective_curve(hopper, CollectiveKind::all_reduce, place_group(ranks.size, 1, hopper));
}

}  // namespace

LayerCosts::LayerCosts(ServingCase const& what)
    : what_(what),
      device_(what.cluster.accelerator),
      plan_(block_plan(what.plan, Precision::bf16)),
      format_(*find_gemm_format(what.plan.weights)),
      wide_(gemm_format(two_byte_precision(what.cluster.accelerator))) {
    ServingPlan const& plan = what.plan;
    std::int64_t const job = plan.accelerators();
    if (plan.tp > 1) {
        GroupPlacement const ranks = place_group(plan.tp, 1, what.cluster, job);
        reduce_ = collective_curve(what.cluster, CollectiveKind::all_reduce, ranks);
        own_reduce_ = reduce_of_hopper(what.cluster, ranks);
        gather_ = collective_curve(what.cluster, CollectiveKind::all_gather, ranks);
    }
    if (what.model.moe && plan.ep == 1 && plan.attention_dp > 1) {
        GroupPlacement const groups = place_group(plan.attention_dp, plan.tp, what.cluster, job);
        share_ = collective_curve(what.cluster, CollectiveKind::all_gather, groups);
        collect_ = collective_curve(what.cluster, CollectiveKind::reduce_scatter, groups);
    }
    if (sends_to_experts(plan)) {
        GroupPlacement ranks = place_group(plan.ep, 1, what.cluster, job);
        if (dispatcher_of(what) == Dispatcher::deduplicated) {
            ranks.copies = what.model.moe->top_k;
            ranks.expert_groups = what.model.moe->groups;
            ranks.chosen_groups = what.model.moe->chosen_groups;
        }
        exchange_ = collective_curve(what.cluster, CollectiveKind::all_to_all, ranks);
        dispatched_share_ = dispatched_bytes_per_value(what) / 2;
    }
    if (plan.pp > 1) add_sends();
}

Seconds LayerCosts::reduced(Bytes bytes) const {
    Seconds const time = reduce_.time(bytes);
    return own_reduce_.empty() ? time : std::min(time, own_reduce_.time(bytes));
}

Seconds LayerCosts::product(std::int64_t m, std::int64_t n, std::int64_t k, GemmFormat const& format) const {
    GemmShape const shape{.groups = 1, .m = std::max<std::int64_t>(1, m), .n = n, .k = k};
    return estimate_product(shape, format, device_, {.cache = CacheState::cold}).time;
}

Seconds LayerCosts::quantising(std::int64_t m, std::int64_t k, GemmFormat const& format) const {
    if (format.left >= wide_.left) return {};
    if (format.tiled) {
        GemmShape const shape{.groups = 1, .m = std::max<std::int64_t>(1, m), .n = 128, .k = k};
        GemmUse const use{.cache = CacheState::cold};
        return estimate_product(shape, format, device_, use, Quantising::included).time -
               estimate_product(shape, format, device_, use).time + what_.engine.kernel_gap.value;
    }
    // Engines round activations in one kernel that reads two bytes and writes one, or within the kernel before.
    double const values = static_cast<double>(m) * static_cast<double>(k);
    return touched(values * (wide_.left + format.left) * units::B, 1);
}

Seconds LayerCosts::touched(Bytes bytes, std::int64_t kernels) const {
    return bytes / (device_.memory_bandwidth.value * device_.memory_efficiency.value) +
           static_cast<double>(kernels) * what_.engine.kernel_gap.value;
}

LayerCosts::ExpertInput LayerCosts::input_of(Op const& op) {
    return op.name == "experts up" ? ExpertInput::tokens : ExpertInput::copies;
}

ExpertTime LayerCosts::of_experts(double tokens) const {
    ModelSpec const& model = what_.model;
    ExpertTime total;
    for (LayerKind const kind : distinct_kinds(model)) {
        if (!kind.moe) continue;
        ExpertTime layer;
        for (Op const& op : build_layer(model, kind, plan_, 1).ops)
            if (auto const* e = std::get_if<GroupedGemm>(&op.what); e && op.in(Pass::forward))
                add_experts(*e, input_of(op), tokens, layer);
        auto const layers = static_cast<double>(count_of(model, kind));
        total.reading += layer.reading * layers;
        total.compute += layer.compute * layers;
        total.floor += layer.floor * layers;
    }
    return total;
}

void LayerCosts::add_op(Op const& op, std::int64_t tokens, LayerTime& time) {
    if (!op.in(Pass::forward) || is_training_only(op.name) || is_fused(op.name) || is_of_attention(op.name)) return;
    time.kernels += 1;
    Seconds const gap = what_.engine.kernel_gap.value;
    if (auto const* g = std::get_if<Gemm>(&op.what)) {
        bool const wide = g->precision == Precision::fp32 || what_.model.only_experts_narrow;
        GemmFormat const& format = wide ? wide_ : format_;
        std::int64_t const beside = op.name == "kv down" ? what_.model.attention.latent->query_rank : 0;
        time.gemm += product(g->m, g->n + beside, g->k, format);
        double const both = static_cast<double>(g->n + beside) / static_cast<double>(g->n);
        time.gemm_at_peak += both * work_of(op, Pass::forward).executed / device_.peak_of(format).value;
        if (format.left < wide_.left) time.rounded += 1;
        time.gemm += quantising(g->m, g->k, format);
        if (format.tiled) time.kernels += 1;  // rounds the activations
        time.streaming += gap;
    } else if (auto const* e = std::get_if<GroupedGemm>(&op.what)) {
        if (input_of(op) == ExpertInput::tokens) time.expert_rounding += quantising(tokens, e->k, format_);
        time.kernels += format_.tiled ? 2 : 1;  // sorts or gathers rows; rounds them
        time.streaming += gap;
    } else if (auto const* r = std::get_if<Recurrence>(&op.what)) {
        time.kernels += static_cast<double>(recurrence_kernels(*r, Pass::forward) - 1);
    } else if (auto const* s = std::get_if<Streaming>(&op.what)) {
        time.streaming += touched(s->forward, 1);
    } else if (auto const* c = std::get_if<Collective>(&op.what)) {
        if (c->kind == CollectiveKind::all_to_all) {
            if (exchange_.empty()) return;
            time.communication += exchange_.time(c->bytes * what_.plan.expert_imbalance *
                                                 (op.name == dispatched_tokens ? dispatched_share_ : 1));
        } else if (!reduce_.empty())
            time.communication += reduced(c->bytes);
    }
}

LayerTime LayerCosts::of_tokens(std::int64_t tokens) {
    ModelSpec const& model = what_.model;
    Bytes const hidden = 2.0 * static_cast<double>(tokens * model.hidden) * units::B;
    LayerTime total;
    for (LayerKind const kind : distinct_kinds(model)) {
        LayerTime layer;
        bool const shared = kind.moe && shared_beside_routed() > 0;
        for (Op const& op : build_layer(model, kind, plan_, tokens).ops)
            if (!shared || !is_of_shared_expert(op.name)) add_op(op, tokens, layer);
        // Experts of the tensor-parallel ranks end in a sum over them; a shared expert has brought one already.
        bool const needs_sum = kind.moe && !sends_to_experts(what_.plan) && model.moe->shared_intermediate == 0;
        if (needs_sum && !reduce_.empty()) layer.communication += reduced(hidden);
        if (kind.moe && !share_.empty()) {
            Bytes const of_all = hidden * static_cast<double>(what_.plan.attention_dp);
            layer.communication += share_.time(of_all) + collect_.time(of_all);
        }
        auto const layers = static_cast<double>(count_of(model, kind));
        total.gemm += layer.gemm * layers;
        total.gemm_at_peak += layer.gemm_at_peak * layers;
        total.rounded += layer.rounded * layers;
        total.expert_rounding += layer.expert_rounding * layers;
        total.streaming += layer.streaming * layers;
        total.communication += layer.communication * layers;
        total.kernels += layer.kernels * layers;
        if (kind.moe) total.expert_layers += layers;
    }
    for (Op const& op : build_embedding(model, plan_, tokens).ops)
        add_op(op, tokens, total);
    for (auto const& [count, send] : sends_)
        total.communication += count * send.time(hidden);
    return total;
}

Seconds LayerCosts::head(std::int64_t samples) {
    ModelSpec const& model = what_.model;
    std::int64_t const width = padded_vocabulary(model.vocab, plan_) / plan_.tp;
    Seconds time = product(samples, width, model.hidden, wide_);
    Bytes const logits = 4.0 * static_cast<double>(samples * width * what_.plan.tp) * units::B;
    if (!gather_.empty()) time += gather_.time(logits / 2.0);
    // Logits to fp32, maximum or sort, draw: three passes; a handful of kernels.
    return time + touched(3.0 * logits, 6);
}

Recurrence LayerCosts::recurrence(std::int64_t tokens) const {
    RecurrentSpec const& r = *what_.model.recurrent;
    return {.batch = 1,
            .tokens = tokens,
            .heads = r.heads / what_.plan.tp,
            .key_heads = std::max<std::int64_t>(1, r.key_heads / what_.plan.tp),
            .key_dim = r.key_head_dim,
            .value_dim = r.value_head_dim,
            .chunk = r.chunk,
            .rule = r.rule};
}

Seconds LayerCosts::sparse_prompt(std::int64_t tokens, std::string_view variant) const {
    AttentionSpec const& a = what_.model.attention;
    Attention const sparse = sparse_attention(a, 1, std::max<std::int64_t>(1, a.heads / what_.plan.tp), tokens);
    // Scores of half of all pairs are written in fp32 and read again.
    double const scores = static_cast<double>(tokens) * static_cast<double>(tokens) / 2;
    return estimate_prefill(sparse, variant, device_, {}).time +
           estimate_prefill(index_scores(*a.index, 1, tokens), variant, device_, {}).time +
           touched(8 * scores * units::B, 2);
}

Seconds LayerCosts::prompt_attention(std::int64_t tokens) const {
    ModelSpec const& model = what_.model;
    Seconds total;
    for (LayerKind const kind : distinct_kinds(model)) {
        AttentionSpec const& a = model.attention_of(kind);
        auto const layers = static_cast<double>(count_of(model, kind));
        if (kind.mixer == Mixer::recurrent) total += layers * recurrence_time(recurrence(tokens), device_);
        if (kind.mixer != Mixer::attention) continue;
        std::string_view const variant = prompt_variant(what_);
        // Beyond as many tokens as are chosen, queries see the chosen ones.
        std::int64_t const dense = a.index ? std::min(tokens, a.index->chosen) : tokens;
        if (tokens > dense) total += layers * (sparse_prompt(tokens, variant) - sparse_prompt(dense, variant));
        Attention const shape{.batch = 1,
                              .heads = std::max<std::int64_t>(1, a.heads / what_.plan.tp),
                              .kv_heads = std::max<std::int64_t>(1, a.kv_heads / what_.plan.tp),
                              .queries = dense,
                              .keys = dense,
                              .window = kind.sliding ? a.window : 0,
                              .head_dim = a.head_dim,
                              .value_head_dim = a.value_head_dim};
        total += layers * estimate_prefill(shape, variant, device_, {.pads = !runs_measured_attention(what_)}).time;
    }
    return total;
}

Seconds LayerCosts::query_products(std::int64_t context) const {
    ModelSpec const& model = what_.model;
    double flops = 0;
    for (LayerKind const kind : distinct_kinds(model)) {
        if (kind.mixer != Mixer::attention) continue;
        AttentionSpec const& a = model.attention_of(kind);
        auto const heads = static_cast<double>(std::max<std::int64_t>(1, a.heads / what_.plan.tp));
        std::int64_t const width =
            a.latent ? 2 * a.latent->kv_rank + a.latent->rope_head_dim : a.head_dim + a.value_head_dim;
        double each = heads * static_cast<double>(width * keys_seen(a, kind, context));
        if (a.index && context > a.index->chosen)
            each += static_cast<double>(a.index->heads * a.index->head_dim * context);
        flops += 2 * each * static_cast<double>(count_of(model, kind));
    }
    return flops * units::flop /
           (device_.peak_of(two_byte_precision(device_)).value * device_.attention_forward_efficiency.value);
}

Seconds LayerCosts::index_step(std::int64_t sequences, std::int64_t context) const {
    KeyIndex const& index = *what_.model.attention.index;
    double const pairs = static_cast<double>(sequences) * static_cast<double>(context);
    double const flops = 2 * pairs * static_cast<double>(index.heads * index.head_dim);
    double const peak =
        device_.peak_of(two_byte_precision(device_)).value.base() * device_.attention_forward_efficiency.value;
    Bytes const read = pairs * static_cast<double>(index.cache_bytes()) * units::B;
    return std::max(flops / peak * units::s, touched(read, 0)) + touched(8 * pairs * units::B, 3);
}

Seconds LayerCosts::widening(DecodeAttention const& read) const {
    double const operations = what_.engine.fp8_widening.value;
    if (operations <= 1 || what_.plan.cache != CacheFormat::fp8 || device_.peak.contains(Precision::fp8)) return {};
    double const values = 2.0 * static_cast<double>(read.batch * read.keys * read.kv_heads * read.head_dim);
    constexpr double flops_each = 2;  // an operation is half of a multiply-add, as which the peak counts
    return values * operations * flops_each * units::flop / device_.vector_peak.value;
}

Seconds LayerCosts::cache_read(AttentionSpec const& a, DecodeAttention const& read) const {
    char const* const variant = read.cache_bytes == bytes_per_value(CacheFormat::bf16) ? "bf16/bf16" : "bf16/fp8";
    if (a.latent) return estimate_latent_decode(latent_read(a, read), variant, device_, CacheState::cold).time;
    return estimate_decode(read, variant, device_, CacheState::cold, what_.engine.grouped_heads).time;
}

Seconds LayerCosts::split_cache_read(AttentionSpec const& a, DecodeAttention const& read) const {
    constexpr std::int64_t fewest_keys = 128;  // a tile of these kernels
    bool const shares = sharing_of(read, what_.engine.grouped_heads) != DecodeSharing::unshared;
    std::int64_t const readers = a.latent ? 1 : shares ? read.kv_heads : read.heads;
    Seconds time = cache_read(a, read);
    for (std::int64_t parts = 2; parts * fewest_keys <= read.keys; parts *= 2) {
        DecodeAttention part = read;
        part.batch *= parts;
        part.keys = (read.keys + parts - 1) / parts;
        if (part.batch * readers > device_.multiprocessors.value) break;
        std::int64_t const width = a.latent ? a.latent->kv_rank : read.head_dim;
        Bytes const partial = 4.0 * static_cast<double>(part.batch * read.heads * width) * units::B;
        time = std::min(time, cache_read(a, part) + touched(2.0 * partial, 1));
    }
    DecodeAttention wide = read;
    wide.cache_bytes = bytes_per_value(CacheFormat::bf16);
    return std::min(time, cache_read(a, wide));
}

Seconds LayerCosts::cache_attention(std::int64_t sequences, std::int64_t context) const {
    ModelSpec const& model = what_.model;
    bool const splits = what_.plan.cache != CacheFormat::bf16 && !runs_measured_attention(what_);
    Seconds total;
    for (LayerKind const kind : distinct_kinds(model)) {
        AttentionSpec const& a = model.attention_of(kind);
        auto const layers = static_cast<double>(count_of(model, kind));
        if (kind.mixer == Mixer::recurrent)
            total += layers * touched(moved_states(what_, static_cast<double>(sequences)), 1);
        if (kind.mixer != Mixer::attention) continue;
        DecodeAttention const read{.batch = sequences,
                                   .heads = std::max<std::int64_t>(1, a.heads / what_.plan.tp),
                                   .kv_heads = std::max<std::int64_t>(1, a.kv_heads / what_.plan.tp),
                                   .keys = keys_seen(a, kind, context),
                                   .head_dim = a.head_dim,
                                   .cache_bytes = bytes_per_value(what_.plan.cache)};
        Seconds time = splits ? split_cache_read(a, read) : cache_read(a, read);
        time = std::max(time, widening(a.latent ? latent_shape(latent_read(a, read)) : read));
        if (a.index && context > a.index->chosen) time += index_step(sequences, context);
        total += layers * time;
    }
    return total;
}

}  // namespace sextant

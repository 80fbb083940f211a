#include "core/graph/shapes.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// Projections of queries, keys and values from the hidden state, [T, h] -> [T, (a d + kv (d + d_v)) / t].
void append_query_key_value(BlockBuilder& b, AttentionSpec const& a) {
    std::int64_t const tp = b.plan.tp;
    std::int64_t const heads = a.heads / tp;
    std::int64_t const kv_heads = std::max<std::int64_t>(1, a.kv_heads / tp);
    std::int64_t const queries = (a.gated ? 2 : 1) * heads * a.head_dim;
    std::int64_t const values = a.keys_are_values ? 0 : kv_heads * a.value_head_dim;
    std::int64_t const all = queries + kv_heads * a.head_dim + values;
    if (layer_form(b.plan) == LayerForm::by_op) {
        b.gemm("q", Split::output, queries, b.model.hidden);
        b.gemm("k", Split::output, kv_heads * a.head_dim, b.model.hidden);
        if (values > 0) b.gemm("v", Split::output, values, b.model.hidden);
    } else {
        b.gemm("qkv", Split::output, all, b.model.hidden);
    }
    b.adapters({AdapterTarget::qkv}, b.tokens, all, b.model.hidden, Split::output);
    b.adapters({AdapterTarget::q}, b.tokens, queries, b.model.hidden, Split::output);
    b.adapters({AdapterTarget::k}, b.tokens, kv_heads * a.head_dim, b.model.hidden, Split::output);
    if (values > 0) b.adapters({AdapterTarget::v}, b.tokens, values, b.model.hidden, Split::output);
}

/// Appends what makes queries, keys and values of latents.
template <class Append>
void expand_latents(BlockBuilder& b, Append append) {
    b.module_group(RecomputeModule::mla_up_proj, ActivationGroup::qkv, append);
}

/// Values of a token that enter the tensor-parallel region: every rank makes the latents of its own tokens, and what is
/// gathered of all is these, and the hidden state where queries have no latent. Source: Megatron-Core,
/// multi_latent_attention.py (`parallel_mode="duplicated"` of the down projections).
std::int64_t entering_width(LatentAttention const& latent, std::int64_t hidden) {
    return (latent.query_rank > 0 ? latent.query_rank : hidden) + latent.kv_rank + latent.rope_head_dim;
}

/// Low-rank projections of multi-head latent attention; the down projections are small and every tensor-parallel rank
/// computes them on the tokens of its norm region.
void append_latent_projections(BlockBuilder& b) {
    AttentionSpec const& a = b.model.attention;
    LatentAttention const& latent = *a.latent;
    std::int64_t const heads = a.heads / b.plan.tp;
    auto const tokens = static_cast<double>(b.tokens);
    auto const rows = static_cast<std::int64_t>(b.norm_tokens);
    if (latent.query_rank > 0) {
        b.gemm_on(rows, "q down", latent.query_rank, b.model.hidden, b.plan.precision);
        b.adapters({AdapterTarget::q}, rows, latent.query_rank, b.model.hidden, Split::none);
        b.streaming("q norm", 4 * b.norm_tokens * static_cast<double>(latent.query_rank), 2.0);
        // Its norm is the input of what expands it.
        if (b.needs_input({AdapterTarget::q}))
            b.keep("q latent and its norm", "4 T r_q [/t with SP]",
                   4 * b.norm_tokens * static_cast<double>(latent.query_rank));
        else
            b.keep("q latent", "2 T r_q [/t with SP]", 2 * b.norm_tokens * static_cast<double>(latent.query_rank));
        expand_latents(b, [&] {
            b.gemm("q up", Split::output, heads * a.head_dim, latent.query_rank);
            b.adapters({AdapterTarget::q}, b.tokens, heads * a.head_dim, latent.query_rank, Split::output);
        });
    } else {
        expand_latents(b, [&] {
            b.gemm("q", Split::output, heads * a.head_dim, b.model.hidden);
            b.adapters({AdapterTarget::q}, b.tokens, heads * a.head_dim, b.model.hidden, Split::output);
        });
    }
    b.gemm_on(rows, "kv down", latent.kv_rank + latent.rope_head_dim, b.model.hidden, b.plan.precision);
    b.adapters({AdapterTarget::k, AdapterTarget::v}, rows, latent.kv_rank + latent.rope_head_dim, b.model.hidden,
               Split::none);
    b.streaming("kv norm", 4 * b.norm_tokens * static_cast<double>(latent.kv_rank), 2.0);
    if (b.needs_input({AdapterTarget::k, AdapterTarget::v}))
        b.keep("kv latent and its norm", "2 T (2 r_kv + d_r) [/t with SP]",
               2 * b.norm_tokens * static_cast<double>(2 * latent.kv_rank + latent.rope_head_dim));
    else
        b.keep("kv latent", "2 T (r_kv + d_r) [/t with SP]",
               2 * b.norm_tokens * static_cast<double>(latent.kv_rank + latent.rope_head_dim));
    std::int64_t const expanded = heads * (latent.nope_head_dim + a.value_head_dim);
    expand_latents(b, [&] {
        b.gemm("kv up", Split::output, expanded, latent.kv_rank);
        b.adapters({AdapterTarget::k, AdapterTarget::v}, b.tokens, expanded, latent.kv_rank, Split::output);
        b.streaming("assemble q, k, v", 4 * tokens * static_cast<double>(heads * (2 * a.head_dim + a.value_head_dim)),
                    1.0, 2);
    });
}

/// What chooses the keys of sparse attention; nothing to choose in a short document. Scores are written in fp32 and
/// read by what finds the largest.
void append_key_index(BlockBuilder& b) {
    KeyIndex const& index = *b.model.attention.index;
    // Every rank scores all keys; no gradient goes back through them. Source: Megatron-Core, dsa.py.
    if (b.plan.tp > 1 && b.plan.sequence_parallel == Switch::on)
        b.collective("index in", CollectiveKind::all_gather, GroupKind::tensor,
                     2 * static_cast<double>(b.tokens) * b.hidden, Passes::forward);
    b.gemm("index query", Split::none, index.heads * index.head_dim, b.model.attention.latent->query_rank);
    b.gemm("index key", Split::none, index.head_dim + index.heads, b.model.hidden);
    if (b.document <= index.chosen) return;
    b.block.ops.push_back({.name = "index scores", .what = index_scores(index, b.documents, b.document)});
    b.streaming(index_choice, 4 * static_cast<double>(b.tokens) * static_cast<double>(b.document), 0, 2);
}

void append_context_exchange(BlockBuilder& b, double key_value_bytes, double query_bytes, double output_bytes) {
    if (b.plan.cp == 1) return;
    auto const cp = static_cast<double>(b.plan.cp);
    auto const ring = [&](double bytes_of_step, Passes passes) {
        b.collective("cp ring", CollectiveKind::send_receive, GroupKind::context, (cp - 1) * bytes_of_step, passes);
        std::get<Collective>(b.block.ops.back().what).messages = b.plan.cp - 1;
    };
    switch (b.plan.cp_mode) {
        case ContextParallel::ring:
            // cp - 1 steps, each sends this rank's keys and values; the backward pass also sends their gradients.
            ring(key_value_bytes, Passes::forward);
            ring(2 * key_value_bytes, Passes::backward);
            break;
        case ContextParallel::all_gather:
            b.collective("cp gather", CollectiveKind::all_gather, GroupKind::context, cp * key_value_bytes,
                         Passes::forward);
            b.collective("cp gather", CollectiveKind::all_gather, GroupKind::context, cp * key_value_bytes,
                         Passes::backward);
            b.collective("cp reduce", CollectiveKind::reduce_scatter, GroupKind::context, cp * key_value_bytes,
                         Passes::backward);
            // Gathered again, and the gradients of all before they are reduced. Source: Transformer Engine,
            // context_parallel.py (`AttnFuncWithCPAndKVAllGather`).
            b.block.workspace = 2 * cp * key_value_bytes * units::B;
            break;
        case ContextParallel::ulysses:
            b.collective("cp heads", CollectiveKind::all_to_all, GroupKind::context, query_bytes + key_value_bytes,
                         Passes::both);
            b.collective("cp heads", CollectiveKind::all_to_all, GroupKind::context, output_bytes, Passes::both);
            break;
    }
}

/// Whether heads are exchanged for tokens.
bool exchanges_heads(ParallelPlan const& plan) { return plan.cp > 1 && plan.cp_mode == ContextParallel::ulysses; }

/// Widths of what one rank holds of a token: its queries, keys and values, and outputs.
struct HeadWidths {
    HeadWidths(AttentionSpec const& a, ParallelPlan const& plan)
        : heads(a.heads / plan.tp),
          // Latent attention expands keys and values to all heads before the product.
          kv_heads(a.latent ? heads : std::max<std::int64_t>(1, a.kv_heads / plan.tp)),
          // Every rank that heads are exchanged with needs one of them. Source: DeepSpeed's ulysses_sp.py
          // (`kv_replication_factor`), arXiv:2506.13996 sec. 3.2.
          attended_kv_heads(exchanges_heads(plan) ? std::max(kv_heads, plan.cp) : kv_heads),
          query(static_cast<double>(heads * a.head_dim)),
          key_value(static_cast<double>(kv_heads * (a.head_dim + a.value_head_dim))),
          attended_key_value(static_cast<double>(attended_kv_heads * (a.head_dim + a.value_head_dim))),
          output(static_cast<double>(heads * a.value_head_dim)) {}
    std::int64_t heads;
    std::int64_t kv_heads;
    std::int64_t attended_kv_heads;
    double query;
    double key_value;
    double attended_key_value;
    double output;
};

/// Elements of a token's queries and keys that rotary embedding turns: all, or of latent attention a part of each query
/// and one key that all heads share.
double rotated_width(AttentionSpec const& a, HeadWidths const& width) {
    if (!a.latent) return width.query + width.key_value / 2;
    return static_cast<double>((width.heads + 1) * a.latent->rope_head_dim);
}

/// The product itself, on the heads and positions that one rank of the context-parallel group has.
Attention core_of(BlockBuilder const& b, HeadWidths const& width, LayerKind kind) {
    AttentionSpec const& a = b.model.attention_of(kind);
    ParallelPlan const& plan = b.plan;
    bool const ring = plan.cp_mode == ContextParallel::ring && plan.cp > 1;
    bool const ulysses = exchanges_heads(plan);
    if (a.index && b.document > a.index->chosen) return sparse_attention(a, b.documents, width.heads, b.document);
    return {.batch = b.documents,
            .heads = ulysses ? std::max<std::int64_t>(1, width.heads / plan.cp) : width.heads,
            .kv_heads = ulysses ? width.attended_kv_heads / plan.cp : width.kv_heads,
            .queries = ulysses ? b.document : ceil_div(b.document, plan.cp),
            .keys = b.document,
            .window = kind.sliding ? a.window : 0,
            .pieces = ring ? plan.cp : 1,
            .head_dim = a.head_dim,
            .value_head_dim = a.value_head_dim,
            .kernel = plan.attention,
            .dropout = plan.dropout,
            .causal = b.model.causal ? Switch::on : Switch::off};
}

/// What the backward pass needs of the product: the scores without a fused kernel, their statistics with one.
void keep_scores(BlockBuilder& b, Attention const& core, HeadWidths const& width) {
    if (core.kernel == AttentionKernel::flash) {
        b.keep(softmax_statistics, "4 T a / t", 4 * static_cast<double>(b.tokens) * static_cast<double>(width.heads));
        return;
    }
    double const scores = scores_in_memory(core);
    bool const eager = core.kernel == AttentionKernel::eager;
    if (eager) b.keep("softmax output in fp32", "4 a s^2 b / (t cp)", 4 * scores);
    if (!eager || core.dropout == Switch::off) b.keep("softmax output", "2 a s^2 b / (t cp)", 2 * scores);
    if (core.dropout == Switch::on) {
        b.keep("attention dropout mask", "a s^2 b / (t cp)", scores);
        b.keep("attention dropout output", "2 a s^2 b / (t cp)", 2 * scores);
    }
}

/// Attention's output, which its own backward pass and the linear layer after it need: one tensor, or with Ulysses two,
/// of the rank's heads and, exchanged, of its tokens. Source: AttnFuncWithCPAndQKVOA2A of Transformer Engine.
void keep_output(BlockBuilder& b, AttentionSpec const& a, double bytes) {
    constexpr std::string_view formula = "2 T a d_v / t";
    if (!exchanges_heads(b.plan)) {
        b.keep_input(attention_output, formula, bytes, a.gated ? NarrowInput::no : NarrowInput::beside);
        return;
    }
    b.keep(attention_output, formula, bytes);
    if (a.gated)
        b.keep("exchanged attention output", formula, bytes);
    else if (b.needs_input({AdapterTarget::output}))
        b.keep_input("exchanged attention output", formula, bytes);
}

}  // namespace

Attention sparse_attention(AttentionSpec const& a, std::int64_t batch, std::int64_t heads, std::int64_t tokens) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = 1,
            .queries = tokens,
            .keys = tokens,
            .window = a.index->chosen,
            .head_dim = a.latent->kv_rank + a.latent->rope_head_dim,
            .value_head_dim = a.latent->kv_rank};
}

Attention index_scores(KeyIndex const& index, std::int64_t batch, std::int64_t tokens) {
    return {.batch = batch,
            .heads = index.heads,
            .kv_heads = 1,
            .queries = tokens,
            .keys = tokens,
            .head_dim = index.head_dim,
            .value_head_dim = 0};
}

void append_attention(BlockBuilder& b, LayerKind kind) {
    AttentionSpec const& a = b.model.attention_of(kind);
    auto const tokens = static_cast<double>(b.tokens);
    HeadWidths const width(a, b.plan);

    b.enter_tensor_region("attention in", b.joint_entry() ? joint_readers : attention_readers, b.plan.precision,
                          a.latent ? entering_width(*a.latent, b.model.hidden) : 0);
    bool const normed = a.query_key_norm != AttentionSpec::QueryKeyNorm::none;
    if (a.latent)
        append_latent_projections(b);
    else if (normed)
        append_query_key_value(b, a);  // whose results the norms' backward needs, too
    else
        b.group(ActivationGroup::qkv, [&] { append_query_key_value(b, a); });
    if (normed) {
        double const query_key_bytes = 2 * tokens * (width.query + width.key_value / 2);
        b.group(ActivationGroup::qkv, [&] { b.streaming("q k norm", 2 * query_key_bytes, 2.0, 2); });
        b.keep("q k before norm", "2 T (a + kv) d / t", query_key_bytes);
    }
    // Of latent attention, rotary embedding belongs to what expands the latents.
    auto const expansion = [&](auto append) {
        if (a.latent)
            expand_latents(b, append);
        else
            b.group(ActivationGroup::qkv, append);
    };
    if (b.model.position == PositionKind::rotary)
        expansion([&] { b.streaming("rotary", 4 * tokens * rotated_width(a, width), 1.0, 2); });

    if (a.index) append_key_index(b);
    Attention const core = core_of(b, width, kind);
    // Scores in memory are no part of it: where they are made again, so is all.
    ActivationGroup const context =
        core.kernel == AttentionKernel::flash ? ActivationGroup::context : ActivationGroup::other;
    b.group(context, [&] {
        append_context_exchange(b, 2 * tokens * width.attended_key_value, 2 * tokens * width.query,
                                2 * tokens * width.output);
        b.module(RecomputeModule::core_attn, [&] { b.block.ops.push_back({.name = "attention", .what = core}); });
        // Each further ring step reads the fp32 running output and statistics, and writes them.
        if (core.pieces > 1)
            b.streaming("merge ring steps", 10 * static_cast<double>(core.pieces - 1) * tokens * width.output, 1.0,
                        core.pieces - 1);
    });

    expansion([&] {
        b.keep("q, k, v", "2 T (a d + kv (d + d_v)) / t", 2 * tokens * (width.query + width.attended_key_value));
    });
    if (width.attended_kv_heads < width.heads) {
        double const repeats = static_cast<double>(width.heads - width.attended_kv_heads) *
                               static_cast<double>(a.head_dim + a.value_head_dim);
        b.group(ActivationGroup::qkv, [&] {
            b.keep_copy(KeptCopy::repeated, "keys and values repeated", "T (a - kv) (d + d_v) / t", repeats * tokens);
        });
    }
    b.group(context, [&] {
        std::size_t const before = b.block.saved.size();
        b.module(RecomputeModule::core_attn, [&] { keep_scores(b, core, width); });
        for (std::size_t i = before; i < b.block.saved.size(); ++i)
            b.block.saved[i].scores = Switch::on;
        keep_output(b, a, 2 * tokens * width.output);
    });
    if (a.gated) {
        // Reads the output and its gate, writes the product; backward reads these and a gradient and writes two.
        b.streaming("output gate", 6 * tokens * width.output, 5.0 / 3);
        b.keep("output gate and gated output", "4 T a d_v / t", 4 * tokens * width.output);
    }
    b.group(ActivationGroup::attention_out, [&] {
        b.gemm("attention out", Split::input, b.model.hidden, width.heads * a.value_head_dim);
        b.adapters({AdapterTarget::output}, b.tokens, b.model.hidden, width.heads * a.value_head_dim, Split::input);
        if (!b.joint_exit()) b.leave_tensor_region("attention out", b.plan.precision);
    });
}

}  // namespace sextant

// Profiling tables of Vidur (data/profiling): compute mlp.csv and attention.csv, network all_reduce.csv and
// send_recv.csv. Times are milliseconds, everything is in two-byte floats, sizes are of the whole model and one of
// `num_tensor_parallel_workers` ranks was measured; `size` of a collective is in bytes, of all_gather and
// reduce_scatter those of one rank. Source: vidur/profiling/mlp/mlp_impl.py, collectives/collectives_impl.py.
#include "calibrate/import/importer.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace sextant {
namespace {

bool recognises(std::string_view text) {
    return text.substr(0, text.find('\n')).find("time_stats.") != std::string_view::npos;
}

/// Where a row's rows go, and what they have in common.
struct Target {
    RowCells const& row;
    std::string source, device;
    ImportedTables& out;

    /// Milliseconds, where the row has them; older profiles lack some.
    std::optional<double> time(char const* op) const {
        auto const ms = row.number(fmt::format("time_stats.{}.median", op));
        if (ms && *ms > 0) return ms;
        ++out.skipped[fmt::format("{} has no time", op)];
        return std::nullopt;
    }
    /// Operators that no kernel of the tables is.
    void leave_out(std::initializer_list<char const*> ops) const {
        for (char const* op : ops)
            if (row.number(fmt::format("time_stats.{}.median", op)).value_or(0) > 0)
                ++out.skipped[fmt::format("{} is no kernel that is modelled", op)];
    }
    void product(char const* op, std::int64_t m, std::int64_t n, std::int64_t k) const {
        auto const ms = time(op);
        if (!ms) return;
        out.add(ImportedProduct{.source = source,
                                .device = device,
                                .kernel = op,
                                .dtype = "float16",
                                .m = m,
                                .n = n,
                                .k = k,
                                .microseconds = 1e3 * *ms});
    }
    void memory(char const* op, double bytes) const {
        auto const ms = time(op);
        if (!ms) return;
        out.add(ImportedMemoryKernel{.source = source,
                                     .device = device,
                                     .kernel = op,
                                     .dtype = "fp16",
                                     .bytes = bytes,
                                     .microseconds = 1e3 * *ms});
    }
};

std::int64_t divided(std::int64_t value, std::int64_t ranks) {
    if (value % ranks != 0) throw RowSkip("sizes do not divide over the tensor-parallel workers");
    return value / ranks;
}

void add_layer(Target const& to) {
    RowCells const& row = to.row;
    std::int64_t const tokens = needed_count(row, "num_tokens");
    std::int64_t const hidden = needed_count(row, "n_embd");
    std::int64_t const heads = needed_count(row, "n_head");
    std::int64_t const kv_heads = needed_count(row, "n_kv_head");
    std::int64_t const ranks = needed_count(row, "num_tensor_parallel_workers");
    bool const gated = lower_case(row.stated("use_gated_mlp")) == "true";
    if (hidden % heads != 0) throw RowSkip("n_embd is no multiple of n_head");
    std::int64_t const ffn = divided(needed_count(row, "n_expanded_embd"), ranks);
    // Key-value heads are repeated where there are fewer than ranks.
    std::int64_t const local_heads = divided(heads, ranks) + 2 * std::max<std::int64_t>(1, kv_heads / ranks);
    to.leave_out({"emb", "attn_rope"});
    to.product("attn_pre_proj", tokens, local_heads * (hidden / heads), hidden);
    to.product("attn_post_proj", tokens, hidden, divided(hidden, ranks));
    to.product("mlp_up_proj", tokens, (gated ? 2 : 1) * ffn, hidden);
    to.product("mlp_down_proj", tokens, hidden, ffn);
    auto const elements = static_cast<double>(tokens) * static_cast<double>(hidden);
    to.memory("input_layernorm", 4 * elements);
    to.memory("post_attention_layernorm", 4 * elements);
    // A block without a second normalisation adds the results of attention and MLP and the residual: two additions.
    auto const measured = [&](char const* op) {
        return row.number(fmt::format("time_stats.{}.median", op)).value_or(0) > 0;
    };
    bool const parallel = measured("input_layernorm") && !measured("post_attention_layernorm");
    to.memory("add", (parallel ? 12 : 6) * elements);
    to.memory("mlp_act", (gated ? 6 : 4) * static_cast<double>(tokens) * static_cast<double>(ffn));
}

void add_attention(Target const& to) {
    RowCells const& row = to.row;
    bool const prefill = lower_case(row.stated("is_prefill")) == "true";
    std::int64_t const ranks = needed_count(row, "num_tensor_parallel_workers");
    std::int64_t const heads = needed_count(row, "n_q_head");
    std::int64_t const past = row.count("kv_cache_size").value_or(0);
    std::int64_t const hidden = needed_count(row, "n_embd");
    if (hidden % heads != 0) throw RowSkip("n_embd is no multiple of n_q_head");
    to.leave_out({"attn_input_reshape", "attn_kv_cache_save", "attn_output_reshape"});
    double const ms = needed_number(row, prefill ? "time_stats.attn_prefill.median" : "time_stats.attn_decode.median");
    if (!prefill && past == 0) throw RowSkip("decode from an empty cache");
    to.out.add(ImportedAttention{.source = to.source,
                                 .device = to.device,
                                 .kind = prefill ? "context" : "generation",
                                 .dtype = "float16",
                                 .cache_dtype = "float16",
                                 .batch = needed_count(row, "batch_size"),
                                 .length = prefill ? needed_count(row, "prefill_chunk_size") : 1,
                                 .past = past,
                                 .heads = divided(heads, ranks),
                                 .kv_heads = std::max<std::int64_t>(1, needed_count(row, "n_kv_head") / ranks),
                                 .head_dim = hidden / heads,
                                 .microseconds = 1e3 * ms});
}

void add_collective(Target const& to, ImportRequest const& request) {
    RowCells const& row = to.row;
    std::string const name = row.stated("collective");
    if (row.count("rank").value_or(0) != 0) throw RowSkip("another rank of the same run");
    std::int64_t const ranks = needed_count(row, "num_workers");
    std::int64_t const per_node = std::min(ranks, needed_count(row, "devices_per_node"));
    if (ranks % per_node != 0) throw RowSkip("num_workers is no multiple of devices_per_node");
    // These two have a buffer of `size` on each rank, and one of all of them, which is what nccl-tests counts.
    bool const of_one_rank = name == "all_gather" || name == "reduce_scatter";
    double const bytes = needed_number(row, "size") * (of_one_rank ? static_cast<double>(ranks) : 1);
    to.out.add(ImportedCollective{.run = fmt::format("{} {} {}x{}", request.name, name, ranks / per_node, per_node),
                                  .source = to.source,
                                  .device = to.device,
                                  .library_version = "",
                                  .collective = name == "send_recv" ? "sendrecv" : name,
                                  .nodes = ranks / per_node,
                                  .per_node = per_node,
                                  .bytes = bytes,
                                  .microseconds = 1e3 * needed_number(row, "time_stats." + name + ".median")});
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    CsvTable const table = parse_csv(text, request.name);
    ImportedTables out;
    for (CsvRecord const& record : table.records) {
        RowCells const row(table, record);
        out.or_skip([&] {
            Target const to{.row = row,
                            .source = source_of(request, "vidur " + request.name),
                            .device = device_of(request, ""),
                            .out = out};
            if (table.find("collective"))
                add_collective(to, request);
            else if (table.find("is_prefill"))
                add_attention(to);
            else
                add_layer(to);
        });
    }
    return out;
}

}  // namespace

extern constinit Importer const vidur_importer;
constinit Importer const vidur_importer{
    .name = "vidur",
    .summary = "Vidur's profiling tables: mlp, attention, all_reduce, send_recv",
    .source = "github.com/microsoft/vidur data/profiling",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant

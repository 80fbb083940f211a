// Performance tables of AIConfigurator's collectors (systems/data/DEVICE/.../*_perf.txt, CSV): gemm_perf, context_ and
// generation_attention_perf, generation_mla_perf, mla_bmm_perf, nccl_perf. Latencies are milliseconds, `message_size`
// of nccl_perf counts elements.
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sextant {
namespace {

/// Tables that collectors write beside these, by their column.
struct OtherTable {
    char const* column;
    char const* what;
};
constexpr std::array other_tables{
    OtherTable{"moe_dtype", "experts (moe: a row is routing, both grouped products and the activation together)"},
    OtherTable{"allreduce_dtype", "an engine's own all-reduce (custom_allreduce)"}};
constexpr std::array read_tables{"gemm_dtype", "attn_dtype", "mla_dtype", "bmm_dtype", "nccl_dtype"};

bool recognises(std::string_view text) {
    for (char const* column : read_tables)
        if (header_has(text, {column, "latency"})) return true;
    return std::any_of(other_tables.begin(), other_tables.end(), [&](OtherTable const& table) {
        return header_has(text, {table.column, "latency"});
    });
}

std::string described(RowCells const& row) {
    return fmt::format("aiconfigurator {} {}", row.text("framework"), row.text("version"));
}

void add_product(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    out.add(ImportedProduct{.source = source_of(request, described(row)),
                            .device = device_of(request, row.text("device")),
                            .kernel = row.text("kernel_source"),
                            .dtype = row.stated("gemm_dtype"),
                            .m = needed_count(row, "m"),
                            .n = needed_count(row, "n"),
                            .k = needed_count(row, "k"),
                            .microseconds = 1e3 * needed_number(row, "latency"),
                            .cache = CacheState::rotated});  // collector/trtllm/collect_gemm.py: copies take turns
}

void add_attention(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    std::string const op = row.stated("op_name");
    if (op != "context_attention" && op != "generation_attention")
        throw RowSkip(fmt::format("no model of the op '{}'", op.substr(0, 40)));
    std::int64_t const length = needed_count(row, "isl");
    std::int64_t const past = row.count("step").value_or(0);
    std::int64_t const window = row.count("window_size").value_or(0);  // 0: none
    if (window > 0 && window - past < length) throw RowSkip("attention with a sliding window");
    if (row.count("beam_width").value_or(1) > 1) throw RowSkip("beam search");
    out.add(ImportedAttention{.source = source_of(request, described(row)),
                              .device = device_of(request, row.text("device")),
                              .kind = op == "context_attention" ? "context" : "generation",
                              .dtype = row.stated("attn_dtype"),
                              .cache_dtype = row.stated("kv_cache_dtype"),
                              .batch = needed_count(row, "batch_size"),
                              .length = length,
                              .past = past,
                              .heads = needed_count(row, "num_heads"),
                              .kv_heads = needed_count(row, "num_key_value_heads"),
                              .head_dim = needed_count(row, "head_dim"),
                              .microseconds = 1e3 * needed_number(row, "latency")});
}

/// Of DeepSeek-V2 and V3, as every collector has it: the latent, the rotated part of the keys, a head's values and the
/// part of its keys that comes from the latent.
constexpr std::int64_t latent_rank = 512, rotated_size = 64, value_size = 128, unrotated_size = 128;

/// Heads of the rank that was measured, which tables of 2025 do not say beside the ranks of DeepSeek-V3's 128 heads.
std::int64_t heads_of_rank(RowCells const& row) {
    if (auto const heads = row.count("num_heads")) return *heads;
    return 128 / needed_count(row, "tp_size");
}

/// A decode of absorbed latent attention: one key-value head of 576 values, which are keys and, of them 512, values.
void add_latent_decode(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    std::string const op = row.stated("op_name");
    if (!row.text("gemm_type").empty() || op.find("module") != std::string::npos)
        throw RowSkip("a module of latent attention, with its products");
    if (op == "mla_context" || op == "context_mla")
        throw RowSkip("a prefill of latent attention, whose keys and values differ in size");
    if (op != "mla_generation" && op != "generation_mla")
        throw RowSkip(fmt::format("no model of the op '{}'", op.substr(0, 40)));
    if (needed_count(row, "isl") != 1) throw RowSkip("a decode that is not of one token (a module, with its products)");
    out.add(ImportedAttention{.source = source_of(request, described(row)),
                              .device = device_of(request, row.text("device")),
                              .kind = "generation",
                              .dtype = row.stated("mla_dtype"),
                              .cache_dtype = row.stated("kv_cache_dtype"),
                              .batch = needed_count(row, "batch_size"),
                              .length = 1,
                              .past = needed_count(row, "step"),
                              .heads = heads_of_rank(row),
                              .kv_heads = 1,
                              .head_dim = latent_rank + rotated_size,
                              .microseconds = 1e3 * needed_number(row, "latency")});
}

/// The products around such a decode, one a head: queries into the latent, and what was read out of it. Those in fp8
/// have scales of blocks and quantise their activations.
void add_latent_product(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    std::string const op = row.stated("op_name"), dtype = row.stated("bmm_dtype");
    bool const is_before = op == "mla_gen_pre";
    if (!is_before && op != "mla_gen_post") throw RowSkip(fmt::format("no model of the op '{}'", op.substr(0, 40)));
    out.add(ImportedProduct{.source = source_of(request, described(row)),
                            .device = device_of(request, row.text("device")),
                            .kernel = op,
                            .dtype = dtype == "fp8" ? "fp8_block" : dtype,
                            .m = needed_count(row, "num_tokens"),
                            .n = is_before ? latent_rank : value_size,
                            .k = is_before ? unrotated_size : latent_rank,
                            .microseconds = 1e3 * needed_number(row, "latency"),
                            .batch = needed_count(row, "num_heads")});
}

void add_collective(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    std::string const dtype = row.stated("nccl_dtype");
    std::string const op = row.stated("op_name");
    std::int64_t const gpus = needed_count(row, "num_gpus");
    // The collector runs one process with all its devices, so they are of one node.
    out.add(ImportedCollective{.run = fmt::format("{} {} {} {}", request.name, op, dtype, gpus),
                               .source = source_of(request, described(row)),
                               .device = device_of(request, row.text("device")),
                               .library_version = row.text("version"),
                               .collective = op,
                               .nodes = 1,
                               .per_node = gpus,
                               .bytes = needed_number(row, "message_size") * element_bytes(dtype),
                               .microseconds = 1e3 * needed_number(row, "latency")});
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    CsvTable const table = parse_csv(text, request.name);
    static_cast<void>(table.require({"latency"}));
    bool const is_read = std::any_of(read_tables.begin(), read_tables.end(),
                                     [&](char const* column) { return table.find(column).has_value(); });
    for (OtherTable const& other : other_tables)
        if (!is_read && table.find(other.column))
            throw InputError(
                "{}: no model of tables of {} (gemm, attention, generation_mla, mla_bmm and nccl are read)",
                request.name, other.what);
    ImportedTables out;
    for (CsvRecord const& record : table.records) {
        RowCells const row(table, record);
        out.or_skip([&] {
            if (table.find("gemm_dtype"))
                add_product(row, request, out);
            else if (table.find("attn_dtype"))
                add_attention(row, request, out);
            else if (table.find("mla_dtype"))
                add_latent_decode(row, request, out);
            else if (table.find("bmm_dtype"))
                add_latent_product(row, request, out);
            else
                add_collective(row, request, out);
        });
    }
    return out;
}

}  // namespace

extern constinit Importer const aiconfigurator_importer;
constinit Importer const aiconfigurator_importer{
    .name = "aiconfigurator",
    .summary = "AIConfigurator's gemm, attention, generation_mla, mla_bmm and nccl performance tables",
    .source = "github.com/ai-dynamo/aiconfigurator collector/",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant

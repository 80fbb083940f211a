#include "core/measurements/kernel_row.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/product_count.hpp"
#include "core/measurements/source_name.hpp"
#include "core/measurements/stated_format.hpp"
#include "core/measurements/stated_rate.hpp"
#include "core/ops/work.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace sextant {
namespace {

std::int64_t needed(RowCells const& row, std::string_view column) { return need(row.count(column), column); }

std::optional<Seconds> microseconds(std::optional<double> const& value) {
    if (!value || *value == 0) return std::nullopt;
    return *value * units::us;
}

/// Whether the quantisation of activations is in the time, as the row says, else as AIConfigurator's collectors measure
/// (collector/trtllm/collect_gemm.py) and others do not.
void read_quantised(RowCells const& row, GemmFormat const& format, KernelCase& out) {
    std::string const said = lower_case(row.text("quantised"));
    if (said == "before" || said == "with") {
        out.quantised = said == "with" ? Quantised::with_product : Quantised::before;
        return;
    }
    if (!is_blank_cell(said)) throw RowSkip("quantised is neither 'with' nor 'before'");
    if (!format.quantises || is_aiconfigurator(out.source)) return;
    out.quantised = Quantised::before;
    out.assumptions.emplace_back("activations came quantised (the column quantised says 'with' where they did not)");
}

void read_product(RowCells const& row, KernelCase& out) {
    std::string const dtype = row.stated("dtype");
    out.measured = microseconds(row.number("latency_us"));
    Gemm gemm;
    auto const m = row.count("m");
    auto const n = row.count("n");
    auto const k = row.count("k");
    gemm.m = need(m, "m");
    gemm.n = need(n, "n");
    gemm.k = need(k, "k");
    GemmFormat const& format = needed_format(dtype);
    gemm.precision = format.precision;
    read_quantised(row, format, out);
    if (auto const bytes = row.count("result_bytes")) out.result_bytes = need(bytes, "result_bytes");
    out.products = products_in(row);
    require_rate(row, stated_tflops, out.measured,
                 {2 * static_cast<double>(out.products) * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                  static_cast<double>(gemm.k)});
    out.variant = format.name;
    out.kind = fmt::format("product {}", format.name);
    if (out.products > 1) {
        out.kind += ", in a batch";
        out.assumptions.emplace_back("each product of a batch has both operands of its own");
    }
    out.what = gemm;
}

struct AttentionFormat {
    std::string_view name;
    double bytes;
};

AttentionFormat attention_format(std::string const& dtype) {
    std::string_view const name = needed_format(dtype).name;
    if (name == "bf16" || name == "fp16") return {"bf16", 2};
    if (name == "fp8") return {name, 1};
    throw RowSkip(fmt::format("no model of attention in {}", name));
}

/// Kinds of attention in the tables' words, and what else they are called.
enum class AttentionKind : std::uint8_t { prefill, decode };

/// Whether one key-value head is the latent of multi-head latent attention, of 576 (DeepSeek-V2 and V3: 512 + 64) or
/// 288 values (MiniCPM3: 256 + 32). One of 512 is keys and values of that size apart, as the published decodes of such
/// on B200 are timed.
bool is_latent(std::int64_t kv_heads, std::int64_t head_dim) {
    return kv_heads == 1 && head_dim > 256 && !std::has_single_bit(static_cast<std::uint64_t>(head_dim));
}

AttentionKind attention_kind(std::string const& kind) {
    if (kind == "context" || kind == "prefill") return AttentionKind::prefill;
    if (kind == "generation" || kind == "decode") return AttentionKind::decode;
    throw RowSkip(fmt::format("unknown kind of attention '{}'", kind.substr(0, 40)));
}

/// Tokens that a query sees at the most, 0: all. @throws RowSkip for what is no number
std::int64_t window_of(RowCells const& row) {
    for (char const* column : {"window_size", "sliding_window", "window"}) {
        std::string const cell = row.text(column);
        if (cell == "-1" || cell == "(-1, -1)") continue;  // FlashAttention's words for none
        if (auto const window = row.count(column).value_or(0); window > 0) return window;
    }
    return 0;
}

/// @throws RowSkip for values of another size than their keys. Those of a latent are eight ninths of it, as DeepSeek's
/// 512 of 576.
void require_one_width(RowCells const& row, std::int64_t head_dim, bool latent) {
    for (char const* column : {"v_head_dim", "value_head_dim", "head_dim_v"}) {
        auto const width = row.count(column).value_or(0);
        bool const of_latent = latent && width == head_dim * 8 / 9;
        if (width > 0 && width != head_dim && !of_latent) throw RowSkip("keys and values of different sizes");
    }
}

/// FLOPs of both products over all queries and keys.
double whole_square(std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                    std::int64_t head_dim) {
    return 4 * static_cast<double>(batch * heads) * static_cast<double>(queries) * static_cast<double>(keys) *
           static_cast<double>(head_dim);
}

void read_decode(RowCells const& row, AttentionFormat const& cache, DecodeAttention shape, KernelCase& out) {
    out.kind = "decode " + out.variant;
    out.latent = is_latent(shape.kv_heads, shape.head_dim);
    require_one_width(row, shape.head_dim, out.latent);
    if (auto const window = window_of(row); window > 0 && window < shape.keys) {
        shape.keys = window;
        out.assumptions.emplace_back("with a sliding window a decode reads so many keys and values");
    }
    shape.cache_bytes = cache.bytes;
    out.what = shape;
    if (!out.latent) {
        require_rate(row, stated_tflops, out.measured,
                     {whole_square(shape.batch, shape.heads, 1, shape.keys, shape.head_dim)});
        return;
    }
    out.kind += " latent";
    out.assumptions.emplace_back("one key-value head of such a size is a latent, whose values are among its keys");
}

/// Attention of a training library, as the bench's rows have it ("bf16 sdpa_flash/backward").
void read_training_library(RowCells const& row, std::string const& library, AttentionFormat const& format,
                           KernelCase& out) {
    out.variant = fmt::format("{} {}", format.name, library);
    if (training_library(out.variant) != library)
        throw RowSkip(fmt::format("no model of attention of the library '{}'", library.substr(0, 40)));
    if (format.name != "bf16") throw RowSkip("no model of a training step's attention in fp8");
    out.library = library;
    out.kind = fmt::format("attention, {}", library);
    std::string const pass = lower_case(row.text("pass"));
    if (pass == "bwd" || pass == "backward") {
        out.passes = TimedPasses::backward;
        out.kind += ", backward";
        out.variant += backward_variant;
    } else if (!is_blank_cell(pass) && pass != "fwd" && pass != "forward") {
        throw RowSkip(fmt::format("unknown pass '{}'", pass.substr(0, 40)));
    }
}

void read_prefill(RowCells const& row, AttentionFormat const& compute, Attention shape, KernelCase& out) {
    if (auto const window = window_of(row); window < shape.keys) shape.window = window;
    require_one_width(row, shape.head_dim, false);
    if (!row.flag("causal").value_or(true)) shape.causal = Switch::off;
    if (shape.window > 0 && shape.causal == Switch::off) throw RowSkip("attention with a sliding window to both sides");
    out.kind = "prefill " + out.variant;
    if (std::string const library = lower_case(row.text("library")); !is_blank_cell(library))
        read_training_library(row, library, compute, out);
    if (shape.causal == Switch::off) out.kind += ", no mask";
    if (shape.window > 0) out.kind += ", sliding window";
    // Some count what a mask or a window leaves, some the whole square.
    double const square = whole_square(shape.batch, shape.heads, shape.queries, shape.keys, shape.head_dim);
    double const masked = static_cast<double>(shape.past + shape.keys) / static_cast<double>(2 * shape.keys);
    double const seen =
        square * causal_fraction(shape) * static_cast<double>(attended_keys(shape)) / static_cast<double>(shape.keys);
    double const passes = timed_work(out.passes);
    require_rate(row, stated_tflops, out.measured,
                 {passes * square, passes * square * (shape.causal == Switch::on ? masked : 1), passes * seen});
    out.what = shape;
}

void read_attention(RowCells const& row, KernelCase& out) {
    AttentionKind const kind = attention_kind(lower_case(row.stated("kind")));
    AttentionFormat const compute = attention_format(row.stated("attn_dtype"));
    std::string const of_cache = row.stated("kv_dtype");
    // Engines' word for the format that the model has.
    AttentionFormat const cache = lower_case(of_cache) == "auto" ? compute : attention_format(of_cache);
    out.measured = microseconds(row.number("latency_us"));
    std::int64_t const batch = needed(row, "batch");
    std::int64_t const length = needed(row, "isl");
    std::int64_t const past = row.count("past_kv").value_or(0);
    std::int64_t const heads = needed(row, "num_heads");
    std::int64_t const kv_heads = needed(row, "num_kv_heads");
    std::int64_t const head_dim = needed(row, "head_dim");
    if (heads % kv_heads != 0) throw RowSkip("num_heads is no multiple of num_kv_heads");
    out.variant = fmt::format("{}/{}", compute.name, cache.name);
    if (kind == AttentionKind::decode) {
        read_decode(row, cache,
                    {.batch = batch, .heads = heads, .kv_heads = kv_heads, .keys = length + past, .head_dim = head_dim},
                    out);
        return;
    }
    read_prefill(row, compute,
                 {.batch = batch,
                  .heads = heads,
                  .kv_heads = kv_heads,
                  .queries = length,
                  .keys = length + past,
                  .past = past,
                  .head_dim = head_dim,
                  .value_head_dim = head_dim},
                 out);
}

/// Letters and digits of what FlashAttention-2 is called ("flash_attn_2", "FA2"), and of kernels for newer devices.
constexpr std::array flash_2{"flashattention2", "flashattn2", "fa2"};
constexpr std::array flash_3{"flashattention3", "flashattn3", "fa3"};
constexpr std::array words_of_fp8{"fp8", "float8", "e4m3", "e5m2"};

void read_published(RowCells const& row, KernelCase& out) {
    std::string const kernel = row.stated("kernel");
    std::string const pass = row.stated("pass");
    auto const tflops = row.number("tflops");
    std::int64_t const batch = needed(row, "batch");
    std::int64_t const length = needed(row, "seqlen");
    std::int64_t const heads = needed(row, "num_heads");
    std::int64_t const head_dim = needed(row, "head_dim");
    bool const causal = row.flag("causal").value_or(false);
    std::string const library = letters_and_digits(kernel);
    bool const in_memory = library == "pytorch";
    // With the scores in memory the whole square is computed, and a fused softmax masks in passing.
    if (in_memory && causal) throw RowSkip("no model of attention that adds a mask in 16 bits");
    Attention attention{.batch = batch,
                        .heads = heads,
                        .kv_heads = heads,
                        .queries = length,
                        .keys = length,
                        .head_dim = head_dim,
                        .value_head_dim = head_dim,
                        .causal = causal ? Switch::on : Switch::off};
    if (in_memory) {
        attention.kernel = AttentionKernel::unfused;
    } else if (!is_one_of(flash_2, library) && !is_one_of(flash_3, library) && library != "cudnn") {
        throw RowSkip(fmt::format("no model of the kernel {}", kernel.substr(0, 40)));
    }
    std::string const dtype = lower_case(row.text("dtype"));
    if (std::any_of(words_of_fp8.begin(), words_of_fp8.end(),
                    [&](auto w) { return dtype.find(w) != std::string::npos; }))
        throw RowSkip("no model of a training step's attention in fp8");
    if (is_one_of(flash_2, library)) out.library = flash_attention_2;
    if (is_one_of(flash_3, library)) out.library = flash_attention_3;
    if (pass == "fwd+bwd")
        out.passes = TimedPasses::both;
    else if (pass == "bwd")
        out.passes = TimedPasses::backward;
    else if (pass != "fwd")
        throw RowSkip(fmt::format("unknown pass '{}'", pass.substr(0, 40)));
    // The figures' own count: half of 4 b h s^2 d under a causal mask, the backward pass 2.5 times that
    // (arXiv:2307.08691 sec. 4.1).
    auto const s = static_cast<double>(length);
    double const forward =
        (causal ? 2 : 4) * static_cast<double>(batch * heads) * s * s * static_cast<double>(head_dim);
    if (tflops && *tflops > 0)
        out.measured = forward * timed_work(out.passes) * units::flop / (*tflops * (units::TFLOP / units::s));
    out.what = attention;
    out.kind = in_memory ? "attention, unfused" : "attention, flash";
    if (out.passes == TimedPasses::both) out.kind += ", with backward";
    if (out.passes == TimedPasses::backward) out.kind += ", backward";
}

CacheState cache_of(KernelTable table, RowCells const& row) {
    std::string const cache = lower_case(row.text("cache"));
    if (cache == "cold") return CacheState::cold;
    if (cache == "hot") return CacheState::hot;
    if (cache == "rotated") return CacheState::rotated;
    if (cache.empty()) {
        // Tables of AIConfigurator that were not imported by a version that writes the cell: its collector says so
        // (collector/trtllm/collect_gemm.py).
        bool const rotates = table == KernelTable::product && is_aiconfigurator(row.text("source_ref"));
        return rotates ? CacheState::rotated : CacheState::hot;
    }
    throw RowSkip(fmt::format("unknown state of the cache '{}'", cache.substr(0, 40)));
}

void read_memory_kernel(RowCells const& row, KernelCase& out) {
    std::string const kernel = row.stated("kernel");
    std::string const dtype = lower_case(row.text("dtype"));
    out.measured = microseconds(row.number("latency_us"));
    auto const bytes = static_cast<double>(need(row.bytes("bytes_moved"), "bytes_moved"));
    require_rate(row, stated_gbps, out.measured, {bytes, bytes / 2});  // of a copy, read or written alone
    out.what = MemoryKernel{.moved = bytes * units::B};
    out.variant = dtype.empty() ? kernel : fmt::format("{} {}", kernel, dtype);
    out.kind = "memory " + out.variant;
}

// The bench's rows have columns of the others as well.
constexpr std::array all_tables{KernelTable::bench, KernelTable::product, KernelTable::attention,
                                KernelTable::published, KernelTable::memory};

/// The column that only this table has.
std::string_view mark_of(KernelTable table) {
    switch (table) {
        case KernelTable::product: return "m";
        case KernelTable::attention: return "past_kv";
        case KernelTable::published: return "pass";
        case KernelTable::memory: return "bytes_moved";
        case KernelTable::bench: return "median_us";
    }
    return "";
}

}  // namespace

GemmFormat product_format(KernelCase const& product) {
    GemmFormat format = *find_gemm_format(product.variant);
    if (product.result_bytes) format.out = static_cast<double>(*product.result_bytes);
    return format;
}

double timed_work(TimedPasses passes) {
    switch (passes) {
        case TimedPasses::forward: return 1;
        case TimedPasses::backward: return flash_backward_work;
        case TimedPasses::both: return 1 + flash_backward_work;
    }
    return 1;
}

std::string_view name_of(KernelTable table) {
    switch (table) {
        case KernelTable::product: return "matrix products";
        case KernelTable::attention: return "attention of a serving engine";
        case KernelTable::published: return "attention as TFLOP/s";
        case KernelTable::memory: return "memory-bound kernels";
        case KernelTable::bench: return "rows of sextant-bench";
    }
    return "?";
}

std::vector<std::string_view> kernel_columns(KernelTable table) {
    switch (table) {
        case KernelTable::product:
            return {"source_ref", "device", "kernel_source", "dtype", "m", "n", "k", "latency_us"};
        case KernelTable::attention:
            return {"source_ref", "device",  "kind",      "attn_dtype",   "kv_dtype", "batch",
                    "isl",        "past_kv", "num_heads", "num_kv_heads", "head_dim", "latency_us"};
        case KernelTable::published:
            return {"source_ref", "gpu",    "kernel", "pass",      "causal",
                    "head_dim",   "seqlen", "batch",  "num_heads", "tflops"};
        case KernelTable::memory: return {"source_ref", "device", "kernel", "dtype", "bytes_moved", "latency_us"};
        case KernelTable::bench: return bench_columns();
    }
    return {};
}

KernelTable kernel_table_of(CsvTable const& table) {
    for (KernelTable const kind : all_tables) {
        if (!table.find(mark_of(kind))) continue;
        auto needed = kernel_columns(kind);
        if (kind != KernelTable::bench)
            std::erase_if(needed, [](std::string_view column) {  // the first two are for the reader
                return column == "source_ref" || column == "kernel_source" || column == "device" || column == "gpu";
            });
        require_columns(table, needed, kernel_columns(kind));
        return kind;
    }
    throw InputError(
        "{}: the header is of no table of kernel times (it needs the column m: matrix products, past_kv: attention, "
        "pass: attention as TFLOP/s, bytes_moved: memory-bound kernels, or median_us: rows of sextant-bench)",
        table.name);
}

std::string device_named(KernelTable table, RowCells const& row) {
    std::string const cell = row.text(table == KernelTable::published ? "gpu" : "device");
    return is_blank_cell(cell) ? std::string() : cell;
}

KernelCase kernel_case(KernelTable table, RowCells const& row, std::string_view device) {
    if (table == KernelTable::bench) return bench_case(row);
    KernelCase out;
    out.cache = cache_of(table, row);
    out.source = row.text("source_ref");
    out.device = device_named(table, row);
    if (out.device.empty()) out.device = device;
    switch (table) {
        case KernelTable::product: read_product(row, out); break;
        case KernelTable::attention: read_attention(row, out); break;
        case KernelTable::published: read_published(row, out); break;
        case KernelTable::memory: read_memory_kernel(row, out); break;
        case KernelTable::bench: break;
    }
    if (out.device.empty()) throw RowSkip("device is not stated");
    return out;
}

}  // namespace sextant

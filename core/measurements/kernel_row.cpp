#include "core/measurements/kernel_row.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <array>

namespace sextant {
namespace {

struct FormatWord {
    std::string_view word;
    Precision precision;
    int quantisation_kernels;  ///< that the table measures with the product
};

/// fp8 and nvfp4 tables time the quantisation of the activations too: one kernel, as in a step.
constexpr std::array formats{FormatWord{"bfloat16", Precision::bf16, 0}, FormatWord{"bf16", Precision::bf16, 0},
                             FormatWord{"float16", Precision::fp16, 0},  FormatWord{"fp16", Precision::fp16, 0},
                             FormatWord{"half", Precision::fp16, 0},     FormatWord{"tf32", Precision::tf32, 0},
                             FormatWord{"float32", Precision::fp32, 0},  FormatWord{"fp32", Precision::fp32, 0},
                             FormatWord{"fp8", Precision::fp8, 1},       FormatWord{"nvfp4", Precision::fp4, 1}};

struct ReasonWord {
    std::string_view word;
    std::string_view reason;
};

constexpr std::array unmodelled{ReasonWord{"fp8_block", "no model of products with block-scaled fp8"},
                                ReasonWord{"int4_wo", "no model of products with quantised weights only"},
                                ReasonWord{"int8_wo", "no model of products with quantised weights only"},
                                ReasonWord{"sq", "no model of int8 products"},
                                ReasonWord{"int8", "no model of int8 products"}};

std::int64_t needed(RowCells const& row, std::string_view column) { return need(row.count(column), column); }

std::optional<Seconds> microseconds(std::optional<double> const& value) {
    if (!value || *value == 0) return std::nullopt;
    return *value * units::us;
}

void read_product(RowCells const& row, KernelCase& out) {
    std::string const dtype = lower_case(row.stated("dtype"));
    out.measured = microseconds(row.number("latency_us"));
    Gemm gemm;
    auto const m = row.count("m");
    auto const n = row.count("n");
    auto const k = row.count("k");
    for (auto const& [word, reason] : unmodelled)
        if (dtype == word) throw RowSkip(std::string(reason));
    gemm.m = need(m, "m");
    gemm.n = need(n, "n");
    gemm.k = need(k, "k");
    for (FormatWord const& format : formats) {
        if (dtype != format.word) continue;
        gemm.precision = format.precision;
        out.quantisation_kernels = format.quantisation_kernels;
        if (format.quantisation_kernels > 0)
            out.assumptions.emplace_back(
                "activations quantised by a streaming kernel before the product, as in a step");
        out.kind = fmt::format("product {}", name_of(format.precision));
        out.what = gemm;
        return;
    }
    throw RowSkip(fmt::format("unknown number format '{}'", dtype.substr(0, 40)));
}

double bytes_of_cache(std::string const& dtype) {
    if (dtype == "bfloat16" || dtype == "float16" || dtype == "bf16" || dtype == "fp16") return 2;
    if (dtype == "fp8") return 1;
    throw RowSkip(fmt::format("unknown number format '{}'", dtype.substr(0, 40)));
}

void read_attention(RowCells const& row, KernelCase& out) {
    std::string const kind = lower_case(row.stated("kind"));
    std::string const dtype = lower_case(row.stated("attn_dtype"));
    double const cache_bytes = bytes_of_cache(lower_case(row.stated("kv_dtype")));
    out.measured = microseconds(row.number("latency_us"));
    std::int64_t const batch = needed(row, "batch");
    std::int64_t const length = needed(row, "isl");
    std::int64_t const past = row.count("past_kv").value_or(0);
    std::int64_t const heads = needed(row, "num_heads");
    std::int64_t const kv_heads = needed(row, "num_kv_heads");
    std::int64_t const head_dim = needed(row, "head_dim");
    if (heads % kv_heads != 0) throw RowSkip("num_heads is no multiple of num_kv_heads");
    std::string_view const cache = cache_bytes < 2 ? "fp8 cache" : "bf16 cache";
    if (kind == "generation") {
        out.what = DecodeAttention{.batch = batch,
                                   .heads = heads,
                                   .kv_heads = kv_heads,
                                   .keys = length + past,
                                   .head_dim = head_dim,
                                   .cache_bytes = cache_bytes};
        out.kind = fmt::format("decode, {}", cache);
        out.assumptions.emplace_back("decode attention as reading its cache once, at the rate of streaming kernels");
        return;
    }
    if (kind != "context") throw RowSkip(fmt::format("unknown kind of attention '{}'", kind.substr(0, 40)));
    if (dtype == "fp8") throw RowSkip("no model of attention computed in fp8");
    if (past > 0) throw RowSkip("no model of prefill after tokens that are in the cache");
    out.what = Attention{.batch = batch,
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .queries = length,
                         .keys = length,
                         .head_dim = head_dim,
                         .value_head_dim = head_dim};
    out.kind = fmt::format("prefill, {}", cache);
    if (cache_bytes < 2) out.assumptions.emplace_back("prefill into an fp8 cache as computed in bf16");
}

void read_published(RowCells const& row, KernelCase& out) {
    std::string const kernel = row.stated("kernel");
    std::string const pass = row.stated("pass");
    auto const tflops = row.number("tflops");
    std::int64_t const batch = needed(row, "batch");
    std::int64_t const length = needed(row, "seqlen");
    std::int64_t const heads = needed(row, "num_heads");
    std::int64_t const head_dim = needed(row, "head_dim");
    if (row.count("causal").value_or(0) != 1) throw RowSkip("no model of attention without a causal mask");
    Attention attention{.batch = batch,
                        .heads = heads,
                        .kv_heads = heads,
                        .queries = length,
                        .keys = length,
                        .head_dim = head_dim,
                        .value_head_dim = head_dim};
    if (kernel == "PyTorch")
        attention.kernel = AttentionKernel::unfused;
    else if (kernel != "FlashAttention-2")
        throw RowSkip(fmt::format("no model of the kernel {}", kernel.substr(0, 40)));
    if (pass != "fwd+bwd" && pass != "fwd") throw RowSkip(fmt::format("unknown pass '{}'", pass.substr(0, 40)));
    out.with_backward = pass == "fwd+bwd";
    // The figures' own count: half of 4 b h s^2 d under a causal mask, the backward pass 2.5 times that
    // (arXiv:2307.08691 sec. 4.1).
    auto const s = static_cast<double>(length);
    double const forward = 2 * static_cast<double>(batch * heads) * s * s * static_cast<double>(head_dim);
    if (tflops && *tflops > 0)
        out.measured = forward * (out.with_backward ? 3.5 : 1) * units::flop / (*tflops * (units::TFLOP / units::s));
    out.what = attention;
    out.kind = kernel == "PyTorch" ? "attention, unfused" : "attention, flash";
    if (out.with_backward) out.kind += ", with backward";
}

constexpr std::array all_tables{KernelTable::product, KernelTable::attention, KernelTable::published};

/// The column that only this table has.
std::string_view mark_of(KernelTable table) {
    switch (table) {
        case KernelTable::product: return "m";
        case KernelTable::attention: return "past_kv";
        case KernelTable::published: return "pass";
    }
    return "";
}

}  // namespace

std::string_view name_of(KernelTable table) {
    switch (table) {
        case KernelTable::product: return "matrix products";
        case KernelTable::attention: return "attention of a serving engine";
        case KernelTable::published: return "attention as TFLOP/s";
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
    }
    return {};
}

KernelTable kernel_table_of(CsvTable const& table) {
    for (KernelTable const kind : all_tables) {
        if (!table.find(mark_of(kind))) continue;
        static_cast<void>(table.require(kernel_columns(kind)));
        return kind;
    }
    throw InputError(
        "{}: the header is of no table of kernel times (it needs the column m: matrix products, past_kv: attention, or "
        "pass: attention as TFLOP/s)",
        table.name);
}

Bytes DecodeAttention::moved() const {
    double const width = static_cast<double>(batch) * static_cast<double>(head_dim);
    double const cache = 2 * width * static_cast<double>(kv_heads) * static_cast<double>(keys) * cache_bytes;
    double const ends = 2 * 2 * width * static_cast<double>(heads);
    return (cache + ends) * units::B;
}

KernelCase kernel_case(KernelTable table, RowCells const& row) {
    KernelCase out;
    out.source = row.text("source_ref");
    out.device = row.text(table == KernelTable::published ? "gpu" : "device");
    switch (table) {
        case KernelTable::product: read_product(row, out); break;
        case KernelTable::attention: read_attention(row, out); break;
        case KernelTable::published: read_published(row, out); break;
    }
    if (out.device.empty()) throw RowSkip("device is not stated");
    return out;
}

}  // namespace sextant

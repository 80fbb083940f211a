#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/measurements/stated_format.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <fmt/format.h>

#include <array>

namespace sextant {
namespace {

// Benchmarks whose kernels are bound by the memory they touch.
constexpr std::array memory_benches{"norm",      "activation", "loss",         "rows",
                                    "optimizer", "cast",       "memory_bound", "copies"};
constexpr std::array plain_products{"cublaslt", "eigen", "blocked_loop"};

std::int64_t size(RowCells const& row, char const* column) { return need(row.count(column), column); }

void read_product(RowCells const& row, std::string const& kernel, KernelCase& out) {
    if (!is_one_of(plain_products, kernel)) throw RowSkip(fmt::format("no fit of the product '{}'", kernel));
    GemmFormat const& format = needed_format(row.stated("dtype"));
    out.variant = format.name;
    out.quantised = Quantised::before;
    if (kernel == "cublaslt" && format.name == "int8") out.result_bytes = int32_bytes;  // kernels/cuda/lt_gemm.hpp
    out.kind = fmt::format("product {}", format.name);
    out.what = Gemm{.m = size(row, "m"), .n = size(row, "n"), .k = size(row, "k"), .precision = format.precision};
}

/// The library behind kernels/train_step/attention.py's "sdpa_cudnn_backward"; empty: a kernel of the benchmark's own.
std::string_view library_of(std::string_view kernel) {
    return kernel.starts_with("sdpa_") ? kernel.substr(0, kernel.rfind('_')) : std::string_view();
}

/// The benchmark's own kernels: variants apart from those of the libraries that a step would run. Those of a library
/// are attention as a training step runs it.
void read_attention(RowCells const& row, std::string const& kernel, KernelCase& out) {
    std::int64_t const batch = size(row, "batch");
    std::int64_t const heads = size(row, "heads");
    std::int64_t const kv_heads = size(row, "kv_heads");
    std::int64_t const head_dim = size(row, "head_dim");
    std::int64_t const keys = size(row, "seq_kv");
    out.variant = fmt::format("{} sextant-bench", row.stated("dtype"));
    if (heads % kv_heads != 0) throw RowSkip("heads is no multiple of kv_heads");
    if (kernel == "flash_decode") {
        out.what = DecodeAttention{
            .batch = batch, .heads = heads, .kv_heads = kv_heads, .keys = keys, .head_dim = head_dim, .cache_bytes = 2};
        out.kind = "decode " + out.variant;
        return;
    }
    std::string_view const library = library_of(kernel);
    bool const backward = kernel.ends_with("_backward");
    if (library.empty() && kernel != "flash_forward" && kernel != "flash_backward")
        throw RowSkip(fmt::format("no fit of the attention '{}'", kernel));
    std::int64_t const queries = size(row, "seq_q");
    bool const causal = row.flag("causal").value_or(false);
    if (queries > keys) throw RowSkip("seq_q is more than seq_kv");
    out.what = Attention{.batch = batch,
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .queries = queries,
                         .keys = keys,
                         .past = keys - queries,
                         .head_dim = head_dim,
                         .value_head_dim = head_dim,
                         .causal = causal ? Switch::on : Switch::off};
    if (backward) out.passes = TimedPasses::backward;
    out.kind = library.empty() ? "prefill " + out.variant : fmt::format("attention, {}", library);
    out.library = library;
    if (!library.empty()) out.variant = fmt::format("{} {}", row.stated("dtype"), library);
    if (!backward) return;
    out.kind += ", backward";
    out.variant += backward_variant;
}

/// The bytes are those that the benchmark counted: its rate times its time.
void read_memory_kernel(RowCells const& row, std::string const& kernel, KernelCase& out) {
    if (kernel.find("host") != std::string::npos || kernel == "peer") throw RowSkip("a copy over a link, not memory");
    auto const gigabytes = row.number("gbps");
    auto const microseconds = row.number("median_us");
    if (!gigabytes || !microseconds || *gigabytes * *microseconds <= 0) throw RowSkip("its bytes are not stated");
    std::string const dtype = row.text("dtype");
    bool const counts_once = kernel == "memcpy" || kernel == "device_to_device";  // read and written
    out.what = MemoryKernel{.moved = (counts_once ? 2e3 : 1e3) * *gigabytes * *microseconds * units::B};
    out.variant = dtype.empty() || dtype == "bytes" ? kernel : fmt::format("{} {}", kernel, dtype);
    out.kind = "memory " + out.variant;
}

// What a copy inside the device takes as a node of a graph up to, as it does launched alone: 128.96 and 129.06 us for
// 256 MiB on an H200. 1 GiB takes 794 us as a node and 507 alone (H100: 882 and 716): another path of CUDA's.
constexpr double most_of_copy_node = 256.0 * 1024 * 1024;

/// Whether a hot row of a GPU tells of its kernel. Kernels are measured launched one by one and as a graph: one by one
/// the host is measured where they are small, so the graph counts, but for copies too large to be nodes of one. Copies
/// between memories are launched one by one alone.
void require_kernel_time(RowCells const& row, std::string_view bench, std::string_view kernel) {
    bool const one_by_one = row.text("launch") == "stream";
    bool const is_copy = bench == "copies";
    if (is_copy && kernel != "device_to_device") return;
    if (is_copy && row.number("bytes").value_or(0) > most_of_copy_node) {
        if (!one_by_one) throw RowSkip("a copy of more than 256 MiB as a graph (its row launched alone counts)");
        return;
    }
    if (one_by_one) throw RowSkip("launched one by one (its row as a graph counts)");
}

}  // namespace

Seconds without_start(Seconds cold) {
    if (cold < 2.0 * start_between_events) throw RowSkip("cold, and no longer than its start takes");
    return cold - start_between_events;
}

KernelCase bench_case(RowCells const& row) {
    KernelCase out;
    std::string const bench = row.stated("bench");
    std::string const backend = row.stated("backend");
    std::string const kernel = row.stated("kernel");
    auto const median = row.number("median_us");
    out.source = fmt::format("sextant-bench {}", backend);
    out.device = row.stated("device");
    out.cache = row.text("cache") == "cold" ? CacheState::cold : CacheState::hot;
    if (bench_row_failed(row)) throw RowSkip("the benchmark failed");
    if (bench_row_unsupported(row)) throw RowSkip("not supported where it was measured");
    if (backend == "cuda" && out.cache == CacheState::hot) require_kernel_time(row, bench, kernel);
    if (bench == "gemm")
        read_product(row, kernel, out);
    else if (bench == "attention" || bench == "decode")
        read_attention(row, kernel, out);
    else if (is_one_of(memory_benches, bench))
        read_memory_kernel(row, kernel, out);
    else
        throw RowSkip(fmt::format("no kernel model for the benchmark '{}'", bench.substr(0, 40)));
    if (!median || *median <= 0) return out;
    out.measured = *median * units::us;
    if (backend != "cuda" || out.cache != CacheState::cold) return out;
    out.measured = without_start(*out.measured);
    if (row.text("driver").find("method ") != std::string::npos)  // kernels/harness/row.hpp
        out.assumptions.emplace_back(
            "the start of a cold kernel takes 3 us, as measured after a cache that was emptied by writing (it is "
            "emptied "
            "by reading)");
    return out;
}

}  // namespace sextant

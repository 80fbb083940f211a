#include "core/measurements/bench_row.hpp"

#include "core/error.hpp"
#include "core/measurements/held_out.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

std::string header() {
    std::string line;
    for (auto const column : bench_columns())
        line += (line.empty() ? "" : ",") + std::string(column);
    return line + "\n";
}

/// A line with these cells, the others empty.
std::string line(std::vector<std::pair<std::string_view, std::string>> const& cells) {
    auto const columns = bench_columns();
    std::string out;
    for (auto const column : columns) {
        if (column != columns.front()) out += ',';
        for (auto const& [name, value] : cells)
            if (name == column) out += value;
    }
    return out + "\n";
}

std::vector<std::pair<std::string_view, std::string>> product(std::string backend, std::string dtype) {
    return {{"bench", "gemm"},
            {"backend", std::move(backend)},
            {"device", "Abacus"},
            {"kernel", "cublaslt"},
            {"dtype", std::move(dtype)},
            {"m", "64"},
            {"n", "128"},
            {"k", "256"},
            {"cache", "hot"},
            {"launch", "graph"},
            {"median_us", "12.5"}};
}

std::vector<std::pair<std::string_view, std::string>> attention(std::string kernel) {
    return {{"bench", "attention"}, {"backend", "cuda"}, {"device", "x"},     {"kernel", std::move(kernel)},
            {"dtype", "bf16"},      {"batch", "2"},      {"seq_q", "1024"},   {"seq_kv", "1024"},
            {"heads", "32"},        {"kv_heads", "8"},   {"head_dim", "128"}, {"causal", "1"},
            {"cache", "hot"},       {"launch", "graph"}, {"median_us", "100"}};
}

KernelCase case_of(std::vector<std::pair<std::string_view, std::string>> const& cells) {
    CsvTable const table = parse_bench_rows(header() + line(cells), "rows.csv");
    REQUIRE(kernel_table_of(table) == KernelTable::bench);
    return kernel_case(KernelTable::bench, RowCells(table, table.records.at(0)));
}

std::string skip_of(std::vector<std::pair<std::string_view, std::string>> const& cells) {
    try {
        static_cast<void>(case_of(cells));
    } catch (RowSkip const& skip) {
        return skip.what();
    }
    return "";
}

}  // namespace

TEST_CASE("bench rows: a product keeps shape, time and cache, and no quantisation is added to it") {
    auto cells = product("cuda", "e4m3");
    KernelCase const hot = case_of(cells);
    auto const& g = std::get<Gemm>(hot.what);
    CHECK(g.m == 64);
    CHECK(g.n == 128);
    CHECK(g.k == 256);
    CHECK(hot.variant == "fp8");
    CHECK(hot.quantised == Quantised::before);
    CHECK(hot.measured->in(units::us) == Approx(12.5));
    CHECK(hot.cache == CacheState::hot);
    cells[8].second = "cold";
    CHECK(case_of(cells).cache == CacheState::cold);
}

TEST_CASE("bench rows: a memory-bound kernel touches what the benchmark counted, a copy twice that") {
    // 100 GB/s for 10 us are 1 MB.
    KernelCase const norm = case_of({{"bench", "norm"},
                                     {"backend", "cuda"},
                                     {"device", "Abacus"},
                                     {"kernel", "rmsnorm_forward"},
                                     {"dtype", "bf16"},
                                     {"cache", "cold"},
                                     {"launch", "stream"},
                                     {"median_us", "10"},
                                     {"gbps", "100"}});
    CHECK(std::get<MemoryKernel>(norm.what).moved.base() == Approx(1e6));
    CHECK(norm.variant == "rmsnorm_forward bf16");
    KernelCase const copy = case_of({{"bench", "copies"},
                                     {"backend", "host"},
                                     {"device", "Abacus"},
                                     {"kernel", "memcpy"},
                                     {"dtype", "bytes"},
                                     {"cache", "hot"},
                                     {"launch", "stream"},
                                     {"median_us", "10"},
                                     {"gbps", "100"}});
    CHECK(std::get<MemoryKernel>(copy.what).moved.base() == Approx(2e6));
    CHECK(copy.variant == "memcpy");
}

TEST_CASE("bench rows: what no model is for is skipped with a reason") {
    CHECK(skip_of(product("host", "fp64")) == "unknown number format 'fp64'");
    auto failed = product("host", "fp32");
    failed.emplace_back("note", "FAILED: wrong result");
    CHECK(skip_of(failed) == "the benchmark failed");
    failed.back().second = "unsupported: no algorithm";
    CHECK(skip_of(failed) == "not supported where it was measured");
    auto single = product("cuda", "bf16");
    single[9].second = "stream";
    CHECK(skip_of(single) == "launched one by one (its row as a graph counts)");
    single[1].second = "host";
    CHECK(skip_of(single).empty());
    CHECK(skip_of({{"bench", "launch"}, {"backend", "host"}, {"device", "x"}, {"kernel", "y"}}) ==
          "no kernel model for the benchmark 'launch'");
    CHECK(skip_of({{"bench", "copies"}, {"backend", "cuda"}, {"device", "x"}, {"kernel", "host_to_device_pinned"}}) ==
          "a copy over a link, not memory");
}

TEST_CASE("bench rows: of copies inside a GPU the graph counts, and one by one those too large for it") {
    auto const copy = [](char const* bytes, char const* launch, char const* cache = "hot") {
        return std::vector<std::pair<std::string_view, std::string>>{
            {"bench", "copies"},   {"backend", "cuda"}, {"device", "Abacus"}, {"kernel", "device_to_device"},
            {"dtype", "bytes"},    {"bytes", bytes},    {"cache", cache},     {"launch", launch},
            {"median_us", "1000"}, {"gbps", "1"}};
    };
    CHECK(skip_of(copy("268435456", "stream")) == "launched one by one (its row as a graph counts)");
    CHECK(skip_of(copy("268435456", "graph")).empty());
    CHECK(skip_of(copy("1073741824", "stream")).empty());
    CHECK(skip_of(copy("1073741824", "graph")) ==
          "a copy of more than 256 MiB as a graph (its row launched alone counts)");
    CHECK(skip_of(copy("4096", "stream", "cold")).empty());
}

TEST_CASE("bench rows: an int8 product of cuBLASLt wrote four bytes a result, others what their format has") {
    CHECK(case_of(product("cuda", "int8")).result_bytes == 4);
    CHECK(product_format(case_of(product("cuda", "int8"))).out == 4);
    CHECK_FALSE(case_of(product("cuda", "e4m3")).result_bytes);
    CHECK(product_format(case_of(product("cuda", "e4m3"))).out == 2);
}

TEST_CASE("bench rows: a cold kernel of a GPU is taken without its start, which the two events have between them") {
    auto cold = product("cuda", "bf16");
    cold[8].second = "cold";
    cold[9].second = "stream";
    REQUIRE(case_of(cold).measured);
    CHECK(*case_of(cold).measured / units::us == Approx(9.5));
    CHECK(*case_of(product("cuda", "bf16")).measured / units::us == Approx(12.5));
    CHECK(case_of(cold).assumptions.empty());
    cold.emplace_back("driver", "driver 13.0; runtime 13.0; method 2");
    CHECK_THAT(case_of(cold).assumptions.at(0), contains("emptied by writing"));
    cold[10].second = "5.9";
    CHECK(skip_of(cold) == "cold, and no longer than its start takes");
    cold[1].second = "host";
    CHECK(*case_of(cold).measured / units::us == Approx(5.9));
}

TEST_CASE("bench rows: attention of a library is that of a training step, pass by pass") {
    auto row = attention("sdpa_cudnn_forward");
    KernelCase const forward = case_of(row);
    CHECK(forward.variant == "bf16 sdpa_cudnn");
    CHECK(forward.library == "sdpa_cudnn");
    CHECK(training_library(forward.variant) == "sdpa_cudnn");
    CHECK(forward.kind == "attention, sdpa_cudnn");
    CHECK(forward.passes == TimedPasses::forward);
    row[3].second = "sdpa_flash_backward";
    KernelCase const backward = case_of(row);
    CHECK(backward.kind == "attention, sdpa_flash, backward");
    CHECK(backward.variant == "bf16 sdpa_flash/backward");
    CHECK(backward.passes == TimedPasses::backward);
    CHECK(training_library(backward.variant) == flash_attention_2);
    row[3].second = "flash_backward";
    CHECK(case_of(row).variant == "bf16 sextant-bench/backward");
    CHECK(training_library(case_of(row).variant).empty());
    CHECK(case_of(row).library.empty());
    row[3].second = "flash_sideways";
    CHECK(skip_of(row) == "no fit of the attention 'flash_sideways'");
}

TEST_CASE("bench rows: attention without a mask and after tokens in the cache, held out with the causal one") {
    auto row = attention("flash_forward");
    KernelCase const causal = case_of(row);
    row[11].second = "0";
    KernelCase const full = case_of(row);
    CHECK(std::get<Attention>(causal.what).causal == Switch::on);
    CHECK(std::get<Attention>(full.what).causal == Switch::off);
    CHECK(shape_hash(full) == shape_hash(causal));
    CHECK(shape_mark(full) != shape_mark(causal));
    row[6].second = "256";
    Attention const chunk = std::get<Attention>(case_of(row).what);
    CHECK(chunk.queries == 256);
    CHECK(chunk.keys == 1024);
    CHECK(chunk.past == 768);
    row[6].second = "2048";
    CHECK(skip_of(row) == "seq_q is more than seq_kv");
}

TEST_CASE("bench rows: JSON lines are the same rows, and a line that was cut off is dropped") {
    std::string const text =
        "{\"bench\": \"gemm\", \"backend\": \"host\", \"device\": \"A, \\\"B\\\"\", \"m\": 64, \"median_us\": 1.5, "
        "\"groups\": null, \"more\": true}\n{\"bench\": \"ge";
    CsvTable const table = parse_bench_rows(text, "rows.jsonl");
    REQUIRE(table.records.size() == 1);
    RowCells const row(table, table.records[0]);
    CHECK(row.text("device") == "A, \"B\"");
    CHECK(row.count("m") == 64);
    CHECK(row.text("groups").empty());
    CHECK(row.number("median_us") == 1.5);
    std::string const whole = header() + line(product("host", "fp32"));
    CHECK(parse_bench_rows(whole + "gemm,ho", "rows.csv").records.size() == 1);
    std::string const unended = whole.substr(0, whole.size() - 1);  // as an editor leaves it
    REQUIRE(parse_bench_rows(unended, "rows.csv").records.size() == 1);
    CHECK(parse_bench_rows(unended, "rows.csv").records[0].cells ==
          parse_bench_rows(whole, "rows.csv").records[0].cells);
    CHECK(parse_bench_rows(whole + "gemm,\"ho", "rows.csv").records.size() == 1);
    CHECK(parse_bench_rows("{\"bench\": 1}\n{\"bench\": 2}", "r").records.size() == 2);
    CHECK_THROWS_AS(parse_bench_rows("", "rows.csv"), InputError);
    CHECK_THROWS_AS(parse_bench_rows("a,b\n1,2\n", "rows.csv"), InputError);
    CHECK_THROWS_WITH(parse_bench_rows("{\"bench\": 1}\n[2]\n", "r"), contains("r: line 2: is no JSON object"));
}

TEST_CASE("memory-bound tables: bytes, kernel and format become the case") {
    CsvTable const table = parse_csv(
        "source_ref,device,kernel,dtype,bytes_moved,cache,latency_us\ns,Abacus,rmsnorm,BF16,1000000,cold,5\n"
        "s,Abacus,rmsnorm,,1000000,tepid,5\n",
        "t.csv");
    REQUIRE(kernel_table_of(table) == KernelTable::memory);
    KernelCase const c = kernel_case(KernelTable::memory, RowCells(table, table.records[0]));
    CHECK(std::get<MemoryKernel>(c.what).moved.base() == 1e6);
    CHECK(c.variant == "rmsnorm bf16");
    CHECK(c.cache == CacheState::cold);
    CHECK_THROWS_AS(kernel_case(KernelTable::memory, RowCells(table, table.records[1])), RowSkip);
}

TEST_CASE("shape_hash: the shipped calibrations' held-out rows stay what they are") {
    KernelCase row;
    row.what = Gemm{.m = 1, .n = 32, .k = 4096};
    CHECK(shape_hash(row) == 7338912494911074324ULL);  // FNV-1a computed apart from this program
    row.what = DecodeAttention{.batch = 8, .heads = 32, .kv_heads = 8, .keys = 4096, .head_dim = 128};
    CHECK(shape_hash(row) == 14788879244311060616ULL);
    row.what = Attention{.batch = 1, .heads = 32, .kv_heads = 8, .queries = 2048, .keys = 2048, .head_dim = 128};
    CHECK(shape_hash(row) == 677394770248022987ULL);
    row.what = MemoryKernel{.moved = 1048576 * units::B};
    row.variant = "rmsnorm fp32";
    CHECK(shape_hash(row) == 13974367945844733906ULL);
    row.cache = CacheState::cold;
    row.device = "another";
    CHECK(shape_hash(row) == 13974367945844733906ULL);
}

TEST_CASE("is_held_out: one shape in ten") {
    int held_out = 0;
    for (std::int64_t m = 1; m <= 50; ++m)
        for (std::int64_t n = 1; n <= 40; ++n) {
            KernelCase row;
            row.what = Gemm{.m = m, .n = 16 * n, .k = 512};
            held_out += is_held_out(row) ? 1 : 0;
        }
    CHECK(held_out > 150);
    CHECK(held_out < 250);
}

// Rows of sextant-bench (CSV or JSON lines): products, memory-bound kernels and collectives. Its attention kernels stay
// out: the table of attention is of a serving engine's, and fits and validations take the rows themselves.
#include "calibrate/import/importer.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/kernel_row.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

bool recognises(std::string_view text) {
    if (header_has(text, {"bench", "backend", "median_us"})) return true;
    std::string_view const line = text.substr(0, text.find('\n'));
    return line.starts_with('{') && line.find("\"bench\"") != std::string_view::npos &&
           line.find("\"median_us\"") != std::string_view::npos;
}

/// Names as the table of collectives has them.
std::string collective_name(std::string const& kernel) {
    if (kernel == "all_to_all") return "alltoall";
    return kernel == "send_recv" ? "sendrecv" : kernel;
}

/// "2.27.3" of a note with "NCCL 2.27.3"; empty where there is none, as of processes that need no library.
std::string library_version(std::string_view note) {
    constexpr std::string_view library = "NCCL ";
    auto const at = note.find(library);
    if (at == std::string_view::npos) return "";
    note.remove_prefix(at + library.size());
    return std::string(note.substr(0, note.find_first_not_of("0123456789.")));
}

void add_collective(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    if (bench_row_failed(row)) throw RowSkip("the benchmark failed");
    if (bench_row_unsupported(row)) throw RowSkip("not supported where it was measured");
    std::int64_t const ranks = needed_count(row, "ranks");
    std::int64_t const nodes = row.count("nodes").value_or(1);
    if (nodes < 1 || ranks % nodes != 0) throw RowSkip("ranks do not divide over the nodes");
    std::string const device = device_of(request, row.text("device"));
    out.add(ImportedCollective{.run = fmt::format("{} {} {} ranks", request.name, row.text("kernel"), ranks),
                               .source = source_of(request, "sextant-bench " + row.text("backend")),
                               .device = device,
                               .library_version = library_version(row.text("note")),
                               .collective = collective_name(row.stated("kernel")),
                               .nodes = nodes,
                               .per_node = ranks / nodes,
                               .bytes = needed_number(row, "bytes"),
                               .microseconds = needed_number(row, "median_us")});
}

void add_kernel(RowCells const& row, ImportRequest const& request, ImportedTables& out) {
    KernelCase const kernel = bench_case(row);
    if (!kernel.measured) throw RowSkip("has no time");
    double const microseconds = kernel.measured->in(units::us);
    std::string const source = source_of(request, kernel.source);
    std::string const device = device_of(request, kernel.device);
    if (auto const* g = std::get_if<Gemm>(&kernel.what)) {
        GemmFormat const& format = *find_gemm_format(kernel.variant);
        out.add(ImportedProduct{.source = source,
                                .device = device,
                                .kernel = row.text("kernel"),
                                .dtype = std::string(format.alias),
                                .m = g->m,
                                .n = g->n,
                                .k = g->k,
                                .microseconds = microseconds,
                                .cache = kernel.cache,
                                .quantised_before = format.quantises,
                                .result_bytes = kernel.result_bytes});
    } else if (auto const* memory = std::get_if<MemoryKernel>(&kernel.what)) {
        std::string const dtype = row.text("dtype");
        out.add(ImportedMemoryKernel{.source = source,
                                     .device = device,
                                     .kernel = row.text("kernel"),
                                     .dtype = dtype == "bytes" ? "" : dtype,
                                     .bytes = memory->moved.base(),
                                     .microseconds = microseconds,
                                     .cold = kernel.cache == CacheState::cold});
    } else {
        throw RowSkip("the benchmark's own attention kernel (fit and validate take its rows as they are)");
    }
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    CsvTable const table = parse_bench_rows(text, request.name);
    ImportedTables out;
    for (CsvRecord const& record : table.records) {
        RowCells const row(table, record);
        std::string const bench = row.text("bench");
        out.or_skip([&] {
            if (bench == "collectives" || bench == "nccl")
                add_collective(row, request, out);
            else
                add_kernel(row, request, out);
        });
    }
    return out;
}

}  // namespace

extern constinit Importer const bench_importer;
constinit Importer const bench_importer{
    .name = "sextant-bench",
    .summary = "rows of sextant-bench, CSV or JSON lines",
    .source = "docs/kernels.md",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant

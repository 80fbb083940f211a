#include "core/measurements/bench_row.hpp"

#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <cstddef>

namespace sextant {
namespace {

/// Whether what follows the last line end is a row all the same, as editors leave it, and not what an interrupt cut
/// off.
bool is_whole_row(std::string_view line, std::string_view header, std::string const& name) {
    try {
        if (line.starts_with('{')) return table_of_json_lines(line, name, bench_columns()).records.size() == 1;
        auto const columns = parse_csv_records(header, name);
        auto const row = parse_csv_records(line, name);
        return columns.size() == 1 && row.size() == 1 && row[0].cells.size() == columns[0].cells.size();
    } catch (InputError const&) {  // an object or a quoted cell that does not end
        return false;
    }
}

}  // namespace

std::vector<std::string_view> bench_columns() {
    return {"bench",    "backend", "device",  "driver",       "date",          "kernel",   "dtype",         "m",
            "n",        "k",       "groups",  "batch",        "seq_q",         "seq_kv",   "heads",         "kv_heads",
            "head_dim", "causal",  "bytes",   "ranks",        "nodes",         "cache",    "launch",        "median_us",
            "p10_us",   "p90_us",  "repeats", "sm_clock_mhz", "mem_clock_mhz", "throttle", "max_rel_error", "tflops",
            "gbps",     "note"};
}

bool is_bench_table(CsvTable const& table) {
    for (char const* column : {"bench", "backend", "median_us"})
        if (!table.find(column)) return false;
    return true;
}

CsvTable parse_bench_rows(std::string_view text, std::string const& name) {
    auto const end = text.rfind('\n');
    std::size_t const rest = end == std::string_view::npos ? 0 : end + 1;
    if (!is_whole_row(text.substr(rest), text.substr(0, text.find('\n')), name)) text = text.substr(0, rest);
    if (text.empty()) throw InputError("{}: has no rows of sextant-bench", name);
    CsvTable table = text.front() == '{' ? table_of_json_lines(text, name, bench_columns()) : parse_csv(text, name);
    if (!is_bench_table(table)) throw InputError("{}: the header is not that of sextant-bench", name);
    static_cast<void>(table.require(bench_columns()));
    return table;
}

CsvTable read_bench_rows(std::string const& path) { return parse_bench_rows(read_text_file(path), path); }

bool bench_row_failed(RowCells const& row) { return row.text("note").starts_with("FAILED"); }
bool bench_row_unsupported(RowCells const& row) { return row.text("note").starts_with("unsupported"); }

}  // namespace sextant

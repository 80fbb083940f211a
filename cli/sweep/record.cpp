#include "cli/sweep/record.hpp"

#include "core/csv.hpp"

#include <fmt/format.h>

namespace sextant::cli {

char const* name_of(RowFormat format) { return format == RowFormat::csv ? "csv" : "jsonl"; }

SweepTable empty_table(SweepRecord const& record) {
    return {.command = record.command,
            .axes = record.axes,
            .groups = record.groups,
            .columns = record.columns,
            .prices = record.prices,
            .rows = {},
            .points = record.points};
}

std::string record_path(std::string const& file) { return file + ".sweep.json"; }

std::string header_line(SweepRecord const& record) {
    if (record.rows == RowFormat::jsonl) return "";
    std::vector<std::string> cells{"point"};
    for (SweepAxis const& axis : record.axes)
        cells.push_back(axis.name);
    cells.emplace_back("status");
    cells.insert(cells.end(), record.columns.begin(), record.columns.end());
    cells.emplace_back("reason");
    return csv_line(cells);
}

std::string row_beginning(SweepRecord const& record, std::int64_t point) {
    return record.rows == RowFormat::csv ? fmt::format("{},", point) : fmt::format("{{\"point\":{},", point);
}

}  // namespace sextant::cli

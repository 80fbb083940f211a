#pragma once

#include "core/csv.hpp"
#include "core/measurements/row_cells.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The columns that sextant-bench writes (docs/kernels.md), in their order.
std::vector<std::string_view> bench_columns();

/// Whether the header is that of sextant-bench.
bool is_bench_table(CsvTable const& table);

/// Rows of sextant-bench, CSV or JSON lines, as a table. What follows the last line end is dropped where it is no whole
/// row: an interrupt may have cut it off. @throws InputError: no rows of sextant-bench, a line that is none (with its
/// number).
CsvTable parse_bench_rows(std::string_view text, std::string const& name);
/// The same from a file. @throws InputError also when it cannot be read.
CsvTable read_bench_rows(std::string const& path);

/// Whether the row says that its kernel failed or was wrong.
bool bench_row_failed(RowCells const& row);
/// Whether the row says that the device or a library does not support its kernel; it has no time.
bool bench_row_unsupported(RowCells const& row);

/// One JSON object per line as a table with `columns`; null is an empty cell, other keys are left out.
/// @throws InputError with the line that is no object of numbers and texts.
CsvTable table_of_json_lines(std::string_view text, std::string const& name,
                             std::vector<std::string_view> const& columns);

}  // namespace sextant

#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A row of a table by the names of its columns: a step of training, or a load that a server took. What a log does not
/// say has no cell.
using CellRow = std::map<std::string, std::string, std::less<>>;

/// Columns of these tables, in the order of their headers (docs/validation.md).
std::span<std::string_view const> training_step_columns();
std::span<std::string_view const> served_load_columns();
/// Of a table of collectives those that its logs may not say.
std::span<std::string_view const> unsaid_collective_columns();

/// A table with the columns that any of the rows has; empty when there are none.
std::string cells_csv(std::vector<CellRow> const& rows, std::span<std::string_view const> columns);

/// A cell, unless the value is empty.
void put(CellRow& row, std::string_view column, std::string value);

/// The number in a cell; nothing where there is no such cell, or no number above zero in it.
std::optional<double> number_cell(CellRow const& row, std::string_view column);

/// What `--set COLUMN=VALUE` says replaces what the log does. @throws InputError: no column of these tables, with the
/// nearest; no value; no collective.
CellRow cells_set(std::vector<std::string> const& settings);

/// The same of a cell that a row cannot do without. @throws RowSkip naming the option.
double needed_cell(CellRow const& row, std::string_view column);
/// @throws RowSkip naming the options for those of these columns that the row has no cell of.
void need_cells(CellRow const& row, std::initializer_list<std::string_view> columns);

}  // namespace sextant

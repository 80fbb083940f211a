#pragma once

#include <functional>
#include <initializer_list>
#include <map>
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

/// What `--set COLUMN=VALUE` says replaces what the log does. @throws InputError: no column of these tables, with the
/// nearest; no value; no collective.
CellRow cells_set(std::vector<std::string> const& settings);

/// @throws RowSkip naming the option for the first of these columns that the row has no cell of.
void need_cells(CellRow const& row, std::initializer_list<std::string_view> columns);

}  // namespace sextant

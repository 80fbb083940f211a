#pragma once

#include "core/csv.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// Why a row of measurements is not used: a short phrase that other rows of the same kind share. Caught inside the
/// validation.
class RowSkip : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    /// Of a cell that cannot be read. @param place "runs.csv line 7: 'abc'"
    RowSkip(std::string const& reason, std::string place) : std::runtime_error(reason), place_(std::move(place)) {}
    /// Which cell cannot be read; empty where it is something else.
    [[nodiscard]] std::string const& place() const { return place_; }

private:
    std::string place_;
};

/// Rows that are not used, by reason.
using SkipCounts = std::map<std::string, std::size_t>;

/// Counts a row. Of cells that cannot be read the reason names the first ("tp is not a number (runs.csv line 7:
/// 'abc')"), whatever stands in the others.
void count_skip(SkipCounts& counts, std::string const& reason, std::string const& place);
void count_skip(SkipCounts& counts, RowSkip const& skip);

/// What a table of measurements has to have; what else of `known` is missing, no row states.
/// @throws InputError when one of `needed` is missing, and when one of `known` is missing beside a column that is not
/// known and nearly has its name: that is a slip, and dropping it would change predictions.
void require_columns(CsvTable const& table, std::vector<std::string_view> const& needed,
                     std::vector<std::string_view> const& known);

/// True for an empty cell and for what tables write for one: "-", "N/A", "unknown", "NaN". Not for "None", which may be
/// an answer.
bool is_blank_cell(std::string_view cell);

/// A finite number that is not negative, also with thousands parted by commas ("1,234,567"), nothing for a blank cell
/// or "None"; else says in `problem`, unless it says something already, what is wrong with the cell.
std::optional<double> number_in(std::string_view cell, std::string_view column, std::string& problem);

/// The same for a whole number below 2^53, also when it is written as "8.0".
std::optional<std::int64_t> count_in(std::string_view cell, std::string_view column, std::string& problem);

/// The same for bytes, also with a unit: as nccl-tests takes it ("1G" is 2^30), or in full ("1 GiB", "1GB" of 10^9).
std::optional<std::int64_t> bytes_in(std::string_view cell, std::string_view column, std::string& problem);

/// Yes or no: "1", "0", "True", "no"; nothing for a blank cell.
std::optional<bool> flag_in(std::string_view cell, std::string_view column, std::string& problem);

/// The value of a cell that a row cannot do without. @throws RowSkip "<name> is not stated", "<name> is zero".
std::int64_t need(std::optional<std::int64_t> const& cell, std::string_view name);

/// Cells of one record by the name of their column.
class RowCells {
public:
    /// Both must outlive this.
    RowCells(CsvTable const& table, CsvRecord const& record) : table_(table), record_(record) {}

    /// Trimmed; empty where the table has no such column.
    [[nodiscard]] std::string text(std::string_view column) const;
    /// @throws RowSkip for an empty cell.
    [[nodiscard]] std::string stated(std::string_view column) const;
    /// Nothing for a blank cell, which "None" is here. @throws RowSkip with the place: no number, negative, not finite.
    [[nodiscard]] std::optional<double> number(std::string_view column) const;
    /// The same for whole numbers.
    [[nodiscard]] std::optional<std::int64_t> count(std::string_view column) const;
    /// The same for bytes, with or without a unit.
    [[nodiscard]] std::optional<std::int64_t> bytes(std::string_view column) const;
    /// The same for yes and no.
    [[nodiscard]] std::optional<bool> flag(std::string_view column) const;

private:
    template <class Value>
    using Read = std::optional<Value> (*)(std::string_view cell, std::string_view column, std::string& problem);
    template <class Value>
    [[nodiscard]] std::optional<Value> read(std::string_view column, Read<Value> in) const;

    CsvTable const& table_;
    CsvRecord const& record_;
};

}  // namespace sextant

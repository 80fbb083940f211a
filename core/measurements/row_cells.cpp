#include "core/measurements/row_cells.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <charconv>
#include <cmath>

namespace sextant {

std::optional<double> number_in(std::string_view cell, std::string_view column, std::string& problem) {
    cell = trimmed(cell);
    if (cell.empty()) return std::nullopt;
    double value = 0;
    auto const [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    std::string_view what;
    if (error != std::errc{} || end != cell.data() + cell.size())
        what = "is not a number";
    else if (!std::isfinite(value))
        what = "is not finite";
    else if (value < 0)
        what = "is negative";
    if (what.empty()) return value;
    if (problem.empty()) problem = fmt::format("{} {}", column, what);
    return std::nullopt;
}

std::optional<std::int64_t> count_in(std::string_view cell, std::string_view column, std::string& problem) {
    auto const value = number_in(cell, column, problem);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value) || *value > 9e15) {
        if (problem.empty()) problem = fmt::format("{} is not a whole number", column);
        return std::nullopt;
    }
    return static_cast<std::int64_t>(*value);
}

std::int64_t need(std::optional<std::int64_t> const& cell, std::string_view name) {
    if (!cell) throw RowSkip(fmt::format("{} is not stated", name));
    if (*cell == 0) throw RowSkip(fmt::format("{} is zero", name));
    return *cell;
}

namespace {

void refuse(CsvTable const& table, CsvRecord const& record, std::string const& problem, std::string_view cell) {
    if (problem.empty()) return;
    throw InputError("{}: line {}: {}: '{}' (an empty cell or a finite number of at least 0)", table.name, record.line,
                     problem, cell.substr(0, 60));
}

}  // namespace

std::string RowCells::text(std::string_view column) const {
    auto const at = table_.find(column);
    return at ? std::string(trimmed(record_.cells[*at])) : std::string();
}

std::string RowCells::stated(std::string_view column) const {
    std::string cell = text(column);
    if (cell.empty()) throw RowSkip(fmt::format("{} is not stated", column));
    return cell;
}

std::optional<double> RowCells::number(std::string_view column) const {
    std::string const cell = text(column);
    std::string problem;
    auto const value = number_in(cell, column, problem);
    refuse(table_, record_, problem, cell);
    return value;
}

std::optional<std::int64_t> RowCells::count(std::string_view column) const {
    std::string const cell = text(column);
    std::string problem;
    auto const value = count_in(cell, column, problem);
    refuse(table_, record_, problem, cell);
    return value;
}

}  // namespace sextant

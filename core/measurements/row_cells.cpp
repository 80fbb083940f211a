#include "core/measurements/row_cells.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace sextant {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// How many commas part the digits before the decimal point into groups of three; 0 if they are set otherwise.
std::size_t groups_of_three(std::string_view cell) {
    std::string_view const whole = cell.substr(0, cell.find('.'));
    std::size_t const first = whole.find(',');
    if (first == std::string_view::npos || first == 0 || first > 3) return 0;
    if (cell.find(',', whole.size()) != std::string_view::npos || (whole.size() - first) % 4 != 0) return 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        bool const comma = i >= first && (i - first) % 4 == 0;
        if (comma ? whole[i] != ',' : !is_digit(whole[i])) return 0;
    }
    return (whole.size() - first) / 4;
}

/// One comma before three digits parts thousands in one country and decimals in the next; tokens a second are no small
/// figures, and counts have no decimals.
enum class LoneComma : std::uint8_t { thousands, doubtful };

/// "38,4": a decimal comma.
bool has_decimal_comma(std::string_view cell) {
    auto const comma = cell.find(',');
    if (comma == 0 || comma == std::string_view::npos) return false;
    std::string point(cell);
    point[comma] = '.';
    double value = 0;
    auto const [end, error] = std::from_chars(point.data(), point.data() + point.size(), value);
    return error == std::errc{} && end == point.data() + point.size();
}

std::optional<double> read_number(std::string_view cell, std::string_view column, LoneComma lone,
                                  std::string& problem) {
    cell = trimmed(cell);
    if (is_blank_cell(cell) || lower_case(cell) == "none") return std::nullopt;
    std::string without_commas;
    std::string_view what;
    if (auto const groups = groups_of_three(cell); groups > 0) {
        bool const clear = groups > 1 || cell.find('.') != std::string_view::npos || lone == LoneComma::thousands;
        if (!clear) what = "has a comma that may be of thousands or of decimals";
        without_commas = cell;
        std::erase(without_commas, ',');
        cell = without_commas;
    }
    double value = 0;
    auto const [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc{} || end != cell.data() + cell.size())
        what = has_decimal_comma(cell) ? "has a decimal comma (write a point)" : "is not a number";
    else if (!std::isfinite(value))
        what = "is not finite";
    else if (value < 0)
        what = "is negative";
    if (what.empty()) return value;
    if (problem.empty()) problem = fmt::format("{} {}", column, what);
    return std::nullopt;
}

/// "Seq Len" for seq_len, "global_batch" for global_batch_seqs, "tp_size" for tp, "iter_time_ms" for iter_time_s,
/// "micro_bach" for micro_batch.
bool is_slip(std::string_view column, std::string_view wanted) {
    auto const longer = [](std::string_view a, std::string_view b) {
        return a.size() > b.size() && a.starts_with(b) && a[b.size()] == '_';
    };
    if (longer(column, wanted) || longer(wanted, column)) return true;
    std::string const a = letters_and_digits(column);
    std::string const b = letters_and_digits(wanted);
    std::size_t const shorter = std::min(a.size(), b.size());
    std::size_t same = 0;
    while (same < shorter && a[same] == b[same])
        ++same;
    return a == b || (shorter > 5 && (5 * same >= 4 * shorter || edit_distance(a, b) == 1));
}

}  // namespace

void require_columns(CsvTable const& table, std::vector<std::string_view> const& needed,
                     std::vector<std::string_view> const& known) {
    static_cast<void>(table.require(needed));
    auto const is_known = [&](std::string_view column) { return is_one_of(known, column); };
    for (std::string const& column : table.header) {
        if (is_known(column)) continue;
        for (std::string_view const wanted : known)
            if (!table.find(wanted) && is_slip(column, wanted))
                throw InputError(
                    "{}: column '{}' is not known here, and '{}' is missing (rename it, with its figures in the unit "
                    "of that name, or drop it)",
                    table.name, column, wanted);
    }
}

bool is_blank_cell(std::string_view cell) {
    constexpr std::array words{
        "",     "-", "--",      "n/a", "na",         "#n/a",         "null",        "nan",
        "<na>", "?", "unknown", "tbd", "not stated", "\xe2\x80\x93", "\xe2\x80\x94"};  // en and em dash
    std::string const text = lower_case(trimmed(cell));
    return is_one_of(words, text);
}

std::optional<double> number_in(std::string_view cell, std::string_view column, std::string& problem) {
    bool const rate = column.find("tokens_per_s") != std::string_view::npos;
    return read_number(cell, column, rate ? LoneComma::thousands : LoneComma::doubtful, problem);
}

std::optional<std::int64_t> count_in(std::string_view cell, std::string_view column, std::string& problem) {
    auto const value = read_number(cell, column, LoneComma::thousands, problem);
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
    if (is_blank_cell(cell)) throw RowSkip(fmt::format("{} is not stated", column));
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

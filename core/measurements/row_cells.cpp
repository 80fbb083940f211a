#include "core/measurements/row_cells.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sextant {
namespace {

void say(std::string& problem, std::string_view column, std::string_view what) {
    if (problem.empty()) problem = fmt::format("{} {}", column, what);
}

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

/// One comma before three digits parts thousands in one country and decimals in the next; tokens a second and lengths
/// are no small figures, and counts have no decimals.
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
    say(problem, column, what);
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
    // Means of these have decimals, but none is so small that three digits behind a comma would be.
    constexpr std::array large{"tokens_per_s", "input_len", "output_len", "concurrency"};
    return read_number(cell, column, has_any(column, large) ? LoneComma::thousands : LoneComma::doubtful, problem);
}

std::optional<std::int64_t> count_in(std::string_view cell, std::string_view column, std::string& problem) {
    auto const value = read_number(cell, column, LoneComma::thousands, problem);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value) || *value > 9e15) {
        say(problem, column, "is not a whole number");
        return std::nullopt;
    }
    return static_cast<std::int64_t>(*value);
}

namespace {

struct ByteUnit {
    std::string_view name;  ///< lower case
    double bytes;
};

constexpr double kib = 1024;
// Of a letter alone as nccl-tests' -b and -e take it (src/common.cu, parsesize).
constexpr std::array byte_units{ByteUnit{"", 1},
                                ByteUnit{"b", 1},
                                ByteUnit{"bytes", 1},
                                ByteUnit{"k", kib},
                                ByteUnit{"m", kib* kib},
                                ByteUnit{"g", kib* kib* kib},
                                ByteUnit{"t", kib* kib* kib* kib},
                                ByteUnit{"ki", kib},
                                ByteUnit{"mi", kib* kib},
                                ByteUnit{"gi", kib* kib* kib},
                                ByteUnit{"kib", kib},
                                ByteUnit{"mib", kib* kib},
                                ByteUnit{"gib", kib* kib* kib},
                                ByteUnit{"tib", kib* kib* kib* kib},
                                ByteUnit{"kb", 1e3},
                                ByteUnit{"mb", 1e6},
                                ByteUnit{"gb", 1e9},
                                ByteUnit{"tb", 1e12}};

constexpr std::array yes_words{"1", "1.0", "true", "yes", "on", "t", "y"};
constexpr std::array no_words{"0", "0.0", "false", "no", "off", "f", "n"};

}  // namespace

std::optional<std::int64_t> bytes_in(std::string_view cell, std::string_view column, std::string& problem) {
    cell = trimmed(cell);
    if (is_blank_cell(cell)) return std::nullopt;
    std::size_t const end = cell.find_last_of("0123456789.") + 1;  // of the number
    std::string const unit = lower_case(trimmed(cell.substr(end)));
    auto const found =
        std::find_if(byte_units.begin(), byte_units.end(), [&](ByteUnit const& known) { return known.name == unit; });
    bool const is_known = end > 0 && found != byte_units.end();
    auto const value = read_number(is_known ? cell.substr(0, end) : cell, column, LoneComma::thousands, problem);
    if (!value) return std::nullopt;
    double const bytes = *value * found->bytes;
    if (bytes == std::floor(bytes) && bytes <= 9e15) return static_cast<std::int64_t>(bytes);
    say(problem, column, "is no whole number of bytes");
    return std::nullopt;
}

std::optional<bool> flag_in(std::string_view cell, std::string_view column, std::string& problem) {
    if (is_blank_cell(cell)) return std::nullopt;
    std::string const word = lower_case(trimmed(cell));
    if (is_one_of(yes_words, word)) return true;
    if (is_one_of(no_words, word)) return false;
    say(problem, column, "is neither yes nor no");
    return std::nullopt;
}

void count_skip(SkipCounts& counts, std::string const& reason, std::string const& place) {
    if (place.empty()) {
        ++counts[reason];
        return;
    }
    std::string const begin = reason + " (";
    auto const found = counts.lower_bound(begin);
    if (found != counts.end() && found->first.starts_with(begin))
        ++found->second;
    else
        counts.emplace(begin + place + ")", 1);
}

void count_skip(SkipCounts& counts, RowSkip const& skip) { count_skip(counts, skip.what(), skip.place()); }

std::int64_t need(std::optional<std::int64_t> const& cell, std::string_view name) {
    if (!cell) throw RowSkip(fmt::format("{} is not stated", name));
    if (*cell == 0) throw RowSkip(fmt::format("{} is zero", name));
    return *cell;
}

std::string RowCells::text(std::string_view column) const {
    auto const at = table_.find(column);
    return at ? std::string(trimmed(record_.cells[*at])) : std::string();
}

std::string RowCells::stated(std::string_view column) const {
    std::string cell = text(column);
    if (is_blank_cell(cell)) throw RowSkip(fmt::format("{} is not stated", column));
    return cell;
}

template <class Value>
std::optional<Value> RowCells::read(std::string_view column, Read<Value> in) const {
    std::string const cell = text(column);
    if (lower_case(cell) == "none") return std::nullopt;  // Python's word
    std::string problem;
    auto const value = in(cell, column, problem);
    if (!problem.empty())
        throw RowSkip(problem, fmt::format("{} line {}: '{}'", table_.name.substr(table_.name.rfind('/') + 1),
                                           record_.line, cell.substr(0, 60)));
    return value;
}

std::optional<double> RowCells::number(std::string_view column) const { return read<double>(column, number_in); }

std::optional<std::int64_t> RowCells::count(std::string_view column) const {
    return read<std::int64_t>(column, count_in);
}

std::optional<std::int64_t> RowCells::bytes(std::string_view column) const {
    return read<std::int64_t>(column, bytes_in);
}

std::optional<bool> RowCells::flag(std::string_view column) const { return read<bool>(column, flag_in); }

}  // namespace sextant

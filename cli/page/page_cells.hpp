#pragma once

#include "cli/page/page.hpp"
#include "cli/view/empty_columns.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sextant::cli {

/// A number as `digits` ("{:.3g}") shows it, whole where that would be "1.06e+04" of some thousands; "-" where it is
/// not finite.
inline PageCell number_cell(fmt::string_view digits, double value) {
    if (!std::isfinite(value)) return {"-"};
    std::string text = fmt::format(fmt::runtime(digits), value);
    if (std::abs(value) >= 1 && std::abs(value) < 1e6 && text.find('e') != std::string::npos)
        text = fmt::format("{:.0f}", value);
    return {std::move(text), value};
}

/// The column of this name goes where no row has a text in it.
inline void leave_out_if_empty(PageTable& table, std::string_view header) {
    leave_out_if_empty(table.columns, table.rows, header,
                       [](PageCell const& cell) { return std::string_view(cell.text); });
}

inline PageCell count_cell(std::int64_t value) { return {fmt::format("{}", value), static_cast<double>(value)}; }

}  // namespace sextant::cli

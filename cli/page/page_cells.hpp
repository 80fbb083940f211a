#pragma once

#include "cli/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
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
    auto const column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](PageColumn const& c) { return c.header == header; });
    assert(column != table.columns.end());
    std::ptrdiff_t const place = column - table.columns.begin();
    auto const has_text = [&](auto const& row) { return !row[static_cast<std::size_t>(place)].text.empty(); };
    if (std::any_of(table.rows.begin(), table.rows.end(), has_text)) return;
    table.columns.erase(column);
    for (auto& row : table.rows)
        row.erase(row.begin() + place);
}

inline PageCell count_cell(std::int64_t value) { return {fmt::format("{}", value), static_cast<double>(value)}; }

}  // namespace sextant::cli

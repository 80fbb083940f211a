#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>

namespace sextant::cli {

/// The column of this name goes where no row has a text in it. @param text_of a cell's.
template <class Columns, class Rows, class TextOf>
void leave_out_if_empty(Columns& columns, Rows& rows, std::string_view header, TextOf text_of) {
    auto const column = std::find_if(columns.begin(), columns.end(), [&](auto const& c) { return c.header == header; });
    assert(column != columns.end());
    std::ptrdiff_t const place = column - columns.begin();
    auto const has_text = [&](auto const& row) { return !text_of(row[static_cast<std::size_t>(place)]).empty(); };
    if (std::any_of(rows.begin(), rows.end(), has_text)) return;
    columns.erase(column);
    for (auto& row : rows)
        row.erase(row.begin() + place);
}

}  // namespace sextant::cli

#pragma once

#include "core/error.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Whether a measured time is so far from what was said before the fit that another thing was measured, in whatever
/// unit both are: by a factor of four (assumed), or no number.
inline bool is_far_off(double measured, double predicted) {
    constexpr double far = 4;
    return !(measured < far * predicted && predicted < far * measured);
}

/// Whether so many rows are far off that the table is of something else, or in other units: what remains of it when
/// they are gone is not what was measured. A third of them (assumed).
inline bool is_another_table(std::size_t far_off, std::size_t usable) { return 3 * far_off >= far_off + usable; }

/// Drops rows whose `all_of` another row has too, and says how many.
template <class Row, class AllOf>
std::size_t drop_repeated(std::vector<Row>& rows, AllOf all_of) {
    std::set<decltype(all_of(rows.front()))> seen;
    return std::erase_if(rows, [&](Row const& row) { return !seen.insert(all_of(row)).second; });
}

/// Drops rows that `why_not` has a reason against (empty: none), and says how many for which.
/// @param of what the rows should be of, @param doubt what else may be wrong with the table: of the message.
/// @throws InputError when that is most of the rows.
template <class Row, class WhyNot>
std::map<std::string, std::size_t> drop_rows(std::vector<Row>& rows, WhyNot why_not, std::string_view of,
                                             std::string_view doubt) {
    std::map<std::string, std::size_t> dropped;
    std::size_t const before = rows.size();
    std::erase_if(rows, [&](Row const& row) {
        std::string const why = why_not(row);
        if (!why.empty()) ++dropped[why];
        return !why.empty();
    });
    std::size_t const gone = before - rows.size();
    if (2 * gone <= before) return dropped;
    auto const most = std::max_element(dropped.begin(), dropped.end(),
                                       [](auto const& a, auto const& b) { return a.second < b.second; });
    throw InputError("calibrate fit: {} of {} rows cannot be of {}, most of them {} ({})", gone, before, of,
                     most->first, doubt);
}

}  // namespace sextant

#pragma once

#include "core/measurements/row_cells.hpp"
#include "core/units.hpp"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace sextant {

/// Which column of a row states a rate beside its time, and in what.
struct StatedRate {
    std::string_view column;
    double unit = 0;  ///< of the column, in 1/s
    std::string_view unit_text;
};
inline constexpr StatedRate stated_tflops{.column = "tflops", .unit = 1e12, .unit_text = "1e12/s"};
inline constexpr StatedRate stated_gbps{.column = "gbps", .unit = 1e9, .unit_text = "1e9 B/s"};

/// @throws RowSkip where the rate that a row states beside its time is more than 10 % from each of `amounts` (in FLOPs
/// or bytes, as the field counts them) over that time: one of the two is in another unit. Not read is a cell that is no
/// number: only people look at it.
void require_rate(RowCells const& row, StatedRate const& rate, std::optional<Seconds> const& measured,
                  std::initializer_list<double> amounts);

}  // namespace sextant

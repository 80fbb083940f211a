#pragma once

#include "cli/sweep/table.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// An axis as it is asked for, "NAME=VALUES":
///
///     gpus=64..4096x2          64, 128, ... 4096 (geometric)
///     seq=2048..8192+2048      2048, 4096, ... 8192 (linear; "1..8" counts in ones)
///     cluster=h100-sxm,b200-sxm
///     inter_node_bandwidth=x0.5,x1..4x2      factors on the profile's value
///     bandwidth=25..100x2 GB/s               the unit goes to each value
///
/// Entries are separated by commas, or, where a value holds commas, by semicolons. A range never passes its end.
/// @throws InputError: no name, no value, an empty entry, a range that is none or does not end, a value given twice,
/// more than `most_values`.
SweepAxis parse_axis(std::string_view text, std::string_view where);
inline constexpr std::size_t most_values = 100'000;

/// Which axes advance together: those that one of `zipped` ("tp,gpus") names are one dimension; each other is its own.
/// In the order of the axes.
/// @throws InputError: an unknown name, one in two groups, axes of different lengths.
std::vector<std::vector<std::size_t>> axis_groups(std::vector<SweepAxis> const& axes,
                                                  std::vector<std::string> const& zipped, std::string_view where);

/// Points of the grid. @throws InputError beyond `most_points`.
std::int64_t point_count(std::vector<SweepAxis> const& axes, std::vector<std::vector<std::size_t>> const& groups);
inline constexpr std::int64_t most_points = 1'000'000'000;

/// Position in each axis' values at a point; the last dimension varies fastest.
std::vector<std::size_t> positions_at(std::vector<SweepAxis> const& axes,
                                      std::vector<std::vector<std::size_t>> const& groups, std::int64_t point);

}  // namespace sextant::cli

#pragma once

#include "calibrate/import/nccl_tests_columns.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sextant {

// What the words of a line between the heads of nccl-tests are. Among the lines of sizes,
//
//   1048576  262144  float  sum  -1  31.20  33.61  50.41  0  30.90  33.93  50.90  0
//
// stand those of the library, of launchers and of the job's script, which may end in as many numbers: a size is known
// by the type of its elements, two words behind it.

/// Where the figures of a size begin, behind whatever a launcher, a container or a logger put there. A type that is not
/// known counts where the line has the columns of the head and nothing before them. None: it is no such line, or digits
/// before it may belong to the size.
std::optional<std::size_t> size_position(std::vector<std::string_view> const& words, NcclTestsColumns const& head);

/// A line with the figures of a size behind a type, whatever it begins with: it may not be lost.
bool has_figures_of_size(std::vector<std::string_view> const& words, NcclTestsColumns const& head);

/// Nothing but the times that belong to a size: what is left of its line where another was printed into it.
bool is_rest_of_size(std::vector<std::string_view> const& words, NcclTestsColumns const& head);

/// What a line of a size begins with, at most up to a part of its type: "1048576  2621".
bool begins_size(std::vector<std::string_view> const& words);

/// Whether a time and the rate printed beside it (GB/s of `bytes`, two decimals) are more than 10 % apart: one of them
/// is in another unit, as NCCL 1's tests print milliseconds, or of another column. A rate of zero says nothing.
bool contradicts_rate(double microseconds, double gigabytes_per_s, double bytes);

/// Where a message of the library ("node:12:34 [0] NCCL INFO ...") or of another stream ("[1,3]<stderr>:...") is known
/// as such; words.size() when there is none.
std::size_t message_position(std::vector<std::string_view> const& words);

}  // namespace sextant

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/harness/float_formats.hpp"

namespace sextant::bench {

/// Which elements of a [rows, columns] matrix share a scale: none, all of them, those of a row, or those of a run of
/// 128 in a row.
enum class Scaling { none, per_tensor, per_row, block128 };
char const* name_of(Scaling scaling);
/// @throws BadInput for another name.
Scaling scaling_named(std::string const& name);

struct Quantised {
    std::vector<double> values;  ///< back in the original range
    std::int64_t overflow = 0;   ///< elements whose scaled value lies beyond the largest finite one (then saturated)
    std::int64_t underflow = 0;  ///< elements that became zero without being zero
};

/// values[i] = round(x[i] s) / s with s = format.max / amax of the element's group, 1 without scaling; s is rounded to
/// fp32, as frameworks keep it. A group of zeros has s = 1.
Quantised quantise(FloatFormat const& format, Scaling scaling, std::int64_t rows, std::int64_t columns,
                   std::vector<double> const& x);

}  // namespace sextant::bench

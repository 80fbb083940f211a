#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/host/element_format.hpp"

namespace sextant::bench {

/// Which elements of a [rows, columns] matrix share a scale, and how the scale is stored. A row is an output channel of
/// a weight, or a token of an activation or of a key-value cache; columns are then heads of 128.
enum class Scaling {
    none,
    per_tensor,
    per_row,
    per_head,             ///< 128 columns of all rows
    block128,             ///< runs of 128 in a row; of a cache: one token of one head
    tile128,              ///< 128 x 128
    group128,             ///< runs of 128 in a row, scale in fp16
    group128_asymmetric,  ///< the same with a zero point of the element's bits
    block32_e8m0,         ///< runs of 32, the scale a power of two: the MX formats
    block16_e4m3,         ///< runs of 16, scale in e4m3, and one of the tensor in fp32: NVFP4
};
char const* name_of(Scaling scaling);
/// @throws BadInput for another name.
Scaling scaling_named(std::string const& name);
std::span<Scaling const> all_scalings();

struct Quantised {
    std::vector<double> values;  ///< back in the original range
    std::int64_t overflow = 0;   ///< elements whose scaled value lies beyond the largest one (then saturated)
    std::int64_t underflow = 0;  ///< elements that became zero without being zero
};

/// values[i] = round(x[i] / s) s with s = amax / largest of the element's group, 1 without scaling; s is rounded to
/// fp32, as frameworks keep it, or to fp16 (group128). A group of zeros has s = 1.
///
/// Asymmetric: s = (high - low) / (2^bits - 1) over the group with zero, z = round(-low / s), values = (q - z) s.
/// block32_e8m0: s = 2^(floor(log2 amax) - e), e the largest exponent of the element format; values above the largest
/// one saturate. Source: OCP Microscaling Formats 1.0, section 6.3.
/// block16_e4m3: s = t e4m3(amax / largest / t) with t = amax of the tensor / (largest 448).
/// Source: NVIDIA, Pretraining Large Language Models with NVFP4, arXiv:2509.25149, appendix.
Quantised quantise(ElementFormat const& format, Scaling scaling, std::int64_t rows, std::int64_t columns,
                   std::vector<double> const& x);

}  // namespace sextant::bench

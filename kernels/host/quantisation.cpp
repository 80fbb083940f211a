#include "kernels/host/quantisation.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {

char const* name_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::none: return "none";
        case Scaling::per_tensor: return "per_tensor";
        case Scaling::per_row: return "per_row";
        default: return "block128";
    }
}

Scaling scaling_named(std::string const& name) {
    for (Scaling const scaling : {Scaling::none, Scaling::per_tensor, Scaling::per_row, Scaling::block128})
        if (name == name_of(scaling)) return scaling;
    throw BadInput("no scaling \"" + name + "\" (none, per_tensor, per_row, block128)");
}

Quantised quantise(FloatFormat const& format, Scaling scaling, std::int64_t rows, std::int64_t columns,
                   std::vector<double> const& x) {
    std::int64_t const group = scaling == Scaling::block128  ? std::min<std::int64_t>(128, columns)
                               : scaling == Scaling::per_row ? columns
                                                             : rows * columns;
    std::int64_t const row = scaling == Scaling::none || scaling == Scaling::per_tensor ? rows * columns : columns;
    Quantised result;
    result.values.resize(x.size());
    auto const total = static_cast<std::int64_t>(x.size());
    for (std::int64_t row_begin = 0; row_begin < total; row_begin += row)
        for (std::int64_t begin = row_begin; begin < row_begin + row; begin += group) {
            std::int64_t const end = std::min(begin + group, row_begin + row);
            double amax = 0;
            for (std::int64_t i = begin; i < end; ++i)
                amax = std::max(amax, std::abs(x[static_cast<std::size_t>(i)]));
            double const wanted = scaling == Scaling::none || amax == 0 ? 1.0 : format.max / amax;
            double const scale = static_cast<double>(static_cast<float>(std::min(wanted, 1e38)));
            for (std::int64_t i = begin; i < end; ++i) {
                double const value = x[static_cast<std::size_t>(i)];
                double const got = rounded(format, value * scale, Overflow::saturate);
                // Up to half a step above the largest value still rounds to it, and is no overflow.
                double const special = rounded(format, value * scale, Overflow::special);
                if (!std::isfinite(special)) ++result.overflow;
                if (got == 0 && value != 0) ++result.underflow;
                result.values[static_cast<std::size_t>(i)] = got / scale;
            }
        }
    return result;
}

}  // namespace sextant::bench

#include "kernels/host/quantisation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {
namespace {

constexpr std::array names{
    std::pair{Scaling::none, "none"},
    std::pair{Scaling::per_tensor, "per_tensor"},
    std::pair{Scaling::per_row, "per_row"},
    std::pair{Scaling::per_head, "per_head"},
    std::pair{Scaling::block128, "block128"},
    std::pair{Scaling::tile128, "tile128"},
    std::pair{Scaling::group128, "group128"},
    std::pair{Scaling::group128_asymmetric, "group128_asymmetric"},
    std::pair{Scaling::block32_e8m0, "block32_e8m0"},
    std::pair{Scaling::block16_e4m3, "block16_e4m3"},
};

struct Matrix {
    std::int64_t rows, columns;
    std::vector<double> const& x;
    [[nodiscard]] std::size_t at(std::int64_t row, std::int64_t column) const {
        return static_cast<std::size_t>(row * columns + column);
    }
};

/// Elements that share a scale.
struct Tile {
    std::int64_t row, column, rows, columns;
};

Tile tile_size(Scaling scaling, std::int64_t rows, std::int64_t columns) {
    switch (scaling) {
        case Scaling::none:
        case Scaling::per_tensor: return {0, 0, rows, columns};
        case Scaling::per_row: return {0, 0, 1, columns};
        case Scaling::per_head: return {0, 0, rows, 128};
        case Scaling::tile128: return {0, 0, 128, 128};
        case Scaling::block32_e8m0: return {0, 0, 1, 32};
        case Scaling::block16_e4m3: return {0, 0, 1, 16};
        default: return {0, 0, 1, 128};
    }
}

struct Range {
    double low = 0, high = 0;
    [[nodiscard]] double amax() const { return std::max(-low, high); }
};

Range range_of(Matrix const& m, Tile const& tile) {
    Range range;
    for (std::int64_t r = tile.row; r < tile.row + tile.rows; ++r)
        for (std::int64_t c = tile.column; c < tile.column + tile.columns; ++c) {
            range.low = std::min(range.low, m.x[m.at(r, c)]);
            range.high = std::max(range.high, m.x[m.at(r, c)]);
        }
    return range;
}

double fp32(double x) { return std::max(static_cast<double>(static_cast<float>(x)), 0x1p-126); }
double fp16(double x) { return std::max(rounded(fp16_format, x, Overflow::saturate), 0x1p-24); }

/// The step between whole numbers of the element format.
double step_of(ElementFormat const& format, Scaling scaling, double amax, double tensor_amax) {
    if (scaling == Scaling::none || amax == 0) return 1;
    if (scaling == Scaling::block32_e8m0)
        return e8m0::decoded(e8m0::encoded(std::ldexp(1.0, std::ilogb(amax) - format.largest_exponent())));
    if (scaling == Scaling::block16_e4m3) {
        double const tensor = fp32(tensor_amax / (format.largest() * e4m3.max));
        return tensor * rounded(e4m3, amax / format.largest() / tensor, Overflow::saturate);
    }
    double const wanted = amax / format.largest();
    return scaling == Scaling::group128 ? fp16(wanted) : fp32(wanted);
}

/// Rounds the elements of one tile.
class TileRounding {
public:
    TileRounding(ElementFormat const& format, Scaling scaling, Range const& range, double tensor_amax)
        : format_(format) {
        if (scaling != Scaling::group128_asymmetric) {
            step_ = step_of(format, scaling, range.amax(), tensor_amax);
            return;
        }
        if (!format.is_integer()) throw BadInput("an asymmetric scaling needs an integer format");
        double const levels = 2 * format.largest() + 1;
        step_ = range.high > range.low ? fp16((range.high - range.low) / levels) : 1;
        highest_ = levels;
        zero_ = std::clamp(std::nearbyint(-range.low / step_), 0.0, levels);
    }

    void add(double value, std::size_t at, Quantised& to) const {
        if (step_ == 0) {  // the scale itself underflowed
            to.underflow += value != 0 ? 1 : 0;
            to.values[at] = 0;
            return;
        }
        double got = 0;
        bool overflow = false;
        if (highest_ > 0) {
            double const code = std::nearbyint(value / step_) + zero_;
            overflow = code < 0 || code > highest_;
            got = std::clamp(code, 0.0, highest_) - zero_;
        } else {
            got = format_.nearest(value / step_);
            overflow = std::abs(got) >= format_.largest() && format_.overflows(value / step_);
        }
        to.overflow += overflow ? 1 : 0;
        to.underflow += got == 0 && value != 0 ? 1 : 0;
        to.values[at] = got * step_;
    }

private:
    ElementFormat const& format_;
    double step_ = 1;
    double zero_ = 0;
    double highest_ = 0;  ///< code; 0: symmetric
};

}  // namespace

char const* name_of(Scaling scaling) {
    for (auto const& [value, name] : names)
        if (value == scaling) return name;
    return "none";
}

Scaling scaling_named(std::string const& name) {
    std::string known;
    for (auto const& [value, text] : names) {
        if (name == text) return value;
        known += (known.empty() ? "" : ", ") + std::string(text);
    }
    throw BadInput("no scaling \"" + name + "\" (" + known + ")");
}

std::span<Scaling const> all_scalings() {
    static std::array const all = [] {
        std::array<Scaling, names.size()> out{};
        for (std::size_t i = 0; i < names.size(); ++i)
            out[i] = names[i].first;
        return out;
    }();
    return all;
}

Quantised quantise(ElementFormat const& format, Scaling scaling, std::int64_t rows, std::int64_t columns,
                   std::vector<double> const& x) {
    Matrix const m{rows, columns, x};
    double const tensor_amax = range_of(m, {0, 0, rows, columns}).amax();
    Tile const size = tile_size(scaling, rows, columns);
    Quantised result;
    result.values.resize(x.size());
    for (std::int64_t row = 0; row < rows; row += size.rows)
        for (std::int64_t column = 0; column < columns; column += size.columns) {
            Tile const tile{row, column, std::min(size.rows, rows - row), std::min(size.columns, columns - column)};
            TileRounding const rounding(format, scaling, range_of(m, tile), tensor_amax);
            for (std::int64_t r = row; r < row + tile.rows; ++r)
                for (std::int64_t c = column; c < column + tile.columns; ++c)
                    rounding.add(x[m.at(r, c)], m.at(r, c), result);
        }
    return result;
}

}  // namespace sextant::bench

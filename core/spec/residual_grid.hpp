#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sextant {

/// One coordinate of a residual grid and where its knots lie, rising.
struct GridAxis {
    std::string name;
    std::vector<double> knots;
};

/// A smooth correction over up to four coordinates: values at the crossings of the knots, linear between them along
/// each axis, constant beyond the outermost knots, so that far from the measurements a model keeps its own slope.
/// `values` is row-major, the last axis fastest. Empty: no correction.
class ResidualGrid {
public:
    static constexpr std::size_t most_axes = 4;

    ResidualGrid() = default;
    /// @throws InputError: more than four axes, knots that do not rise, a number of values that does not fit, or a
    /// value that is not finite.
    ResidualGrid(std::vector<GridAxis> axes, std::vector<double> values);

    [[nodiscard]] bool empty() const { return values_.empty(); }
    [[nodiscard]] std::vector<GridAxis> const& axes() const { return axes_; }
    [[nodiscard]] std::vector<double> const& values() const { return values_; }

    /// The correction at a point, 0 when empty. `at` has one coordinate per axis.
    [[nodiscard]] double value(std::span<double const> at) const;
    /// The crossings that decide the value at a point, with their weights, which add up to one.
    [[nodiscard]] std::vector<std::pair<std::size_t, double>> weights(std::span<double const> at) const;
    /// Whether every coordinate lies between the outermost knots of its axis.
    [[nodiscard]] bool covers(std::span<double const> at) const;

private:
    template <class Sink>
    void each_corner(std::span<double const> at, Sink sink) const;

    std::vector<GridAxis> axes_;
    std::vector<double> values_;
};

}  // namespace sextant

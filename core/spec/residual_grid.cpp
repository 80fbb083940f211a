#include "core/spec/residual_grid.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {

ResidualGrid::ResidualGrid(std::vector<GridAxis> axes, std::vector<double> values)
    : axes_(std::move(axes)), values_(std::move(values)) {
    if (axes_.empty() && values_.empty()) return;
    if (axes_.empty() || axes_.size() > most_axes)
        throw InputError("residual grid: has {} axes (1 to {} are allowed)", axes_.size(), most_axes);
    std::size_t crossings = 1;
    for (GridAxis const& axis : axes_) {
        bool const rises =
            std::adjacent_find(axis.knots.begin(), axis.knots.end(), std::greater_equal<>()) == axis.knots.end();
        if (axis.knots.size() < 2 || !rises)
            throw InputError("residual grid: the knots of '{}' do not rise (at least two are needed)", axis.name);
        crossings *= axis.knots.size();
    }
    if (values_.size() != crossings)
        throw InputError("residual grid: has {} values for {} crossings of knots", values_.size(), crossings);
    if (!std::all_of(values_.begin(), values_.end(), [](double v) { return std::isfinite(v); }))
        throw InputError("residual grid: a value is not a finite number");
}

template <class Sink>
void ResidualGrid::each_corner(std::span<double const> at, Sink sink) const {
    std::size_t const n = axes_.size();
    std::array<std::size_t, most_axes> low{};
    std::array<double, most_axes> share{};
    for (std::size_t a = 0; a < n; ++a) {
        auto const& knots = axes_[a].knots;
        double const x = std::clamp(at[a], knots.front(), knots.back());
        auto const above = std::upper_bound(knots.begin(), knots.end(), x);
        auto const i = static_cast<std::size_t>(
            std::clamp<std::ptrdiff_t>(above - knots.begin() - 1, 0, static_cast<std::ptrdiff_t>(knots.size()) - 2));
        low[a] = i;
        share[a] = (x - knots[i]) / (knots[i + 1] - knots[i]);
    }
    for (std::size_t corner = 0; corner < (std::size_t{1} << n); ++corner) {
        std::size_t index = 0;
        double weight = 1;
        for (std::size_t a = 0; a < n; ++a) {
            bool const upper = (corner >> a & 1U) != 0;
            index = index * axes_[a].knots.size() + low[a] + (upper ? 1 : 0);
            weight *= upper ? share[a] : 1 - share[a];
        }
        if (weight > 0) sink(index, weight);
    }
}

double ResidualGrid::value(std::span<double const> at) const {
    double sum = 0;
    if (!empty()) each_corner(at, [&](std::size_t i, double weight) { sum += weight * values_[i]; });
    return sum;
}

std::vector<std::pair<std::size_t, double>> ResidualGrid::weights(std::span<double const> at) const {
    std::vector<std::pair<std::size_t, double>> all;
    if (!empty()) each_corner(at, [&](std::size_t i, double weight) { all.emplace_back(i, weight); });
    return all;
}

bool ResidualGrid::covers(std::span<double const> at) const {
    for (std::size_t a = 0; a < axes_.size(); ++a)
        if (at[a] < axes_[a].knots.front() || at[a] > axes_[a].knots.back()) return false;
    return !empty();
}

}  // namespace sextant

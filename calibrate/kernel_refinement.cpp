#include "calibrate/kernel_refinement.hpp"

#include "calibrate/kernel_fit.hpp"
#include "calibrate/kernel_grids.hpp"
#include "calibrate/kernel_intervals.hpp"
#include "core/quantile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace sextant {
namespace {

/// Calls `each` with the coordinates of all crossings of the axes, the last axis fastest.
void each_crossing(std::vector<GridAxis> const& axes, std::function<void(std::span<double const>)> const& each) {
    std::array<double, ResidualGrid::most_axes> at{};
    std::function<void(std::size_t)> const along = [&](std::size_t a) {
        if (a == axes.size()) return each(std::span(at).first(axes.size()));
        for (double const knot : axes[a].knots) {
            at[a] = knot;
            along(a + 1);
        }
    };
    along(0);
}

/// Of a field the outermost crossings: it falls to nothing by itself where no point is near.
std::vector<GridAxis> anchored_axes(KernelFit const& shipped) {
    std::vector<GridAxis> axes = shipped.residual.axes();
    if (has_field(shipped.kind))
        for (GridAxis& axis : axes)
            axis.knots = {axis.knots.front(), axis.knots.back()};
    return axes;
}

ResidualPoint anchor_at(std::span<double const> at, KernelMeasurement const& like) {
    auto const rounded = [](double log2) { return std::max<std::int64_t>(1, std::llround(std::exp2(log2))); };
    if (auto const* product = std::get_if<Gemm>(&like.row.what)) {
        KernelMeasurement row = like;
        Gemm shape = *product;
        shape.m = rounded(at[0]);
        shape.n = rounded(at[1]);
        shape.k = rounded(at[2]);
        row.row.what = shape;
        return point_of(row, 0);
    }
    ResidualPoint point{.at = {}, .log_ratio = 0};
    std::copy(at.begin(), at.end(), point.at.begin());
    return point;
}

}  // namespace

double shipped_correction(KernelMeasurement const& row, KernelFit const& shipped) {
    return grid_correction(point_of(row, 0), shipped.residual, shipped.waves);
}

std::vector<ResidualPoint> anchors(KernelFit const& shipped, KernelMeasurement const& like,
                                   std::vector<ResidualPoint> const& points) {
    std::vector<ResidualPoint> out;
    constexpr double octave = 1;
    each_crossing(anchored_axes(shipped), [&](std::span<double const> at) {
        auto const is_near = [&](ResidualPoint const& point) {
            for (std::size_t a = 0; a < at.size(); ++a)
                if (std::abs(point.at[a] - at[a]) > octave) return false;
            return true;
        };
        if (std::none_of(points.begin(), points.end(), is_near)) out.push_back(anchor_at(at, like));
    });
    return out;
}

ResidualGrid faded(ResidualGrid const& grid, std::size_t first, std::vector<ResidualPoint> const& points) {
    constexpr double octave = 1;
    std::vector<GridAxis> axes = grid.axes();
    for (std::size_t a = 0; a < axes.size(); ++a) {
        auto const [low, high] = range_of(points, first + a);
        std::vector<double> knots{low - octave, low};
        for (double const knot : axes[a].knots)
            if (knot > low && knot < high) knots.push_back(knot);
        if (high > low) knots.push_back(high);
        knots.push_back(high + octave);
        axes[a].knots = std::move(knots);
    }
    std::vector<double> values;
    if (axes.empty()) return {};
    each_crossing(axes, [&](std::span<double const> at) {
        bool inside = true;
        for (std::size_t a = 0; a < at.size(); ++a)
            inside = inside && at[a] > axes[a].knots.front() && at[a] < axes[a].knots.back();
        values.push_back(inside ? grid.value(at) : 0);
    });
    return {std::move(axes), std::move(values)};
}

ResidualGrid sum_of(ResidualGrid const& a, ResidualGrid const& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    std::vector<GridAxis> axes = a.axes();
    for (std::size_t i = 0; i < axes.size(); ++i) {
        std::set<double> knots(axes[i].knots.begin(), axes[i].knots.end());
        knots.insert(b.axes()[i].knots.begin(), b.axes()[i].knots.end());
        axes[i].knots.assign(knots.begin(), knots.end());
    }
    std::vector<double> values;
    each_crossing(axes, [&](std::span<double const> at) { values.push_back(a.value(at) + b.value(at)); });
    return {std::move(axes), std::move(values)};
}

std::vector<std::uint32_t> cells_of(std::vector<ResidualPoint> const& points, std::size_t axes) {
    std::multiset<std::uint32_t> cells;
    for (ResidualPoint const& point : points) {
        std::uint32_t const cell = shape_cell(std::span(point.at).first(axes));
        if (cells.count(cell) < 2) cells.insert(cell);
    }
    return {cells.begin(), cells.end()};
}

std::vector<KernelMeasurement const*> spread_over_cells(std::vector<KernelMeasurement const*> rows) {
    std::map<std::uint32_t, std::size_t> taken;
    std::vector<std::pair<std::size_t, KernelMeasurement const*>> ranked;
    for (KernelMeasurement const* row : rows) {
        ResidualPoint const point = point_of(*row, 0);
        ranked.emplace_back(taken[shape_cell(std::span(point.at).first(ResidualGrid::most_axes))]++, row);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    std::transform(ranked.begin(), ranked.end(), rows.begin(), [](auto const& entry) { return entry.second; });
    return rows;
}

void keep_shipped_doubt(KernelFit& fit, KernelFit const& shipped) {
    fit.intervals = hull_of(fit.intervals, shipped.intervals);
    if (fit.large_efficiency <= 0) fit.large_efficiency = shipped.large_efficiency;
}

void keep_class_beyond(KernelFit& fit, std::vector<KernelMeasurement const*> const& rows) {
    constexpr double near = 2;
    auto const [shortest, longest] = std::minmax_element(
        rows.begin(), rows.end(), [](auto const* a, auto const* b) { return *a->row.measured < *b->row.measured; });
    fit.intervals = bands_within(fit.intervals, (*shortest)->row.measured->base() / near,
                                 (*longest)->row.measured->base() * near, fit.outside);
}

void doubt_shipped_apart(KernelFit& fit, KernelFit const& shipped, std::vector<KernelMeasurement const*> const& rows) {
    std::vector<double> apart;
    for (KernelMeasurement const* row : rows)
        apart.push_back(std::log(row->row.measured->base() / fitted_seconds(*row, shipped)));
    double const median = std::exp(quantile_of(std::move(apart), 0.5));
    TimeInterval const contradicted{.low = std::min(1.0, median), .high = std::max(1.0, median)};
    auto const doubted = [&](TimeInterval factors) { return product_of(factors, contradicted); };

    fit.apart = hull_of(fit.intervals, shipped.intervals);
    for (KernelInterval& band : fit.apart)
        band.factors = doubted(band.factors);
    fit.outside = doubted(fit.outside);
}

}  // namespace sextant

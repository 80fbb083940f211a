#include "calibrate/kernel_grids.hpp"

#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

/// Lengths over which residuals of attention tell of one another, on its four axes: about what the published tables
/// say.
constexpr std::array usual_lengths{2.0, 2.0, 1.5, 3.0};
/// A row of one's own is doubted from so many times what is usual on (assumed: 1.5 times as long where others are met
/// within 3 %).
constexpr double farthest_own_row = 10;
constexpr std::size_t most_field_points = 3000;                         ///< the work of a field grows with their cube
constexpr std::size_t first_wave_coordinate = ResidualGrid::most_axes;  ///< of a ResidualPoint

/// Where the knots of the residuals lie: denser where libraries change their kernels.
std::vector<GridAxis> knots_of(KernelKind kind) {
    switch (kind) {
        case KernelKind::gemm:
            return {{"log2_m", {0, 3, 4, 5, 5.585, 6, 7, 8, 9, 10, 11, 12, 13, 15}},
                    {"log2_n", {5, 7, 8, 9, 10, 11, 12, 13, 14, 16}},
                    {"log2_k", {5, 7, 9, 10, 11, 12, 13, 14, 16}}};
        case KernelKind::prefill:
            return {{"log2_batch_heads", {0, 2, 4, 5, 6, 7, 8, 9, 10, 12, 14}},
                    {"log2_keys", {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
                    {"log2_head_size", {6, 7, 7.585, 8, 9}},
                    {"log2_sharing", {0, 2, 4, 7}}};
        case KernelKind::decode:
            return {{"log2_batch_heads", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17}},
                    {"log2_keys", {1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17}},
                    {"log2_head_size", {6, 7, 7.585, 8, 9}},
                    {"log2_sharing", {0, 1, 2, 3, 4, 5, 6, 7}}};
        case KernelKind::host_gemm:
            return {{"log2_m", {0, 2, 4, 6, 8, 10, 12}},
                    {"log2_n", {0, 2, 4, 6, 8, 10, 12}},
                    {"log2_k", {0, 2, 4, 6, 8, 10, 12}}};
        case KernelKind::memory: return {{"log2_bytes", {10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32}}};
    }
    return {};
}

/// Chosen by the error over five folds. Libraries change the kernels of products at once: steps, and rows that are off
/// by one such change are doubted.
ResidualSmoothing smoothing_of(KernelKind kind) {
    if (kind == KernelKind::gemm) return {.curvature = 0.2, .slope = 0.15};
    return {};
}
double robust_scale_of(KernelKind kind) { return kind == KernelKind::gemm ? 0.04 : 0.08; }

/// What full and broken waves cost beside the shape; knots and smoothing by the error over five folds.
ResidualLayer wave_layer() {
    return {
        .axes = {{"log2_waves", {-2, 0, 1, 2, 4}}, {"log2_rounding", {0, 0.25, 0.5, 1}}, {"log2_k", {5, 9, 11, 13}}},
        .smoothing = {.curvature = 0.06, .slope = 0.06},
        .first = first_wave_coordinate};
}

/// Decodes of tables keep all: their kernels change at once, and the fields of those without their farthest rows
/// predict held-out rows no better (A100 and L40S, groups: 2.5 -> 2.7 and 3.8 -> 4.1 %).
std::vector<ResidualPoint> credible_points(KernelKind kind, std::vector<ResidualPoint> const& points,
                                           FieldScales const& scales, GridRowsOf rows_of) {
    if (rows_of == GridRowsOf::own_machine)
        return without_outliers(points, scales, usual_lengths.size(), farthest_own_row);
    return kind == KernelKind::prefill ? without_outliers(points, scales, usual_lengths.size()) : points;
}

/// Of the points that are not doubted. Of few rows one that is far off would make the field bend to it before it could
/// be doubted, so the first scales are found without what sticks out.
FieldScales scales_of_field(KernelKind kind, std::vector<ResidualPoint> const& points, GridRowsOf rows_of) {
    bool const is_own = rows_of == GridRowsOf::own_machine;
    FieldScales const of_all = find_scales(is_own ? levelled(points) : points, usual_lengths);
    std::vector<ResidualPoint> const credible = credible_points(kind, points, of_all, rows_of);
    return credible.size() == points.size() && !is_own ? of_all : find_scales(credible, usual_lengths);
}

}  // namespace

std::pair<double, double> range_of(std::vector<ResidualPoint> const& points, std::size_t coordinate) {
    auto const [low, high] = std::minmax_element(points.begin(), points.end(), [&](auto const& p, auto const& q) {
        return p.at[coordinate] < q.at[coordinate];
    });
    return {low->at[coordinate], high->at[coordinate]};
}

ResidualPoint point_of(KernelMeasurement const& row, double log_ratio) {
    ResidualPoint point{.at = {}, .log_ratio = log_ratio};
    auto const put = [&](auto const& coordinates, std::size_t first = 0) {
        std::copy(coordinates.begin(), coordinates.end(), point.at.begin() + static_cast<std::ptrdiff_t>(first));
    };
    std::visit(
        [&]<class Shape>(Shape const& s) {
            if constexpr (std::is_same_v<Shape, Gemm>) {
                GemmShape const shape{.groups = 1, .m = s.m, .n = s.n, .k = s.k};
                put(gemm_coordinates(shape));
                KernelRates const rates = kernel_rates(*row.device, *find_gemm_format(row.variant));
                if (row.kind == KernelKind::gemm) put(gemm_wave_coordinates(shape, rates), first_wave_coordinate);
            } else if constexpr (std::is_same_v<Shape, Attention>)
                put(prefill_coordinates(s));
            else if constexpr (std::is_same_v<Shape, DecodeAttention>)
                put(decode_coordinates(s, sharing_of(s)));
            else
                put(memory_coordinates(s.moved));
        },
        row.row.what);
    return point;
}

bool has_field(KernelKind kind) { return kind == KernelKind::prefill || kind == KernelKind::decode; }

KernelGridPlan plan_grids(KernelKind kind, std::vector<ResidualPoint> const& points, GridRowsOf rows_of) {
    KernelGridPlan plan{.layers = {}, .field = {}, .rows_of = rows_of};
    plan.layers.push_back({.axes = knots_of(kind), .smoothing = smoothing_of(kind)});
    if (kind == KernelKind::gemm) plan.layers.push_back(wave_layer());
    if (has_field(kind) && points.size() <= most_field_points) plan.field = scales_of_field(kind, points, rows_of);
    for (ResidualLayer& layer : plan.layers)
        for (std::size_t a = 0; a < layer.axes.size(); ++a) {
            auto const [low, high] = range_of(points, layer.first + a);
            // A coordinate that all rows share gets the two knots around it: the grid is then constant along it.
            if (low == high) layer.axes[a].knots = {low - 0.01, low + 0.01};
        }
    return plan;
}

KernelGrids fit_kernel_grids(KernelKind kind, std::vector<ResidualPoint> const& points, KernelGridPlan const& plan) {
    if (plan.field) {
        std::vector<ResidualPoint> const credible = credible_points(kind, points, *plan.field, plan.rows_of);
        return {field_grid(credible, plan.layers.front().axes, *plan.field), {}, points.size() - credible.size()};
    }
    std::vector<ResidualGrid> grids = fit_residual(points, plan.layers, robust_scale_of(kind));
    grids.resize(2);
    return {std::move(grids[0]), std::move(grids[1]), 0};
}

double grid_correction(ResidualPoint const& point, ResidualGrid const& residual, ResidualGrid const& waves) {
    auto const at = std::span(point.at);
    return residual.value(at.first(residual.axes().size())) +
           waves.value(at.subspan(first_wave_coordinate, waves.axes().size()));
}

ResidualGrid empty_grid(KernelKind kind, std::vector<ResidualPoint> const& points) {
    std::vector<GridAxis> axes = knots_of(kind);
    std::size_t corners = 1;
    for (std::size_t a = 0; a < axes.size(); ++a) {
        auto const [low, high] = range_of(points, a);
        axes[a].knots = {low - 0.01, high + 0.01};
        corners *= 2;
    }
    return {std::move(axes), std::vector<double>(corners, 0.0)};
}

}  // namespace sextant

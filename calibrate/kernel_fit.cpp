#include "calibrate/kernel_fit.hpp"

#include "calibrate/kernel_grids.hpp"
#include "calibrate/kernel_intervals.hpp"
#include "calibrate/kernel_priors.hpp"
#include "calibrate/kernel_refinement.hpp"
#include "calibrate/large_efficiency.hpp"
#include "calibrate/least_squares.hpp"
#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

namespace sextant {
namespace {

constexpr double huber_scale = 0.1;
constexpr int folds = 5;
constexpr std::size_t fewest_transfer_rows = 30;
constexpr std::size_t fewest_banded_rows = 20;   ///< of fewer no quantiles are taken, and beyond them nothing is known
constexpr std::size_t most_refitted_rows = 400;  ///< fits of more are too slow to repeat for their intervals

/// Repeats of a shape tell no more of others.
std::size_t fewest_shapes(KernelKind kind) {
    if (kind == KernelKind::memory) return 3;
    return kind == KernelKind::host_gemm ? 12 : 30;
}

/// Below, what the grid would learn is noise.
std::size_t fewest_grid_rows(KernelKind kind) {
    if (kind == KernelKind::memory) return 30;
    return kind == KernelKind::host_gemm ? 150 : 0;
}

int fold_of(KernelMeasurement const& row) { return static_cast<int>(shape_hash(row.row) / 10 % folds); }

/// Logarithm of what is known of a row's time beside constants that are fitted.
double known_correction(KernelMeasurement const& row, KernelFitChoices const& choices) {
    return choices.refines ? shipped_correction(row, *choices.shipped) : 0;
}

FitProblem problem_of(std::vector<KernelMeasurement const*> const& rows, KernelFitChoices const& choices) {
    FitProblem problem;
    problem.parameters = kernel_parameters(rows, choices);
    problem.rows = rows.size();
    std::vector<double> known;
    for (auto const* row : rows)
        known.push_back(known_correction(*row, choices));
    problem.residual = [&rows, known](std::size_t i, std::span<double const> constants) {
        return std::log(model_seconds(*rows[i], constants) / rows[i]->row.measured->base()) + known[i];
    };
    return problem;
}

/// Sorted by what the rows say, so that the order of a table decides nothing: sums differ in their last digits by it,
/// and constants that the rows hardly narrow by per cents.
std::vector<KernelMeasurement const*> in_one_order(std::vector<KernelMeasurement const*> rows) {
    auto const key = [](KernelMeasurement const* m) {
        return std::tuple(shape_hash(m->row), std::string_view(m->device->name), m->row.cache, m->row.quantised,
                          m->row.result_bytes, *m->row.measured);
    };
    std::sort(rows.begin(), rows.end(), [&](auto const* a, auto const* b) { return key(a) < key(b); });
    return rows;
}

/// The constants that explain the rows best, in a KernelFit without residual.
KernelFit fit_constants(std::vector<KernelMeasurement const*> const& all, KernelFitChoices const& choices) {
    std::vector<KernelMeasurement const*> rows = in_one_order(all);
    KernelFit fit;
    fit.kind = rows.front()->kind;
    fit.variant = rows.front()->variant;
    fit.rows = static_cast<std::int64_t>(rows.size());
    if (rows.size() > choices.most_rows && choices.shipped != nullptr) rows = spread_over_cells(std::move(rows));
    if (rows.size() > choices.most_rows) rows.resize(choices.most_rows);  // the least hashes
    FitResult const result = fit_least_squares(
        problem_of(rows, choices),
        {.robust_scale = huber_scale, .starts = choices.starts, .iterations = 60, .threads = choices.threads});
    for (FittedParameter const& p : result.parameters) {
        fit.constants.push_back(p.value);
        bool const is_known = p.is_identified && *p.spread < 1;  // above one is no knowledge
        fit.spreads.push_back(is_known ? p.spread : std::nullopt);
    }
    return fit;
}

/// Median over the devices.
double profile_efficiency(std::vector<KernelMeasurement const*> const& rows) {
    std::map<std::string_view, double> of_device;
    for (KernelMeasurement const* row : rows)
        of_device[row->device->name] = row->device->attention_forward_efficiency.value;
    std::vector<double> values;
    for (auto const& [name, value] : of_device)
        values.push_back(value);
    return quantile_of(values, 0.5);
}

std::vector<std::uint32_t> marks_of(std::vector<KernelMeasurement const*> const& rows) {
    std::vector<std::uint32_t> marks;
    for (KernelMeasurement const* row : rows)
        marks.push_back(shape_mark(row->row));
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    return marks;
}

/// Whether most rows hold the quantising of their activations.
bool holds_quantising(std::vector<KernelMeasurement const*> const& rows) {
    auto const with = std::count_if(rows.begin(), rows.end(), [](KernelMeasurement const* row) {
        GemmFormat const* const format = find_gemm_format(row->variant);
        return format == nullptr || !format->quantises || row->row.quantised == Quantised::with_product;
    });
    return 2 * static_cast<std::size_t>(with) >= rows.size();
}

double log_left(KernelMeasurement const& row, KernelFit const& fit, KernelFitChoices const& choices) {
    return std::log(row.row.measured->base() / model_seconds(row, fit.constants)) - known_correction(row, choices);
}

/// What the constants leave of the rows, beside what is known.
std::vector<ResidualPoint> points_of(std::vector<KernelMeasurement const*> const& rows, KernelFit const& fit,
                                     KernelFitChoices const& choices) {
    std::vector<ResidualPoint> points;
    for (auto const* row : rows)
        points.push_back(point_of(*row, log_left(*row, fit, choices)));
    return points;
}

/// Rows of kernels, and where each lies on their grids.
struct GridRows {
    std::vector<KernelMeasurement const*> rows;
    std::vector<ResidualPoint> points;
};

/// Adds the rows of other devices of the chip that are like these and not held out, by the constants of these: with
/// constants of their own, rows of other sizes would have what is left shared out differently between constants and
/// field. Of fields alone: what libraries make of products tells no more than a device's own rows do (five folds: 2.5
/// and 3.1 % without, 2.7 and 3.0 % with).
void add_twins(GridRows& grid, KernelFit const& fit, KernelFitChoices const& choices) {
    KernelMeasurement const& own = *grid.rows.front();
    if (choices.twins == nullptr || !has_field(own.kind)) return;
    std::vector<KernelMeasurement const*> rows;
    for (KernelMeasurement const& twin : *choices.twins)
        if (twin.kind == own.kind && twin.variant == own.variant && !is_held_out(twin.row)) rows.push_back(&twin);
    for (ResidualPoint point : points_of(rows, fit, choices)) {
        point.of_twin = true;
        grid.points.push_back(point);
    }
    grid.rows.insert(grid.rows.end(), rows.begin(), rows.end());
}

/// The grids that explain the points best beside the constants.
void set_grids(KernelFit& fit, std::vector<ResidualPoint> const& points, KernelGridPlan const& plan) {
    KernelGrids grids = fit_kernel_grids(fit.kind, points, plan);
    fit.residual = std::move(grids.residual);
    fit.doubted = static_cast<std::int64_t>(grids.doubted);
    fit.waves = std::move(grids.waves);
}

void add_shipped_grids(KernelFit& fit, KernelFit const& shipped) {
    fit.residual = sum_of(fit.residual, shipped.residual);
    fit.waves = sum_of(fit.waves, shipped.waves);
}

/// Fits the grids, and says what grids leave of rows that they did not see (five folds).
std::vector<UnseenRow> fit_grids(KernelFit& fit, std::vector<KernelMeasurement const*> const& used,
                                 std::vector<ResidualPoint> const& points, KernelFitChoices const& choices) {
    GridRows all{used, points};
    add_twins(all, fit, choices);
    std::vector<ResidualPoint> held;
    if (choices.refines) held = anchors(*choices.shipped, *used.front(), points);
    std::vector<ResidualPoint> every = all.points;
    every.insert(every.end(), held.begin(), held.end());
    KernelGridPlan const plan =
        plan_grids(fit.kind, every, choices.shipped != nullptr ? GridRowsOf::own_machine : GridRowsOf::tables);
    std::vector<UnseenRow> unseen;
    for (int fold = 0; fold < folds; ++fold) {
        std::vector<ResidualPoint> seen = held;
        for (std::size_t i = 0; i < all.rows.size(); ++i)
            if (fold_of(*all.rows[i]) != fold) seen.push_back(all.points[i]);
        if (seen.size() == held.size()) continue;
        KernelGrids const grids = fit_kernel_grids(fit.kind, seen, plan);
        for (std::size_t i = 0; i < used.size(); ++i) {
            if (fold_of(*used[i]) != fold) continue;
            double const left = points[i].log_ratio - grid_correction(points[i], grids.residual, grids.waves);
            unseen.push_back({used[i]->row.measured->base() * std::exp(-left), left});
        }
    }
    set_grids(fit, every, plan);
    return unseen;
}

/// What constants that did not see a row leave of it (five folds).
std::vector<UnseenRow> refitted(std::vector<KernelMeasurement const*> const& used, KernelFitChoices const& choices) {
    std::vector<UnseenRow> unseen;
    for (int fold = 0; fold < folds; ++fold) {
        std::vector<KernelMeasurement const*> seen;
        for (auto const* row : used)
            if (fold_of(*row) != fold) seen.push_back(row);
        if (seen.empty() || seen.size() == used.size()) continue;
        KernelFit const fit = fit_constants(seen, choices);
        for (auto const* row : used)
            if (fold_of(*row) == fold) {
                double const left = log_left(*row, fit, choices);
                unseen.push_back({row->row.measured->base() * std::exp(-left), left});
            }
    }
    return unseen;
}

/// " besides 3 that are held out of every fit".
std::string held_out_words(std::vector<KernelMeasurement> const& rows) {
    std::vector<KernelMeasurement const*> held;
    for (KernelMeasurement const& row : rows)
        if (is_held_out(row.row)) held.push_back(&row);
    return held.empty() ? "" : fmt::format(" besides {} that are held out of every fit", marks_of(held).size());
}

/// What the fit stands on has seen rows as well; where it does not say which, neither does the fit.
void add_shipped_marks(KernelFit& fit, KernelFit const& shipped) {
    if (shipped.seen.empty()) return fit.seen.clear();
    std::vector<std::uint32_t> all;
    std::set_union(fit.seen.begin(), fit.seen.end(), shipped.seen.begin(), shipped.seen.end(), std::back_inserter(all));
    fit.seen = std::move(all);
}

/// What the grids say of the rows fades beyond them within an octave: there the class's formula holds.
void fade_grids(KernelFit& fit, std::vector<ResidualPoint> const& points) {
    fit.residual = faded(fit.residual, 0, points);
    fit.waves = faded(fit.waves, ResidualGrid::most_axes, points);
}

/// How far the rows are from the calibration of the class, in the median of either direction: a device that shares a
/// class's grids and is that much slower where it was measured may be so elsewhere.
TimeInterval as_far_as(std::vector<KernelMeasurement const*> const& rows, KernelFit const& of_class) {
    std::vector<double> apart;
    for (KernelMeasurement const* row : rows)
        apart.push_back(std::abs(std::log(row->row.measured->base() / fitted_seconds(*row, of_class))));
    double const median = quantile_of(std::move(apart), 0.5);
    return {.low = std::exp(-median), .high = std::exp(median)};
}

/// What large shapes reach where the rows have none: the class's, as far as the rows moved its rates.
double large_efficiency_of(KernelFit const& fit, KernelFit const& of_class) {
    std::size_t const rate = fit.kind == KernelKind::gemm ? static_cast<std::size_t>(GemmConstant::efficiency)
                                                          : static_cast<std::size_t>(PrefillConstant::efficiency_128);
    return of_class.large_efficiency * fit.constants[rate] / of_class.constants[rate];
}

/// @throws InputError when a calibration cannot say how far the times lie apart.
void require_agreement(KernelFit const& fit) {
    auto const is_wide = [](TimeInterval const& factors) {
        return factors.low * most_interval_factor < 1 || factors.high > most_interval_factor;
    };
    auto const is_steep = [](ResidualGrid const& grid) {
        return std::any_of(grid.values().begin(), grid.values().end(),
                           [](double value) { return std::abs(value) > most_grid_value; });
    };
    bool const wide = is_wide(fit.outside) || std::any_of(fit.intervals.begin(), fit.intervals.end(),
                                                          [&](auto const& band) { return is_wide(band.factors); });
    if (wide || is_steep(fit.residual) || is_steep(fit.waves))
        throw InputError(
            "fit of {} {}: times of like shapes lie hundreds of times apart (are some rows in another unit, "
            "nanoseconds "
            "or milliseconds? latency_us is in microseconds)",
            name_of(fit.kind), fit.variant);
}

}  // namespace

double fitted_seconds(KernelMeasurement const& row, KernelFit const& fit) {
    double const seconds = model_seconds(row, fit.constants);
    return seconds * std::exp(grid_correction(point_of(row, 0), fit.residual, fit.waves));
}

KernelFit fit_kernel(std::vector<KernelMeasurement> const& rows, KernelFitChoices const& choices) {
    std::vector<KernelMeasurement const*> used;
    for (KernelMeasurement const& row : rows)
        if (!is_held_out(row.row)) used.push_back(&row);
    if (rows.empty()) throw InputError("fit of kernels: has no rows");
    KernelKind const kind = rows.front().kind;
    if (std::size_t const shapes = marks_of(used).size(); shapes < fewest_shapes(kind))
        throw InputError("fit of {} {}: has {} rows of {} shape{}{} (at least {} shapes are needed)", name_of(kind),
                         rows.front().variant, used.size(), shapes, shapes == 1 ? "" : "s", held_out_words(rows),
                         fewest_shapes(kind));
    used = in_one_order(std::move(used));
    KernelFit fit = fit_constants(used, choices);
    fit.seen = marks_of(used);
    fit.with_quantising = holds_quantising(used);
    fit.large_efficiency = large_efficiency(used);
    if (kind == KernelKind::prefill) fit.profile_efficiency = profile_efficiency(used);

    std::vector<ResidualPoint> const points = points_of(used, fit, choices);
    std::vector<double> bare;
    for (ResidualPoint const& point : points)
        bare.push_back(point.log_ratio);
    bool const is_few = used.size() < fewest_banded_rows;
    fit.outside = residual_interval(bare, is_few ? 2.5 : 1.25);
    if (choices.shipped != nullptr) fit.outside = hull_of(fit.outside, choices.shipped->outside);
    bool const with_grid = choices.with_residual && used.size() >= fewest_grid_rows(kind);
    std::vector<UnseenRow> unseen;
    if (with_grid)
        unseen = fit_grids(fit, used, points, choices);
    else if (choices.with_residual) {
        fit.residual = empty_grid(kind, points);
        if (used.size() <= most_refitted_rows) unseen = refitted(used, choices);
    }
    if (choices.refines)
        add_shipped_grids(fit, *choices.shipped);
    else if (choices.of_class && with_grid)
        fade_grids(fit, points);
    if (choices.shipped != nullptr) fit.cells = cells_of(points, fit.residual.axes().size());
    std::vector<double> held_out;
    for (KernelMeasurement const& row : rows) {
        if (!is_held_out(row.row)) continue;
        double const seconds = fitted_seconds(row, fit);
        held_out.push_back(std::log(row.row.measured->base() / seconds));
        unseen.push_back({seconds, held_out.back()});
    }
    fit.held_out = error_of(held_out);
    if (unseen.size() < fewest_banded_rows)
        fit.intervals = {
            {.from_seconds = 0, .factors = hull_of(fit.outside, interval_of_few(unseen, used.size(), kind))}};
    else {
        fit.intervals =
            interval_bands(unseen, choices.shipped != nullptr ? widened_for_constants(used.size(), kind) : 1);
        for (KernelInterval const& band : fit.intervals)
            fit.outside = hull_of(fit.outside, band.factors);
    }
    if (is_few) fit.outside = hull_of(hull_of(fit.outside, fit.intervals.front().factors), assumed_kernel_factors);
    if (choices.of_class) {
        if (choices.refines) fit.outside = product_of(fit.outside, as_far_as(used, *choices.shipped));
        keep_class_beyond(fit, used);
        bool const is_known = fit.large_efficiency > 0 || choices.shipped->large_efficiency <= 0;
        if (!is_known) fit.large_efficiency = large_efficiency_of(fit, *choices.shipped);
    }
    // A class's doubt is of other devices: where enough rows of this one were predicted unseen, theirs holds.
    bool const is_known_here = choices.of_class && unseen.size() >= fewest_banded_rows;
    if (choices.refines && !is_known_here) keep_shipped_doubt(fit, *choices.shipped);
    if (choices.refines && !choices.of_class) {
        doubt_shipped_apart(fit, *choices.shipped, used);
        add_shipped_marks(fit, *choices.shipped);
    }
    require_agreement(fit);
    return fit;
}

std::vector<double> transfer_errors(std::vector<KernelMeasurement> const& rows, KernelFitChoices const& choices) {
    std::vector<AcceleratorProfile const*> devices;
    for (KernelMeasurement const& row : rows)
        if (std::find(devices.begin(), devices.end(), row.device) == devices.end()) devices.push_back(row.device);
    std::vector<double> errors;
    if (devices.size() < 2) return errors;
    for (AcceleratorProfile const* left_out : devices) {
        std::vector<KernelMeasurement const*> used;
        for (KernelMeasurement const& row : rows)
            if (row.device != left_out) used.push_back(&row);
        if (used.size() < fewest_transfer_rows) continue;
        KernelFit fit = fit_constants(used, choices);
        if (choices.with_residual) {
            std::vector<ResidualPoint> const points = points_of(used, fit, choices);
            set_grids(fit, points, plan_grids(fit.kind, points));
        }
        for (KernelMeasurement const& row : rows)
            if (row.device == left_out) errors.push_back(std::log(row.row.measured->base() / fitted_seconds(row, fit)));
    }
    return errors;
}

}  // namespace sextant

#include "calibrate/collective_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace sextant {
namespace {

constexpr double octaves_per_knot = 2;
/// Standard deviation of a correction before any row is seen: what structure and constants leave unexplained.
constexpr double correction_spread = 0.25;

/// With fewer, an arrangement adds to the constants but has no shape of its own.
constexpr std::size_t enough_points = 5;
/// Of rows that count in full: an arrangement of which there are only rows that count little has no shape either.
constexpr double enough_weight = 4;

/// Less than this off the corrected curve is no jump, but what sites and runs differ by.
double const least_jump = std::log(1.15);

using Arrangement = std::tuple<CollectiveKind, std::int64_t, std::int64_t>;

struct Points {
    MeasurementList rows;
    std::vector<double> log2_bytes;
    std::vector<double> log_ratio;  ///< measured over predicted
    std::vector<double> weights;
};

std::vector<double> knots_of(Points const& points) {
    auto const [low, high] = std::minmax_element(points.log2_bytes.begin(), points.log2_bytes.end());
    double const first = std::floor(*low);
    auto const steps = static_cast<int>(std::ceil((*high - first) / octaves_per_knot));
    std::vector<double> knots;
    for (int i = 0; i <= std::max(steps, 0); ++i)
        knots.push_back(std::min(first + octaves_per_knot * i, std::max(*high, first)));
    knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
    return knots;
}

NetworkCorrection fitted(Arrangement const& at, Points const& points, FitOptions const& options) {
    auto const [kind, ranks_per_domain, domains] = at;
    NetworkCorrection out{.kind = kind,
                          .ranks_per_domain = ranks_per_domain,
                          .domains = domains,
                          .log2_bytes = knots_of(points),
                          .log_factor = {}};
    FitProblem problem{.parameters = {}, .rows = points.log2_bytes.size(), .residual = {}, .weights = points.weights};
    for (double const knot : out.log2_bytes)
        problem.parameters.push_back({.name = fmt::format("{}", knot),
                                      .start = 0,
                                      .low = -3,
                                      .high = 3,
                                      .prior = FitPrior{0, correction_spread}});
    out.log_factor.assign(out.log2_bytes.size(), 0);
    NetworkCorrection const empty = out;
    problem.residual = [&](std::size_t i, std::span<double const> values) {
        NetworkCorrection trial = empty;
        trial.log_factor.assign(values.begin(), values.end());
        return trial.at(points.log2_bytes[i]) - points.log_ratio[i];
    };
    FitOptions linear = options;
    linear.starts = 1;  // convex: every start ends at the same place
    out.log_factor = fit_least_squares(problem, linear).values();
    return out;
}

/// Timings of one size: how far they are off the corrected curve.
struct Evidence {
    std::size_t timings = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    std::vector<double> log2_bytes;
    std::vector<double> log_ratio;  ///< of each row's lesser time

    void add(double ratio) {
        ++timings;
        least = std::min(least, ratio);
        most = std::max(most, ratio);
    }
    [[nodiscard]] bool is_jump() const { return timings >= 2 && (least > least_jump || most < -least_jump); }
};

double mean_of(std::vector<double> const& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sizes off the corrected curve, octave by octave.
std::vector<SizeJump> jumps_of(Points const& points, NetworkCorrection const& correction, CurveOf const& curve_of) {
    std::map<long, Evidence> octaves;
    std::map<CollectiveMachine const*, CollectiveCurve> curves;
    for (std::size_t i = 0; i < points.rows.size(); ++i) {
        CollectiveMeasurement const* const row = points.rows[i];
        if (row->weight < 1) continue;
        auto const [curve, is_new] = curves.try_emplace(row->machine.get());
        if (is_new) {
            curve->second = curve_of(*row);
            curve->second.correct([&](double at) { return correction.at(at); });
        }
        Seconds const predicted = curve->second.time(row->bytes);
        Evidence& evidence = octaves[std::lround(points.log2_bytes[i])];
        evidence.log2_bytes.push_back(points.log2_bytes[i]);
        evidence.log_ratio.push_back(std::log(row->measured / predicted));
        evidence.add(evidence.log_ratio.back());
        if (row->slower) evidence.add(std::log(*row->slower / predicted));
    }
    std::vector<SizeJump> jumps;
    for (auto const& [octave, evidence] : octaves)
        if (evidence.is_jump())
            jumps.push_back({.log2_bytes = four_decimals(mean_of(evidence.log2_bytes)),
                             .log_factor = four_decimals(mean_of(evidence.log_ratio))});
    return jumps;
}

}  // namespace

std::vector<NetworkCorrection> fit_corrections(MeasurementList const& rows, CurveOf const& curve_of,
                                               FitOptions const& options) {
    std::map<Arrangement, Points> by_arrangement;
    for (CollectiveMeasurement const* row : rows) {
        // What rings leave unexplained says nothing of the switch that adds for everybody else.
        if (row->machine->without_reduction && row->kind == CollectiveKind::all_reduce) continue;
        Points& points = by_arrangement[{row->kind, row->group().ranks_per_domain, row->group().domains}];
        points.rows.push_back(row);
        points.log2_bytes.push_back(std::log2(std::max(row->bytes.base(), 1.0)));
        points.log_ratio.push_back(std::log(row->target / curve_of(*row).time(row->bytes)));
        points.weights.push_back(row->weight / (row_spread * row_spread));
    }
    std::vector<NetworkCorrection> out;
    for (auto const& [arrangement, points] : by_arrangement) {
        double const rows_of_weight_one =
            std::accumulate(points.weights.begin(), points.weights.end(), 0.0) * (row_spread * row_spread);
        if (points.log2_bytes.size() < enough_points || rows_of_weight_one < enough_weight) continue;
        NetworkCorrection correction = fitted(arrangement, points, options);
        for (double& value : correction.log_factor)
            value = four_decimals(value);
        correction.jumps = jumps_of(points, correction, curve_of);
        out.push_back(std::move(correction));
    }
    return out;
}

}  // namespace sextant

#include "calibrate/collective_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

using Arrangement = std::tuple<CollectiveKind, std::int64_t, std::int64_t>;

struct Points {
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

}  // namespace

std::vector<NetworkCorrection> fit_corrections(MeasurementList const& rows, std::span<Seconds const> predicted,
                                               FitOptions const& options) {
    std::map<Arrangement, Points> by_arrangement;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CollectiveMeasurement const& row = *rows[i];
        Points& points = by_arrangement[{row.kind, row.group().ranks_per_domain, row.group().domains}];
        points.log2_bytes.push_back(std::log2(std::max(row.bytes.base(), 1.0)));
        points.log_ratio.push_back(std::log(row.target / predicted[i]));
        points.weights.push_back(row.weight / (row_spread * row_spread));
    }
    std::vector<NetworkCorrection> out;
    for (auto const& [arrangement, points] : by_arrangement) {
        double const rows_of_weight_one =
            std::accumulate(points.weights.begin(), points.weights.end(), 0.0) * (row_spread * row_spread);
        if (points.log2_bytes.size() < enough_points || rows_of_weight_one < enough_weight) continue;
        NetworkCorrection correction = fitted(arrangement, points, options);
        for (double& value : correction.log_factor)
            value = std::round(value * 1e4) / 1e4;
        out.push_back(std::move(correction));
    }
    return out;
}

}  // namespace sextant

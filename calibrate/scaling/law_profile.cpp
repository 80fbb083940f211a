#include "calibrate/scaling/law_profile.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <optional>

namespace sextant {
namespace {

constexpr double furthest = 12;  // natural logarithms
constexpr std::size_t other_starts = 4;

/// k of the header.
double objective_scale(LawProblem const& problem, LawFit const& fit) {
    double squares = 0;
    double bend = 0;
    double total = 0;
    for (std::size_t i = 0; i < problem.rows(); ++i) {
        double const weight = problem.weights.empty() ? 1 : problem.weights[i];
        double const slope = problem.objective.slope(fit.residuals[i]);
        double const step = 1e-3 * problem.objective.delta;
        bool const smooth = problem.objective.kind == ObjectiveKind::least_squares ||
                            problem.objective.kind == ObjectiveKind::raw_squares;
        double const second = smooth ? 1
                                     : (problem.objective.slope(fit.residuals[i] + step) -
                                        problem.objective.slope(fit.residuals[i] - step)) /
                                           (2 * step);
        squares += weight * slope * slope;
        bend += weight * second;
        total += weight;
    }
    auto const n = static_cast<double>(problem.rows());
    auto const p = static_cast<double>(fit.unknowns.size());
    double const freedom = n > p ? n / (n - p) : n;
    return bend > 0 ? freedom * squares / bend : freedom * squares / total;
}

/// Chi-squared quantile with one degree of freedom: the square of the normal one.
double chi_squared(double level) { return level > 0.9 ? 3.841458820694124 : 1.642374415149819; }

/// Minimum with one unknown held.
class HeldMinimum {
public:
    HeldMinimum(LawProblem const& problem, LawFit const& fit, std::size_t parameter, double limit)
        : problem_(problem), parameter_(parameter), limit_(limit), last_(fit.values) {}

    /// Whether the objective can be held to the limit there; nothing where no start converges and none comes below it.
    std::optional<bool> within(double value) {
        problem_.fixed[parameter_] = value;
        UnknownMap const map(problem_);
        bool known = false;
        auto const try_from = [&](std::vector<double> const& start) {
            LawMinimum const minimum = minimise_law(problem_, start);
            known = known || minimum.converged;
            if (!(minimum.objective <= limit_)) return false;
            last_ = map.values(minimum.unknowns);  // the nearest place that is known to be within
            return true;
        };
        if (try_from(map.unknowns(last_))) return true;
        if (known) return false;
        for (std::vector<double> const& start : screen_starts(problem_, other_starts))
            if (try_from(start)) return true;
        if (known) return false;
        return std::nullopt;
    }

private:
    LawProblem problem_;
    std::size_t parameter_;
    double limit_;
    std::vector<double> last_;
};

struct End {
    double value;
    bool open;
};

/// Where the profile crosses the limit, from the fit in one direction (+1 or -1), on the unknown's scale.
End profile_end(LawProblem const& problem, LawFit const& fit, std::size_t parameter, double spread, double limit,
                double direction) {
    bool const logarithmic = problem.form->parameters[parameter].scale == LawScale::logarithmic;
    double const centre = logarithmic ? std::log(fit.values[parameter]) : fit.values[parameter];
    double const most = logarithmic ? furthest : furthest * std::max(spread, std::abs(centre));
    auto const place = [&](double distance) {
        double const at = centre + direction * distance;
        return logarithmic ? std::exp(at) : at;
    };
    HeldMinimum minimum(problem, fit, parameter, limit);
    double inside = 0;
    double outside = std::min(std::max(spread, 1e-6), most);
    for (;;) {
        auto const within = minimum.within(place(outside));
        if (!within) return {place(outside), true};
        if (!*within) break;
        inside = outside;
        if (outside >= most) return {place(most), true};
        outside = std::min(2 * outside, most);
    }
    for (int step = 0; step < 30 && outside - inside > 1e-5 * outside; ++step) {
        double const middle = (inside + outside) / 2;
        auto const within = minimum.within(place(middle));
        if (!within) return {place(outside), true};
        (*within ? inside : outside) = middle;
    }
    return {place((inside + outside) / 2), false};
}

}  // namespace

std::vector<double> curvature_spreads(LawProblem const& problem, LawFit const& fit) {
    LawEvaluator evaluate(problem);
    std::size_t const count = fit.unknowns.size();
    std::vector<double> gradient(count);
    evaluate(fit.unknowns, gradient);
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const> const j(
        evaluate.jacobian().data(), static_cast<Eigen::Index>(problem.rows()), static_cast<Eigen::Index>(count));
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(j.rows());
    if (!problem.weights.empty()) weights = Eigen::Map<Eigen::VectorXd const>(problem.weights.data(), j.rows());
    // The curvature of a robust objective is the share of rows within delta of it: the bend is in k's denominator.
    double squares = 0;
    double bend = 0;
    for (std::size_t i = 0; i < problem.rows(); ++i) {
        double const slope = problem.objective.slope(fit.residuals[i]);
        squares += slope * slope;
        bend += problem.objective.weight(fit.residuals[i]);
    }
    auto const n = static_cast<double>(problem.rows());
    bend /= n;
    double const k = squares / std::max(1.0, n - static_cast<double>(count)) / (bend * bend);
    Eigen::VectorXd const scale =
        (j.array().square().colwise() * weights.array()).colwise().sum().sqrt().max(1e-300).transpose();
    Eigen::MatrixXd const normal = scale.cwiseInverse().asDiagonal() * (j.transpose() * weights.asDiagonal() * j) *
                                   scale.cwiseInverse().asDiagonal();
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const eigen(normal);
    std::vector<double> out(count, 0);
    for (Eigen::Index u = 0; u < normal.rows(); ++u) {
        double variance = 0;
        for (Eigen::Index e = 0; e < normal.rows(); ++e) {
            double const part = eigen.eigenvectors()(u, e);
            variance += part * part / std::max(eigen.eigenvalues()[e], 1e-15);
        }
        out[static_cast<std::size_t>(u)] = std::sqrt(k * variance) / scale[u];
    }
    return out;
}

ProfileInterval profile_interval(LawProblem const& problem, LawFit const& fit, std::size_t parameter, double level) {
    double const limit = fit.objective + objective_scale(problem, fit) * chi_squared(level) / 2;
    UnknownMap const map(problem);
    std::vector<double> const spreads = curvature_spreads(problem, fit);
    double const spread = spreads[map.unknown_of(parameter).value()];
    End const low = profile_end(problem, fit, parameter, spread, limit, -1);
    End const high = profile_end(problem, fit, parameter, spread, limit, 1);
    return {.low = low.value, .high = high.value, .open_below = low.open, .open_above = high.open};
}

}  // namespace sextant

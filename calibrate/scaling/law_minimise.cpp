#include "calibrate/scaling/law_minimise.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <glog/logging.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sextant {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Gauss-Newton curvature with the objective's weights, and the gradient.
struct Curvature {
    double objective = 0;
    VectorXd gradient;
    Eigen::LLT<MatrixXd> factor;
    bool good = false;
};

Curvature curvature_at(LawEvaluator& evaluate, std::vector<double> const& unknowns, std::size_t rows) {
    auto const count = static_cast<Eigen::Index>(unknowns.size());
    Curvature at;
    at.gradient.resize(count);
    at.objective = evaluate(unknowns, {at.gradient.data(), unknowns.size()});
    MatrixXd h = MatrixXd::Zero(count, count);
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const> const j(
        evaluate.jacobian().data(), static_cast<Eigen::Index>(rows), count);
    for (Eigen::Index i = 0; i < j.rows(); ++i)
        h.selfadjointView<Eigen::Lower>().rankUpdate(j.row(i).transpose(),
                                                     evaluate.weight(static_cast<std::size_t>(i)));
    // A direction that the rows say nothing about gets a little curvature: the scaling stays invertible.
    double const most = h.diagonal().maxCoeff();
    h.diagonal().array() += 1e-13 * most + 1e-300;
    at.factor.compute(h);
    at.good = std::isfinite(at.objective) && at.gradient.allFinite() && at.factor.info() == Eigen::Success;
    return at;
}

/// The objective over v = L^T (u - start), in units of its value at the start.
class ScaledObjective final : public ceres::FirstOrderFunction {
public:
    ScaledObjective(LawEvaluator& evaluate, std::vector<double> const& start, Curvature const& at)
        : evaluate_(evaluate), start_(start), factor_(at.factor), scale_(at.objective), unknowns_(start.size()) {
        gradient_.resize(static_cast<Eigen::Index>(start.size()));
    }

    bool Evaluate(double const* v, double* cost, double* gradient) const override {
        auto const count = static_cast<Eigen::Index>(start_.size());
        place(v);
        double const value = evaluate_(
            unknowns_, gradient == nullptr ? std::span<double>() : std::span<double>(gradient_.data(), start_.size()));
        if (!std::isfinite(value)) return false;
        *cost = value / scale_;
        if (gradient != nullptr) {
            Eigen::Map<VectorXd> out(gradient, count);
            out = factor_.matrixL().solve(gradient_) / scale_;
            if (!out.allFinite()) return false;
        }
        return true;
    }
    [[nodiscard]] int NumParameters() const override { return static_cast<int>(start_.size()); }

    std::vector<double> const& place(double const* v) const {
        auto const count = static_cast<Eigen::Index>(start_.size());
        VectorXd const step = factor_.matrixU().solve(Eigen::Map<VectorXd const>(v, count));
        for (Eigen::Index k = 0; k < count; ++k)
            unknowns_[static_cast<std::size_t>(k)] = start_[static_cast<std::size_t>(k)] + step[k];
        return unknowns_;
    }

private:
    LawEvaluator& evaluate_;
    std::vector<double> const& start_;
    Eigen::LLT<MatrixXd> const& factor_;
    double scale_;
    mutable std::vector<double> unknowns_;
    mutable VectorXd gradient_;
};

ceres::GradientProblemSolver::Options solver_options() {
    ceres::GradientProblemSolver::Options options;
    options.line_search_direction_type = ceres::BFGS;
    options.max_num_iterations = 200;
    options.function_tolerance = 1e-15;
    options.gradient_tolerance = 1e-14;
    options.parameter_tolerance = 1e-14;
    options.logging_type = ceres::SILENT;
    return options;
}

constexpr double converged_at = 1e-13;  // expected decrease over the objective
constexpr int most_rounds = 12;

/// Of a residual: a difference of sums of exponentials, whose exponents of up to some thirty bring their own rounding
/// with them.
constexpr double residual_rounding = 32 * std::numeric_limits<double>::epsilon();

/// A decrease that the rounding of residuals hides. Weights are those of the last call.
double lost_in_rounding(LawEvaluator const& evaluate, LawProblem const& problem) {
    bool const raw = problem.objective.kind == ObjectiveKind::raw_squares;
    double sum = 0;
    for (std::size_t i = 0; i < problem.rows(); ++i) {
        double const error = residual_rounding * (raw ? problem.measured[i] : 1);
        sum += evaluate.weight(i) * error * error;
    }
    return sum;
}

/// The Gauss-Newton step, halved until the objective falls.
std::vector<double> shorter_step(LawEvaluator& evaluate, std::vector<double> const& from, Curvature const& at) {
    VectorXd const step = at.factor.solve(at.gradient);
    std::vector<double> to = from;
    for (double share = 1; share > 1e-9; share /= 2) {
        for (std::size_t k = 0; k < from.size(); ++k)
            to[k] = from[k] - share * step[static_cast<Eigen::Index>(k)];
        if (evaluate(to, {}) < at.objective) return to;
    }
    return from;
}

LawMinimum minimise_smooth(LawProblem const& problem, std::vector<double> start) {
    LawEvaluator evaluate(problem);
    LawMinimum best{.unknowns = std::move(start), .objective = INFINITY};
    static ceres::GradientProblemSolver::Options const options = solver_options();
    for (int round = 0; round < most_rounds; ++round) {
        Curvature const at = curvature_at(evaluate, best.unknowns, problem.rows());
        best.objective = at.objective;
        if (!at.good) return best;
        double const decrease = at.gradient.dot(at.factor.solve(at.gradient)) / 2;
        double const hidden = lost_in_rounding(evaluate, problem);
        best.remaining = at.objective > 0 ? decrease / at.objective : 0;
        // An exact fit leaves nothing to divide by.
        if (decrease <= std::max(converged_at * at.objective, hidden) ||
            at.objective <= 1e-26 * static_cast<double>(problem.rows())) {
            best.converged = true;
            return best;
        }
        auto* const objective = new ScaledObjective(evaluate, best.unknowns, at);
        ceres::GradientProblem const scaled(objective);  // owns it
        std::vector<double> v(best.unknowns.size(), 0);
        ceres::GradientProblemSolver::Summary summary;
        ceres::Solve(options, scaled, v.data(), &summary);
        std::vector<double> moved = objective->place(v.data());
        // A line search that met values which do not exist gives up at once; a shorter step may do.
        if (!(evaluate(moved, {}) < at.objective)) moved = shorter_step(evaluate, best.unknowns, at);
        if (!(evaluate(moved, {}) < at.objective)) {  // at the limit of the arithmetic
            best.converged = decrease <= std::max(1e-10 * at.objective, hidden);
            return best;
        }
        best.unknowns = moved;
    }
    best.objective = evaluate(best.unknowns, {});
    return best;
}

/// Newton on the system of as many rows as there are unknowns, those with the smallest residuals.
std::vector<double> to_vertex(LawProblem const& problem, std::vector<double> unknowns) {
    LawEvaluator evaluate(problem);
    std::size_t const count = unknowns.size();
    if (problem.rows() < count) return unknowns;
    std::vector<double> gradient(count);
    evaluate(unknowns, gradient);
    std::vector<std::size_t> order(problem.rows());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<double> const first(evaluate.residuals().begin(), evaluate.residuals().end());
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::abs(first[a]) < std::abs(first[b]); });
    order.resize(count);
    for (int step = 0; step < 20; ++step) {
        evaluate(unknowns, gradient);
        MatrixXd j(count, count);
        VectorXd r(count);
        for (std::size_t i = 0; i < count; ++i) {
            r[static_cast<Eigen::Index>(i)] = evaluate.residuals()[order[i]];
            for (std::size_t k = 0; k < count; ++k)
                j(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) =
                    evaluate.jacobian()[order[i] * count + k];
        }
        VectorXd const move = j.colPivHouseholderQr().solve(r);
        if (!move.allFinite()) break;
        for (std::size_t k = 0; k < count; ++k)
            unknowns[k] -= move[static_cast<Eigen::Index>(k)];
    }
    return unknowns;
}

constexpr double exact_deviation = 1e-9;  ///< of a row, where also the weights of `FitObjective` end

LawMinimum minimise_absolute(LawProblem const& problem, std::vector<double> start) {
    LawProblem smooth = problem;
    LawMinimum at{.unknowns = std::move(start), .objective = 0};
    for (double const delta : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
        smooth.objective = {.kind = ObjectiveKind::huber, .delta = delta};
        at = minimise_smooth(smooth, at.unknowns);
    }
    LawEvaluator evaluate(problem);
    at.objective = evaluate(at.unknowns, {});
    auto const rows = static_cast<double>(problem.rows());
    std::vector<double> const vertex = to_vertex(problem, at.unknowns);
    double const there = evaluate(vertex, {});
    if (there <= at.objective + residual_rounding * rows) {
        at.unknowns = vertex;
        at.objective = there;
        at.converged = true;
    }
    // All deltas are far above such deviations, so that squares were made small: no one can tell the two apart.
    at.converged = at.converged || at.objective <= exact_deviation * rows;
    return at;
}

void silence_ceres() {
    // A line search that meets a flat objective is no news to the user: convergence is judged here.
    static bool const once = [] {
        FLAGS_minloglevel = google::GLOG_FATAL;
        return true;
    }();
    static_cast<void>(once);
}

}  // namespace

LawMinimum minimise_law(LawProblem const& problem, std::vector<double> start) {
    silence_ceres();
    if (start.empty()) {
        LawEvaluator evaluate(problem);
        return {.unknowns = {}, .objective = evaluate({}, {}), .converged = true};
    }
    return problem.objective.kind == ObjectiveKind::lad ? minimise_absolute(problem, std::move(start))
                                                        : minimise_smooth(problem, std::move(start));
}

}  // namespace sextant

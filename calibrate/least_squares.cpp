#include "calibrate/least_squares.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

namespace sextant {
namespace {

double to_scale(FitParameter const& parameter, double value) {
    return parameter.scale == FitScale::logarithmic ? std::log(value) : value;
}
double from_scale(FitParameter const& parameter, double x) {
    return parameter.scale == FitScale::logarithmic ? std::exp(x) : x;
}

double value_at(FitParameter const& parameter, double x) {
    return std::clamp(from_scale(parameter, x), parameter.low, parameter.high);
}

std::vector<double> values_at(FitProblem const& problem, double const* x) {
    std::vector<double> values(problem.parameters.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = value_at(problem.parameters[i], x[i]);
    return values;
}

/// Of central differences.
double derivative_step(double x) {
    constexpr double relative_step = 1e-6;
    constexpr double least_step = 1.5e-8;  // square root of the least difference from one
    return std::max(relative_step * std::abs(x), least_step);
}

/// A weighted residual with derivatives by central differences. Ceres's own would bring every parameter to its scale
/// anew for each of them.
class RowCost final : public ceres::CostFunction {
public:
    RowCost(FitProblem const& problem, std::size_t row, double root_weight)
        : problem_(problem), row_(row), root_weight_(root_weight) {
        set_num_residuals(1);
        mutable_parameter_block_sizes()->push_back(static_cast<int>(problem.parameters.size()));
    }

    bool Evaluate(double const* const* blocks, double* out, double** jacobians) const override {
        double const* const x = blocks[0];
        std::vector<double> values = values_at(problem_, x);
        *out = residual(values);
        if (!std::isfinite(*out)) return false;
        if (jacobians == nullptr || jacobians[0] == nullptr) return true;
        for (std::size_t i = 0; i < values.size(); ++i) {
            double const step = derivative_step(x[i]);
            double const value = values[i];
            values[i] = value_at(problem_.parameters[i], x[i] + step);
            double const above = residual(values);
            values[i] = value_at(problem_.parameters[i], x[i] - step);
            double const below = residual(values);
            values[i] = value;
            jacobians[0][i] = (above - below) / (2 * step);
            if (!std::isfinite(jacobians[0][i])) return false;
        }
        return true;
    }

private:
    [[nodiscard]] double residual(std::vector<double> const& values) const {
        return root_weight_ * problem_.residual(row_, values);
    }

    FitProblem const& problem_;
    std::size_t row_;
    double root_weight_;
};

/// Residuals of all rows and their derivatives, worked out together before Ceres asks for those of each row.
class AllRows final : public ceres::EvaluationCallback {
public:
    AllRows(FitProblem const& problem, std::vector<double> const& x, unsigned threads)
        : problem_(problem), x_(x), threads_(threads) {}

    void PrepareForEvaluation(bool with_jacobians, bool is_new_point) override {
        if (is_new_point || residuals_.empty()) {
            residuals_.resize(problem_.rows);
            problem_.residuals(values_at(problem_, x_.data()), residuals_);
            has_derivatives_ = false;
        }
        if (with_jacobians && !has_derivatives_) differentiate();
    }

    [[nodiscard]] double residual(std::size_t row) const { return residuals_[row]; }
    [[nodiscard]] double derivative(std::size_t row, std::size_t parameter) const {
        return derivatives_[parameter][row];
    }

private:
    void differentiate() {
        std::vector<double> const values = values_at(problem_, x_.data());
        derivatives_.assign(values.size(), std::vector<double>(problem_.rows));
        parallel_for(static_cast<std::int64_t>(values.size()), threads_, [&](std::int64_t number) {
            auto const i = static_cast<std::size_t>(number);
            double const step = derivative_step(x_[i]);
            std::vector<double> moved = values;
            std::vector<double>& above = derivatives_[i];
            std::vector<double> below(problem_.rows);
            moved[i] = value_at(problem_.parameters[i], x_[i] + step);
            problem_.residuals(moved, above);
            moved[i] = value_at(problem_.parameters[i], x_[i] - step);
            problem_.residuals(moved, below);
            for (std::size_t row = 0; row < problem_.rows; ++row)
                above[row] = (above[row] - below[row]) / (2 * step);
        });
        has_derivatives_ = true;
    }

    FitProblem const& problem_;
    std::vector<double> const& x_;
    unsigned threads_;
    std::vector<double> residuals_;
    std::vector<std::vector<double>> derivatives_;  ///< per parameter
    bool has_derivatives_ = false;
};

/// A weighted residual of those.
class OneOfAllRows final : public ceres::CostFunction {
public:
    OneOfAllRows(AllRows const& all, std::size_t parameters, std::size_t row, double root_weight)
        : all_(all), row_(row), root_weight_(root_weight) {
        set_num_residuals(1);
        mutable_parameter_block_sizes()->push_back(static_cast<int>(parameters));
    }

    bool Evaluate(double const* const* /*blocks*/, double* out, double** jacobians) const override {
        *out = root_weight_ * all_.residual(row_);
        if (!std::isfinite(*out)) return false;
        if (jacobians == nullptr || jacobians[0] == nullptr) return true;
        for (std::int32_t i = 0; i < parameter_block_sizes()[0]; ++i) {
            jacobians[0][i] = root_weight_ * all_.derivative(row_, static_cast<std::size_t>(i));
            if (!std::isfinite(jacobians[0][i])) return false;
        }
        return true;
    }

private:
    AllRows const& all_;
    std::size_t row_;
    double root_weight_;
};

class PriorCost final : public ceres::CostFunction {
public:
    PriorCost(std::size_t parameters, std::size_t index, double mean, double spread)
        : index_(index), mean_(mean), spread_(spread) {
        set_num_residuals(1);
        mutable_parameter_block_sizes()->push_back(static_cast<int>(parameters));
    }

    bool Evaluate(double const* const* blocks, double* out, double** jacobians) const override {
        *out = (blocks[0][index_] - mean_) / spread_;
        if (jacobians == nullptr || jacobians[0] == nullptr) return true;
        std::fill_n(jacobians[0], parameter_block_sizes()[0], 0.0);
        jacobians[0][index_] = 1 / spread_;
        return true;
    }

private:
    std::size_t index_;
    double mean_;
    double spread_;
};

void build(ceres::Problem& ceres_problem, FitProblem const& problem, FitOptions const& options, AllRows const& all,
           std::vector<double>& x) {
    std::size_t const n = problem.parameters.size();
    auto const cost_of = [&](std::size_t row, double root_weight) -> ceres::CostFunction* {
        if (problem.residuals) return new OneOfAllRows(all, n, row, root_weight);
        return new RowCost(problem, row, root_weight);
    };
    for (std::size_t row = 0; row < problem.rows; ++row) {
        double const weight = problem.weights.empty() ? 1.0 : problem.weights[row];
        if (weight <= 0) continue;
        double const root = std::sqrt(weight);
        ceres_problem.AddResidualBlock(cost_of(row, root), new ceres::HuberLoss(options.robust_scale * root), x.data());
    }
    for (std::size_t i = 0; i < n; ++i) {
        FitParameter const& parameter = problem.parameters[i];
        auto const index = static_cast<int>(i);
        ceres_problem.SetParameterLowerBound(x.data(), index, to_scale(parameter, parameter.low));
        ceres_problem.SetParameterUpperBound(x.data(), index, to_scale(parameter, parameter.high));
        if (parameter.prior)
            ceres_problem.AddResidualBlock(
                new PriorCost(n, i, to_scale(parameter, parameter.prior->mean), parameter.prior->spread), nullptr,
                x.data());
    }
}

/// Standard deviations on the scale, and of a row's residual. A direction that no row depends on has none, nor has one
/// of a step.
struct Spreads {
    std::vector<std::optional<double>> of_parameters;
    double of_residual = 0;
};
Spreads spreads(ceres::Problem& ceres_problem, FitProblem const& problem, FitOptions const& options,
                std::vector<double> const& x, double cost) {
    std::size_t const n = x.size();
    Spreads result{.of_parameters = std::vector<std::optional<double>>(n)};
    ceres::Covariance::Options covariance_options;
    covariance_options.algorithm_type = ceres::DENSE_SVD;
    covariance_options.null_space_rank = -1;
    covariance_options.apply_loss_function = true;
    covariance_options.num_threads = static_cast<int>(thread_count(options.threads));
    ceres::Covariance covariance(covariance_options);
    std::vector<double const*> const blocks{x.data()};
    std::vector<double> matrix(n * n);
    if (!covariance.Compute(blocks, &ceres_problem) || !covariance.GetCovarianceMatrix(blocks, matrix.data()))
        return result;
    double const freedom = std::max(1.0, static_cast<double>(problem.rows) - static_cast<double>(n));
    result.of_residual = std::sqrt(2 * cost / freedom);
    // A formula that rounds is steep at its steps and flat between them: what is taken for a slope there is none.
    // assumed: no residual moves by more than 30 times what a constant does.
    constexpr double steepest = 30;
    double const least = 1 / (steepest * steepest * std::max(1.0, static_cast<double>(problem.rows)));
    for (std::size_t i = 0; i < n; ++i)
        if (double const v = matrix[i * n + i]; v > least && std::isfinite(v))
            result.of_parameters[i] = std::sqrt(v) * result.of_residual;
    return result;
}

/// A prior is scaled by how well the rows are met, as all spreads are.
bool is_identified(FitParameter const& parameter, std::optional<double> spread, double of_residual) {
    constexpr double narrower = 0.7;
    return spread && (!parameter.prior || *spread <= narrower * of_residual * parameter.prior->spread);
}

/// One of the further starts, on the parameter's scale.
double drawn(FitParameter const& parameter, StartsFrom from, std::mt19937_64& random) {
    double const low = to_scale(parameter, parameter.low);
    double const high = to_scale(parameter, parameter.high);
    if (from == StartsFrom::priors && parameter.prior) {
        std::normal_distribution<double> around(to_scale(parameter, parameter.prior->mean), parameter.prior->spread);
        return std::clamp(around(random), low, high);
    }
    std::uniform_real_distribution<double> between(low, high);
    return 0.5 * (to_scale(parameter, parameter.start) + between(random));
}

std::vector<double> start_of(FitProblem const& problem, int number, StartsFrom from, std::mt19937_64& random) {
    std::vector<double> x;
    for (FitParameter const& parameter : problem.parameters)
        x.push_back(number > 0 ? drawn(parameter, from, random) : to_scale(parameter, parameter.start));
    return x;
}

void check(FitProblem const& problem) {
    if (problem.rows == 0) throw InputError("fit: no rows (at least one is needed)");
    if (problem.parameters.empty()) throw InputError("fit: no parameters");
    for (FitParameter const& p : problem.parameters)
        if (!(p.low < p.high) || p.start < p.low || p.start > p.high ||
            (p.scale == FitScale::logarithmic && p.low <= 0))
            throw InputError("fit: parameter '{}' starts at {} outside of [{}, {}]", p.name, p.start, p.low, p.high);
}

bool near_bound(FitParameter const& parameter, double x) {
    double const low = to_scale(parameter, parameter.low);
    double const high = to_scale(parameter, parameter.high);
    return std::min(x - low, high - x) < 1e-4 * (high - low);
}

}  // namespace

std::vector<double> FitResult::values() const {
    std::vector<double> all;
    for (FittedParameter const& parameter : parameters)
        all.push_back(parameter.value);
    return all;
}

FitResult fit_least_squares(FitProblem const& problem, FitOptions const& options) {
    check(problem);
    std::mt19937_64 random(options.seed);
    ceres::Solver::Options solver;
    solver.max_num_iterations = options.iterations;
    solver.linear_solver_type = ceres::DENSE_QR;
    solver.num_threads = static_cast<int>(thread_count(options.threads));
    solver.logging_type = ceres::SILENT;
    solver.function_tolerance = 1e-8;
    std::optional<FitResult> best;
    for (int start = 0; start < std::max(1, options.starts); ++start) {
        std::vector<double> x = start_of(problem, start, options.starts_from, random);
        AllRows all(problem, x, options.threads);
        ceres::Problem::Options together;
        if (problem.residuals) together.evaluation_callback = &all;
        ceres::Problem ceres_problem(together);
        build(ceres_problem, problem, options, all, x);
        ceres::Solver::Summary summary;
        ceres::Solve(solver, &ceres_problem, &summary);
        if (!summary.IsSolutionUsable() || (best && summary.final_cost >= best->cost)) continue;
        FitResult result{.parameters = {},
                         .cost = summary.final_cost,
                         .iterations = static_cast<int>(summary.iterations.size()),
                         .converged = summary.termination_type == ceres::CONVERGENCE};
        Spreads const spread = spreads(ceres_problem, problem, options, x, summary.final_cost);
        std::vector<double> const values = values_at(problem, x.data());
        for (std::size_t i = 0; i < x.size(); ++i)
            result.parameters.push_back(
                {.name = problem.parameters[i].name,
                 .value = values[i],
                 .spread = spread.of_parameters[i],
                 .is_identified = is_identified(problem.parameters[i], spread.of_parameters[i], spread.of_residual),
                 .at_bound = near_bound(problem.parameters[i], x[i])});
        best = std::move(result);
    }
    if (!best) throw InputError("fit: the residuals are not finite numbers at any start");
    return *best;
}

}  // namespace sextant

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// On which axis a parameter is moved, and its prior and spread are given.
enum class FitScale : std::uint8_t {
    linear,
    logarithmic,  ///< the value is positive; prior and spread are of its natural logarithm
};

/// What is believed of a parameter before any row is seen: normal, on the parameter's scale.
struct FitPrior {
    double mean = 0;    ///< in the parameter's own unit, also on a logarithmic scale
    double spread = 1;  ///< one standard deviation on the scale
};

/// One unknown, kept within [low, high].
struct FitParameter {
    std::string name;
    double start = 0;
    double low = 0;
    double high = 0;
    FitScale scale = FitScale::linear;
    std::optional<FitPrior> prior{};
};

/// Rows and what a set of values leaves unexplained of each.
struct FitProblem {
    std::vector<FitParameter> parameters;
    std::size_t rows = 0;
    /// Residual of a row, dimensionless, e.g. log(predicted / measured); called from several threads at a time.
    std::function<double(std::size_t row, std::span<double const> values)> residual;
    /// Of the squared residuals, one per row; empty: 1. As precisions: a spread counts a row of any weight as one row,
    /// and who gives less to rows that depend on each other widens the spreads.
    std::vector<double> weights{};
    /// In place of `residual`, where rows have work in common: those of all rows into `out`.
    std::function<void(std::span<double const> values, std::span<double> out)> residuals{};
};

/// Where all starts but the given one lie.
enum class StartsFrom : std::uint8_t {
    bounds,  ///< half-way between the given one and a place anywhere between the bounds
    priors,  ///< drawn from the priors; without one, as `bounds`
};

struct FitOptions {
    double robust_scale = 0.1;  ///< residuals beyond it count linearly (Huber)
    int starts = 4;             ///< the given one and this many less one drawn
    StartsFrom starts_from = StartsFrom::bounds;
    int iterations = 100;
    unsigned threads = 0;  ///< 0: all cores
    std::uint64_t seed = 1;
};

struct FittedParameter {
    std::string name;
    double value = 0;
    /// One standard deviation on the parameter's scale, from the covariance at the solution; absent: the rows do not
    /// identify it (the value then rests on its prior or start).
    std::optional<double> spread{};
    bool is_identified = false;  ///< the rows say clearly more of it than its prior does
    bool at_bound = false;
};

struct FitResult {
    std::vector<FittedParameter> parameters;
    double cost = 0;  ///< half the robust sum of squares, priors included
    int iterations = 0;
    bool converged = false;
    [[nodiscard]] std::vector<double> values() const;
};

/// min over x in [low, high] of 1/2 sum_i w_i rho(r_i(x)^2) + 1/2 sum_j ((x_j - mean_j) / spread_j)^2 with Huber's rho,
/// by Levenberg-Marquardt on central differences from several starts; the best solution is returned.
/// The covariance is scaled by the residual variance, so spreads are honest when the model is not exact.
/// @throws InputError: no rows, no parameters, a start outside its bounds, or residuals that are not finite at every
/// start. Source: Ceres Solver.
FitResult fit_least_squares(FitProblem const& problem, FitOptions const& options);

}  // namespace sextant

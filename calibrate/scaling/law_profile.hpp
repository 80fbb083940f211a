#pragma once

#include "calibrate/scaling/law_fit.hpp"

#include <vector>

namespace sextant {

/// Where the objective, minimised over all other parameters, has risen by what chance explains.
struct ProfileInterval {
    double low = 0;
    double high = 0;
    /// No lower end within 12 natural logarithms (or 12 spreads), or no minimum to be found that would tell one.
    bool open_below = false;
    bool open_above = false;
};

/// The interval in which objective(theta) - objective <= k chi2 / 2, chi2 the quantile with one degree of freedom and
/// k = n/(n-p) mean(psi^2) / mean(psi') the scale of a robust objective (the residual variance for least squares).
/// @pre the parameter is free, the objective is not LAD (its psi' is zero). @param level 0.8 or 0.95.
/// Source: Ronchetti & Huber, Robust Statistics, 2nd ed., section 13.4 (tau test).
ProfileInterval profile_interval(LawProblem const& problem, LawFit const& fit, std::size_t parameter, double level);

/// One standard deviation of each free unknown (on its scale) from the curvature and the same k; infinite where the
/// rows say nothing.
std::vector<double> curvature_spreads(LawProblem const& problem, LawFit const& fit);

}  // namespace sextant

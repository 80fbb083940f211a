#pragma once

#include "calibrate/scaling/law_problem.hpp"

#include <vector>

namespace sextant {

/// Where a solver came to rest.
struct LawMinimum {
    std::vector<double> unknowns;  ///< the free ones
    double objective = 0;
    bool converged = false;
    double remaining = 0;  ///< decrease that the curvature still promises, over the objective
};

/// Minimises the objective from one start: BFGS (Ceres) in unknowns scaled by the Gauss-Newton curvature, begun anew
/// from where it rested until half of g H^-1 g is below 1e-13 of the objective. Least absolute deviations are the limit
/// of Huber's as delta goes to zero, ended at the vertex where as many residuals vanish as there are unknowns. Source:
/// Nocedal & Wright, Numerical Optimization, 2nd ed., section 6.1.
LawMinimum minimise_law(LawProblem const& problem, std::vector<double> start);

/// Starts for the free unknowns, best first: on a grid of the shape parameters the coefficients by (non-negative) least
/// squares, judged by the objective; first those better than their neighbours on the grid, then the next best.
/// Source: Golub & Pereyra, SIAM J. Numer. Anal. 10(2), 1973 (variable projection).
std::vector<std::vector<double>> screen_starts(LawProblem const& problem, std::size_t most);

}  // namespace sextant

#pragma once

#include "calibrate/scaling/law_minimise.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// Another place where starts came to rest.
struct LawBasin {
    std::vector<double> values;  ///< parameters, in the order of the form
    double objective = 0;
    int starts = 0;
};

/// Parameters that make the objective smallest.
struct LawFit {
    std::vector<double> values;    ///< of all parameters, in their own units and the order of the form
    std::vector<double> unknowns;  ///< the free ones on their scale
    double objective = 0;
    bool converged = false;
    double remaining = 0;  ///< decrease that the curvature still promises, over the objective
    int starts = 0;
    int agreeing = 0;                ///< starts whose objective is within 1e-8 of the lowest
    std::vector<LawBasin> others{};  ///< different parameters, objective within 1 % of the lowest
    std::vector<double> residuals{};
};

struct LawFitOptions {
    int starts = 10;  ///< solved, of all that are screened
    unsigned threads = 1;
};

/// Screens a grid of starts, solves the best ones, keeps the lowest.
/// @throws InputError: fewer rows than free parameters; an input, or the output, that is the same in every row;
/// values that are not positive. @param where names the data in messages.
LawFit fit_law(LawProblem const& problem, LawFitOptions const& options, std::string const& where);

/// From known good unknowns (of `fit` and of its other basins) instead of a screening.
LawFit refit_law(LawProblem const& problem, LawFit const& from);

}  // namespace sextant

#pragma once

#include "calibrate/scaling/law_bootstrap.hpp"
#include "calibrate/scaling/law_profile.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// A number that follows from the parameters: tokens per parameter at a compute, a loss further out.
struct LawQuantity {
    std::string name;
    std::function<double(std::span<double const> parameters)> value;
};

/// Quantities worth an interval. `flops` is where to look: chinchilla and overtraining give the optimum there, compute
/// its loss; the other laws give the output at ten times the largest of each input.
std::vector<LawQuantity> law_quantities(LawProblem const& problem, double flops);

/// Compute of each row, 6 N D or the input itself; empty where the law has neither.
std::vector<double> flops_of_rows(LawProblem const& problem);

struct ParameterInterval {
    std::string name;
    double value = 0;
    bool fitted = true;                       ///< false: fixed, or equal to another
    std::optional<ResampleInterval> at_80{};  ///< of the bootstrap
    std::optional<ResampleInterval> at_95{};
    double median = 0;
    double standard_error = 0;                 ///< spread of the resamples
    std::optional<ProfileInterval> profile{};  ///< 95 %
};

/// Fills the intervals of a number from its resampled values; fewer than 20 finite ones give none.
void add_interval(ParameterInterval& out, std::vector<double> values);

/// The same rows under another objective.
struct ObjectiveRow {
    FitObjective objective;
    LawFit fit;
    double quantity = 0;  ///< the first of `law_quantities`
};

/// What the answer becomes without one row.
struct InfluenceRow {
    std::size_t row = 0;
    double residual = 0;
    double quantity = 0;
};

/// Fitted to the rows with less compute than a cut, judged on the others.
struct BackTest {
    double cut = 0;
    std::size_t fitted = 0;
    std::size_t judged = 0;
    double median_error_pct = 0;
    double bias_pct = 0;
    double quantity = 0;
};

struct LawStudyOptions {
    LawFitOptions fit{};
    BootstrapOptions bootstrap{};
    double flops = 0;            ///< where `law_quantities` look; 0: ten times the largest compute of the rows
    std::vector<double> cuts{};  ///< of the back-test; empty: powers of ten
    bool profile = true;
    bool diagnostics = true;  ///< sensitivity to the objective, influence, back-test
};

/// A fit with all that says how far to trust it.
struct LawStudy {
    LawProblem problem;
    LawFit fit;
    double flops = 0;
    Bootstrap bootstrap;
    std::vector<ParameterInterval> parameters;  ///< in the order of the form
    std::vector<ParameterInterval> quantities;
    std::vector<ObjectiveRow> objectives;
    std::vector<InfluenceRow> influence;  ///< the five that move the first quantity most
    std::vector<BackTest> back_tests;
    std::vector<std::string> warnings;
};

/// @throws InputError as `fit_law`. A fit that did not converge has no intervals.
LawStudy study_law(LawProblem problem, LawStudyOptions const& options, std::string const& where);

/// Doubts about a fit: few rows, directions that rows do not identify, exponents at a bound, other basins, rows below
/// the irreducible loss, inputs that move together.
std::vector<std::string> law_warnings(LawStudy const& study);

}  // namespace sextant

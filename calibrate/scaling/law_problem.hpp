#pragma once

#include "calibrate/scaling/fit_objective.hpp"
#include "cost_models/scaling/law_form.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace sextant {

/// A law, the rows it is fitted to, and what is moved.
struct LawProblem {
    LawForm const* form = nullptr;
    FitObjective objective{};
    LawTable inputs;
    std::vector<double> measured{};  ///< the output of each row, positive
    std::vector<double> weights{};   ///< of the rows; empty: 1 each
    /// One per parameter of the form: its value (in its own unit) where it is not fitted.
    std::vector<std::optional<double>> fixed{};
    /// One per parameter: the parameter it equals, or its own position.
    std::vector<std::size_t> equals{};

    [[nodiscard]] std::size_t rows() const { return inputs.rows; }
};

/// A problem over all parameters of a form.
LawProblem law_problem(LawForm const& form, FitObjective objective);
/// The rows at these positions, each as often as `counts` says (as its weight).
LawProblem resampled(LawProblem const& problem, std::span<int const> counts);

/// How the sizes and the tokens of the rows lie to each other.
struct SizeTokenDesign {
    double correlation = 0;  ///< of ln N and ln D
    double scatter = 0;      ///< standard deviation of ln D about its least-squares line over ln N
};
/// Nothing where the law has no N and D, or one of them is the same in every row.
std::optional<SizeTokenDesign> size_token_design(LawProblem const& problem);

/// Free unknowns of a problem and all of them.
class UnknownMap {
public:
    explicit UnknownMap(LawProblem const& problem);
    [[nodiscard]] std::size_t free() const { return free_.size(); }
    /// Position among the parameters of a free unknown.
    [[nodiscard]] std::size_t parameter(std::size_t unknown) const { return free_[unknown]; }
    /// The free unknown that moves a parameter, or nothing where it is fixed.
    [[nodiscard]] std::optional<std::size_t> unknown_of(std::size_t parameter) const {
        return of_parameter_[parameter];
    }
    void expand(std::span<double const> free, std::span<double> all) const;
    /// Parameters in their own units.
    [[nodiscard]] std::vector<double> values(std::span<double const> free) const;
    /// The free unknowns of parameter values. @pre logarithmic ones are positive.
    [[nodiscard]] std::vector<double> unknowns(std::span<double const> values) const;

private:
    LawForm const* form_;
    std::vector<std::size_t> free_;
    std::vector<std::optional<std::size_t>> of_parameter_;
    std::vector<double> fixed_;
};

/// Objective, gradient and curvature of a problem; keeps its working memory between calls.
class LawEvaluator {
public:
    explicit LawEvaluator(LawProblem const& problem);
    [[nodiscard]] UnknownMap const& map() const { return map_; }
    /// Sum of rho; fills `gradient` (of the free unknowns) unless it is empty. Not finite where the law is not.
    double operator()(std::span<double const> free, std::span<double> gradient);
    /// Residuals of the last call.
    [[nodiscard]] std::span<double const> residuals() const { return residuals_; }
    /// Derivatives of the residuals by the free unknowns, row after row, of the last call with a gradient.
    [[nodiscard]] std::span<double const> jacobian() const { return jacobian_; }
    /// Weight of a row times that of its last residual under the objective.
    [[nodiscard]] double weight(std::size_t row) const;

private:
    LawProblem const& problem_;
    UnknownMap map_;
    std::vector<double> targets_;
    std::vector<double> all_;
    std::vector<double> values_;
    std::vector<double> full_;
    std::vector<double> residuals_;
    std::vector<double> jacobian_;
};

}  // namespace sextant

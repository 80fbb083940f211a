#include "calibrate/scaling/law_problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

namespace sextant {

LawProblem law_problem(LawForm const& form, FitObjective objective) {
    LawProblem problem{.form = &form, .objective = objective, .inputs = {}};
    problem.fixed.resize(form.parameters.size());
    problem.equals.resize(form.parameters.size());
    std::iota(problem.equals.begin(), problem.equals.end(), std::size_t{0});
    problem.inputs.columns.resize(form.inputs.size());
    return problem;
}

LawProblem resampled(LawProblem const& problem, std::span<int const> counts) {
    LawProblem out{.form = problem.form,
                   .objective = problem.objective,
                   .inputs = {},
                   .fixed = problem.fixed,
                   .equals = problem.equals};
    out.inputs.columns.resize(problem.inputs.columns.size());
    for (std::size_t i = 0; i < problem.rows(); ++i) {
        if (counts[i] == 0) continue;
        for (std::size_t c = 0; c < out.inputs.columns.size(); ++c)
            out.inputs.columns[c].push_back(problem.inputs.columns[c][i]);
        out.measured.push_back(problem.measured[i]);
        out.weights.push_back(counts[i] * (problem.weights.empty() ? 1 : problem.weights[i]));
    }
    out.inputs.rows = out.measured.size();
    return out;
}

std::optional<SizeTokenDesign> size_token_design(LawProblem const& problem) {
    LawForm const& form = *problem.form;
    if (form.inputs.size() < 2 || std::string_view(form.inputs[1]) != "tokens") return std::nullopt;
    std::vector<double> const& n = problem.inputs.columns[0];
    std::vector<double> const& d = problem.inputs.columns[1];
    auto const count = static_cast<double>(n.size());
    double const mean_n = std::accumulate(n.begin(), n.end(), 0.0) / count;
    double const mean_d = std::accumulate(d.begin(), d.end(), 0.0) / count;
    double nn = 0;
    double dd = 0;
    double nd = 0;
    for (std::size_t i = 0; i < n.size(); ++i) {
        nn += (n[i] - mean_n) * (n[i] - mean_n);
        dd += (d[i] - mean_d) * (d[i] - mean_d);
        nd += (n[i] - mean_n) * (d[i] - mean_d);
    }
    if (!(nn > 0 && dd > 0)) return std::nullopt;
    double const correlation = nd / std::sqrt(nn * dd);
    return SizeTokenDesign{.correlation = correlation,
                           .scatter = std::sqrt(dd / count * std::max(0.0, 1 - correlation * correlation))};
}

UnknownMap::UnknownMap(LawProblem const& problem) : form_(problem.form) {
    std::size_t const count = form_->parameters.size();
    of_parameter_.resize(count);
    fixed_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
        if (problem.fixed[k])
            fixed_[k] =
                form_->parameters[k].scale == LawScale::logarithmic ? std::log(*problem.fixed[k]) : *problem.fixed[k];
        else if (problem.equals[k] == k) {
            of_parameter_[k] = free_.size();
            free_.push_back(k);
        }
    }
    for (std::size_t k = 0; k < count; ++k) {
        std::size_t const other = problem.equals[k];
        if (other == k) continue;
        of_parameter_[k] = of_parameter_[other];
        fixed_[k] = fixed_[other];
    }
}

void UnknownMap::expand(std::span<double const> free, std::span<double> all) const {
    for (std::size_t k = 0; k < all.size(); ++k)
        all[k] = of_parameter_[k] ? free[*of_parameter_[k]] : fixed_[k];
}

std::vector<double> UnknownMap::values(std::span<double const> free) const {
    std::vector<double> all(of_parameter_.size());
    expand(free, all);
    for (std::size_t k = 0; k < all.size(); ++k)
        if (form_->parameters[k].scale == LawScale::logarithmic) all[k] = std::exp(all[k]);
    return all;
}

std::vector<double> UnknownMap::unknowns(std::span<double const> values) const {
    std::vector<double> out;
    for (std::size_t const k : free_)
        out.push_back(form_->parameters[k].scale == LawScale::logarithmic ? std::log(values[k]) : values[k]);
    return out;
}

LawEvaluator::LawEvaluator(LawProblem const& problem)
    : problem_(problem),
      map_(problem),
      targets_(problem.measured),
      all_(problem.form->parameters.size()),
      values_(problem.rows()),
      full_(problem.rows() * problem.form->parameters.size()),
      residuals_(problem.rows()),
      jacobian_(problem.rows() * map_.free()) {
    if (problem.objective.of_logarithms())
        for (double& target : targets_)
            target = std::log(target);
}

double LawEvaluator::operator()(std::span<double const> free, std::span<double> gradient) {
    bool const with_gradient = !gradient.empty();
    map_.expand(free, all_);
    problem_.form->evaluate(all_, problem_.inputs, values_, with_gradient ? std::span(full_) : std::span<double>());
    bool const to_log = problem_.objective.of_logarithms() && problem_.form->output == LawOutput::value;
    bool const to_value = !problem_.objective.of_logarithms() && problem_.form->output == LawOutput::logarithm;
    std::size_t const count = all_.size();
    std::size_t const unknowns = map_.free();
    double sum = 0;
    std::fill(gradient.begin(), gradient.end(), 0);
    for (std::size_t i = 0; i < problem_.rows(); ++i) {
        double const value = to_log ? std::log(values_[i]) : to_value ? std::exp(values_[i]) : values_[i];
        double const chain = to_log ? 1 / values_[i] : to_value ? value : 1;
        double const residual = value - targets_[i];
        double const weight = problem_.weights.empty() ? 1 : problem_.weights[i];
        residuals_[i] = residual;
        sum += weight * problem_.objective.rho(residual);
        if (!with_gradient) continue;
        double* const row = &jacobian_[i * unknowns];
        std::fill(row, row + unknowns, 0.0);
        for (std::size_t k = 0; k < count; ++k)
            if (auto const to = map_.unknown_of(k)) row[*to] += chain * full_[i * count + k];
        double const slope = weight * problem_.objective.slope(residual);
        for (std::size_t k = 0; k < unknowns; ++k)
            gradient[k] += slope * row[k];
    }
    return sum;
}

double LawEvaluator::weight(std::size_t row) const {
    return (problem_.weights.empty() ? 1 : problem_.weights[row]) * problem_.objective.weight(residuals_[row]);
}

}  // namespace sextant

#include "cost_models/scaling/chinchilla_law.hpp"

#include "core/error.hpp"

#include <cmath>

namespace sextant {
namespace {

/// N at the optimum per (C/6)^(beta/(alpha+beta)).
double allocation_constant(ChinchillaLaw const& law) {
    return std::pow(law.alpha * law.A / (law.beta * law.B), 1 / (law.alpha + law.beta));
}

}  // namespace

double loss_of(ChinchillaLaw const& law, double parameters, double tokens) {
    return law.E + law.A * std::pow(parameters, -law.alpha) + law.B * std::pow(tokens, -law.beta);
}

ScalingPoint compute_optimum(ChinchillaLaw const& law, double flops) {
    double const product = flops / training_flops_per_parameter_token;
    double const g = allocation_constant(law);
    double const parameters = g * std::pow(product, law.beta / (law.alpha + law.beta));
    double const tokens = std::pow(product, law.alpha / (law.alpha + law.beta)) / g;
    return {.parameters = parameters, .tokens = tokens, .loss = loss_of(law, parameters, tokens)};
}

double flops_for_loss(ChinchillaLaw const& law, double loss, char const* where) {
    if (!(loss > law.E))
        throw InputError("{}: a loss of {} cannot be reached (the law's irreducible loss E is {})", where, loss, law.E);
    double const g = allocation_constant(law);
    double const reducible = law.A * std::pow(g, -law.alpha) + law.B * std::pow(g, law.beta);
    double const gamma = law.alpha * law.beta / (law.alpha + law.beta);
    return training_flops_per_parameter_token * std::pow((loss - law.E) / reducible, -1 / gamma);
}

}  // namespace sextant

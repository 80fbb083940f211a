// L = c + (g G^-gamma + a) N^-alpha + b D^-beta.
#include "cost_models/scaling/law_form.hpp"

#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_a, at_alpha, at_b, at_beta, at_g, at_gamma, at_c, unknowns_of_form };

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const floor = std::exp(u[at_c]);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const ln_n = table.columns[0][i];
        double const ln_d = table.columns[1][i];
        double const ln_g = table.columns[2][i];
        double const size = std::exp(u[at_a] - u[at_alpha] * ln_n);
        double const coarse = std::exp(u[at_g] - u[at_gamma] * ln_g - u[at_alpha] * ln_n);
        double const data = std::exp(u[at_b] - u[at_beta] * ln_d);
        values[i] = floor + size + coarse + data;
        if (jacobian.empty()) continue;
        double* const row = &jacobian[i * unknowns_of_form];
        row[at_a] = size;
        row[at_alpha] = -ln_n * (size + coarse);
        row[at_b] = data;
        row[at_beta] = -ln_d * data;
        row[at_g] = coarse;
        row[at_gamma] = -ln_g * coarse;
        row[at_c] = floor;
    }
}

constexpr LawParameter parameters[] = {
    {"a", LawScale::logarithmic, LawRole::coefficient}, {"alpha", LawScale::linear, LawRole::shape, 0.05, 0.8, 9},
    {"b", LawScale::logarithmic, LawRole::coefficient}, {"beta", LawScale::linear, LawRole::shape, 0.05, 0.8, 9},
    {"g", LawScale::logarithmic, LawRole::coefficient}, {"gamma", LawScale::linear, LawRole::shape, 0.1, 2, 6},
    {"c", LawScale::logarithmic, LawRole::coefficient},
};
constexpr char const* inputs[] = {"parameters", "tokens", "granularity"};

}  // namespace

extern constinit LawForm const moe_granularity_form{
    .name = "moe-granularity",
    .formula = "L = c + (g G^-gamma + a) N^-alpha + b D^-beta",
    .source = "Krajewski et al., arXiv:2402.07871, equation 9",
    .output_name = "loss",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant

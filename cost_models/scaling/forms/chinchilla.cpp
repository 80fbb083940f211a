// L = E + A N^-alpha + B D^-beta.
#include "cost_models/scaling/law_form.hpp"

#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_A, at_B, at_E, at_alpha, at_beta, unknowns_of_form };

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const floor = std::exp(u[at_E]);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const ln_n = table.columns[0][i];
        double const ln_d = table.columns[1][i];
        double const size = std::exp(u[at_A] - u[at_alpha] * ln_n);
        double const data = std::exp(u[at_B] - u[at_beta] * ln_d);
        values[i] = floor + size + data;
        if (jacobian.empty()) continue;
        double* const row = &jacobian[i * unknowns_of_form];
        row[at_A] = size;
        row[at_B] = data;
        row[at_E] = floor;
        row[at_alpha] = -ln_n * size;
        row[at_beta] = -ln_d * data;
    }
}

constexpr LawParameter parameters[] = {
    {"A", LawScale::logarithmic, LawRole::coefficient},
    {"B", LawScale::logarithmic, LawRole::coefficient},
    {"E", LawScale::logarithmic, LawRole::coefficient},
    {"alpha", LawScale::linear, LawRole::shape, 0.05, 1.6, 16},
    {"beta", LawScale::linear, LawRole::shape, 0.05, 1.6, 16},
};
constexpr char const* inputs[] = {"parameters", "tokens"};

}  // namespace

extern constinit LawForm const chinchilla_form{
    .name = "chinchilla",
    .formula = "L = E + A N^-alpha + B D^-beta",
    .source = "Hoffmann et al., arXiv:2203.15556, approach 3",
    .output_name = "loss",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant

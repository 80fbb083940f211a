// L = E + A N_eff^-alpha + B D^-beta, N_eff = N times (1 - exp(-P_x / gamma_x)) for weights, activations and KV cache.
#include "cost_models/scaling/law_form.hpp"

#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_A, at_B, at_E, at_alpha, at_beta, at_gamma, unknowns_of_form = at_gamma + 3 };

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const floor = std::exp(u[at_E]);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const ln_d = table.columns[1][i];
        double ln_n = table.columns[0][i];
        double by_gamma[3];
        for (std::size_t x = 0; x < 3; ++x) {
            double const ratio = std::exp(table.columns[2 + x][i] - u[at_gamma + x]);  // P / gamma
            double const kept = -std::expm1(-ratio);
            ln_n += std::log(kept);
            by_gamma[x] = ratio > 700 ? 0 : -ratio * std::exp(-ratio) / kept;  // of ln kept by ln gamma
        }
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
        for (std::size_t x = 0; x < 3; ++x)
            row[at_gamma + x] = -u[at_alpha] * size * by_gamma[x];
    }
}

constexpr LawParameter parameters[] = {
    {"A", LawScale::logarithmic, LawRole::coefficient},
    {"B", LawScale::logarithmic, LawRole::coefficient},
    {"E", LawScale::logarithmic, LawRole::coefficient},
    {"alpha", LawScale::linear, LawRole::shape, 0.1, 1.2, 6},
    {"beta", LawScale::linear, LawRole::shape, 0.1, 1.2, 6},
    {"gamma_w", LawScale::logarithmic, LawRole::shape, 0.5, 6, 4},
    {"gamma_a", LawScale::logarithmic, LawRole::shape, 0.5, 6, 4},
    {"gamma_kv", LawScale::logarithmic, LawRole::shape, 0.5, 6, 4},
};
constexpr char const* inputs[] = {"parameters", "tokens", "weight_bits", "activation_bits", "cache_bits"};

}  // namespace

extern constinit LawForm const precision_form{
    .name = "precision",
    .formula = "L = E + A N_eff^-alpha + B D^-beta, N_eff = N prod_x (1 - exp(-P_x / gamma_x))",
    .source = "Kumar et al., arXiv:2411.04330, equations 2 and 3",
    .output_name = "loss",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant

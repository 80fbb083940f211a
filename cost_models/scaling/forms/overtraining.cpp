// L = E + (a M^eta + b M^-eta) C^-eta with M = D / N and C = 6 N D.
#include "cost_models/scaling/chinchilla_law.hpp"
#include "cost_models/scaling/law_form.hpp"

#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_E, at_a, at_b, at_eta, unknowns_of_form };

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const floor = std::exp(u[at_E]);
    double const ln_rule = std::log(training_flops_per_parameter_token);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const ln_n = table.columns[0][i];
        double const ln_d = table.columns[1][i];
        double const ln_a = -2 * ln_n - ln_rule;  // M / C
        double const ln_b = -2 * ln_d - ln_rule;  // 1 / (M C)
        double const size = std::exp(u[at_a] + u[at_eta] * ln_a);
        double const data = std::exp(u[at_b] + u[at_eta] * ln_b);
        values[i] = floor + size + data;
        if (jacobian.empty()) continue;
        double* const row = &jacobian[i * unknowns_of_form];
        row[at_E] = floor;
        row[at_a] = size;
        row[at_b] = data;
        row[at_eta] = ln_a * size + ln_b * data;
    }
}

constexpr LawParameter parameters[] = {
    {"E", LawScale::logarithmic, LawRole::coefficient},
    {"a", LawScale::logarithmic, LawRole::coefficient},
    {"b", LawScale::logarithmic, LawRole::coefficient},
    {"eta", LawScale::linear, LawRole::shape, 0.01, 1, 48},
};
constexpr char const* inputs[] = {"parameters", "tokens"};

}  // namespace

extern constinit LawForm const overtraining_form{
    .name = "overtraining",
    .formula = "L = E + (a M^eta + b M^-eta) C^-eta, M = D/N, C = 6 N D",
    .source = "Gadre et al., arXiv:2403.08540, equation 4",
    .output_name = "loss",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant

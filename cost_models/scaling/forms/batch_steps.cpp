// S = S_min + E_min / B: steps to a loss at batch B.
#include "cost_models/scaling/law_form.hpp"

#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_steps, at_samples, unknowns_of_form };

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const steps = std::exp(u[at_steps]);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const extra = std::exp(u[at_samples] - table.columns[0][i]);
        values[i] = steps + extra;
        if (jacobian.empty()) continue;
        double* const row = &jacobian[i * unknowns_of_form];
        row[at_steps] = steps;
        row[at_samples] = extra;
    }
}

constexpr LawParameter parameters[] = {
    {"S_min", LawScale::logarithmic, LawRole::coefficient},
    {"E_min", LawScale::logarithmic, LawRole::coefficient},
};
constexpr char const* inputs[] = {"batch"};

}  // namespace

extern constinit LawForm const batch_steps_form{
    .name = "batch-steps",
    .formula = "S = S_min + E_min / B",
    .source = "McCandlish et al., arXiv:1812.06162, equation 2.11",
    .output_name = "steps",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant

// L = Linf + a C^-alpha.
#include "cost_models/scaling/law_form.hpp"

#include <cmath>

namespace sextant {
namespace {

enum : std::size_t { at_Linf, at_a, at_alpha, unknowns_of_form };

void evaluate(std::span<double const> u, LawTable const& table, std::span<double> values, std::span<double> jacobian) {
    double const floor = std::exp(u[at_Linf]);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double const ln_c = table.columns[0][i];
        double const reducible = std::exp(u[at_a] - u[at_alpha] * ln_c);
        values[i] = floor + reducible;
        if (jacobian.empty()) continue;
        double* const row = &jacobian[i * unknowns_of_form];
        row[at_Linf] = floor;
        row[at_a] = reducible;
        row[at_alpha] = -ln_c * reducible;
    }
}

constexpr LawParameter parameters[] = {
    {"Linf", LawScale::logarithmic, LawRole::coefficient},
    {"a", LawScale::logarithmic, LawRole::coefficient},
    {"alpha", LawScale::linear, LawRole::shape, 0.005, 2, 48},
};
constexpr char const* inputs[] = {"flops"};

}  // namespace

extern constinit LawForm const compute_form{
    .name = "compute",
    .formula = "L = Linf + a C^-alpha",
    .source = "Henighan et al., arXiv:2010.14701, equation 1.1",
    .output_name = "loss",
    .output = LawOutput::value,
    .parameters = parameters,
    .inputs = inputs,
    .evaluate = evaluate,
};

}  // namespace sextant

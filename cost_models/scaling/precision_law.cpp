#include "cost_models/scaling/precision_law.hpp"

#include "cost_models/scaling/root.hpp"

#include <cmath>

namespace sextant {

double parameter_retention(FittedLaw const& law, TrainingBits const& bits) {
    auto const kept = [](double p, double gamma) { return -std::expm1(-p / gamma); };
    return kept(bits.weights, law.value("gamma_w")) * kept(bits.activations, law.value("gamma_a")) *
           kept(bits.kv_cache, law.value("gamma_kv"));
}

ChinchillaLaw at_precision(FittedLaw const& law, TrainingBits const& bits) {
    double const alpha = law.value("alpha");
    return {.A = law.value("A") * std::pow(parameter_retention(law, bits), -alpha),
            .B = law.value("B"),
            .E = law.value("E"),
            .alpha = alpha,
            .beta = law.value("beta")};
}

double rounding_penalty(FittedLaw const& law, double parameters, double tokens, double bits) {
    return law.value("C_T") * std::pow(tokens, law.value("gamma_D")) * std::pow(parameters, -law.value("gamma_N")) *
           std::exp(-bits / law.value("gamma_post"));
}

double optimal_bits(FittedLaw const& law) {
    double const gammas[] = {law.value("gamma_w"), law.value("gamma_a"), law.value("gamma_kv")};
    // d ln(retention / P) / d ln P = sum x / (e^x - 1) - 1, x = P / gamma: 2 at P = 0 and falling.
    auto const falling = [&](double bits) {
        double sum = 0;
        for (double const gamma : gammas)
            sum += bits / gamma / std::expm1(bits / gamma);
        return 1 - sum;
    };
    double high = 1;
    while (falling(high) < 0)
        high *= 2;
    return root_between(falling, 1e-6, high);
}

}  // namespace sextant

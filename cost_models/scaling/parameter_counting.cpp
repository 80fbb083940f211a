#include "cost_models/scaling/parameter_counting.hpp"

#include "cost_models/scaling/root.hpp"

#include <cmath>

namespace sextant {
namespace {

constexpr double embedding_coefficient = 47491;  // Pearce and Song, arXiv:2406.12907

}  // namespace

double with_embeddings(double non_embedding) {
    return non_embedding + embedding_coefficient * std::cbrt(non_embedding);
}

CountedOptimum non_embedding_optimum(ChinchillaLaw const& law, double non_embedding) {
    double const n = non_embedding;
    double const root = embedding_coefficient * std::cbrt(n);
    double const total = with_embeddings(n);
    double const elasticity = (n + root / 3) / total;
    double const elasticity_slope = (n + root / 9) / total / elasticity - elasticity;  // d ln e / d ln N
    double const tokens =
        std::pow(law.beta * law.B * std::pow(total, law.alpha) / (law.alpha * law.A * elasticity), 1 / law.beta);
    return {.point = {.parameters = n, .tokens = tokens, .loss = loss_of(law, total, tokens)},
            .total_parameters = total,
            .flops = training_flops_per_parameter_token * n * tokens,
            .local_exponent = 1 / (1 + (law.alpha * elasticity - elasticity_slope) / law.beta)};
}

CountedOptimum non_embedding_optimum_of(ChinchillaLaw const& law, double flops) {
    auto const excess = [&](double log_n) { return non_embedding_optimum(law, std::exp(log_n)).flops - flops; };
    double const middle = std::log(compute_optimum(law, flops).parameters);
    double low = middle - 1;
    double high = middle + 1;
    while (excess(low) > 0)
        low -= 5;
    while (excess(high) < 0)
        high += 5;
    return non_embedding_optimum(law, std::exp(root_between(excess, low, high)));
}

double apparent_exponent(ChinchillaLaw const& law, double low, double high) {
    constexpr int points = 2001;
    double sum_c = 0;
    double sum_n = 0;
    double sum_cc = 0;
    double sum_cn = 0;
    for (int i = 0; i < points; ++i) {
        double const n = std::log(low) + std::log(high / low) * i / (points - 1);
        double const c = std::log(non_embedding_optimum(law, std::exp(n)).flops);
        sum_c += c;
        sum_n += n;
        sum_cc += c * c;
        sum_cn += c * n;
    }
    return (points * sum_cn - sum_c * sum_n) / (points * sum_cc - sum_c * sum_c);
}

}  // namespace sextant

#include "cost_models/scaling/allocation.hpp"

#include "cost_models/scaling/root.hpp"

#include <cmath>
#include <limits>

namespace sextant {

AllocationPenalty allocation_penalty(ChinchillaLaw const& law, double parameters, double tokens) {
    double const flops = training_flops_per_parameter_token * parameters * tokens;
    AllocationPenalty out{
        .point = {.parameters = parameters, .tokens = tokens, .loss = loss_of(law, parameters, tokens)},
        .optimum = compute_optimum(law, flops)};
    out.loss = out.point.loss - out.optimum.loss;
    // (L - E) goes with C^-gamma along the optimum, so that no constant is needed.
    double const gamma = law.alpha * law.beta / (law.alpha + law.beta);
    out.compute_needed = std::pow((out.point.loss - law.E) / (out.optimum.loss - law.E), -1 / gamma);
    return out;
}

AllocationPenalty allocation_at_ratio(ChinchillaLaw const& law, double flops, double tokens_per_parameter) {
    double const parameters = std::sqrt(flops / (training_flops_per_parameter_token * tokens_per_parameter));
    return allocation_penalty(law, parameters, tokens_per_parameter * parameters);
}

double optimal_tokens(ChinchillaLaw const& law, double parameters) {
    return std::pow(law.beta * law.B / (law.alpha * law.A) * std::pow(parameters, law.alpha), 1 / law.beta);
}

double optimal_parameters(ChinchillaLaw const& law, double tokens) {
    return std::pow(law.alpha * law.A / (law.beta * law.B) * std::pow(tokens, law.beta), 1 / law.alpha);
}

double tokens_for_loss(ChinchillaLaw const& law, double parameters, double loss) {
    double const left = loss - law.E - law.A * std::pow(parameters, -law.alpha);
    return left > 0 ? std::pow(law.B / left, 1 / law.beta) : std::numeric_limits<double>::infinity();
}

SizeTrade size_trade(ChinchillaLaw const& law, double size_factor) {
    double const left = 1 - (std::pow(size_factor, -law.alpha) - 1) * law.beta / law.alpha;
    if (!(left > 0))
        return {.token_factor = std::numeric_limits<double>::infinity(),
                .overhead = std::numeric_limits<double>::infinity()};
    double const token_factor = std::pow(left, -1 / law.beta);
    return {.token_factor = token_factor, .overhead = size_factor * token_factor - 1};
}

FlatRegion flat_region(ChinchillaLaw const& law, double flops, double share) {
    ScalingPoint const best = compute_optimum(law, flops);
    double const limit = best.loss * (1 + share);
    auto const above = [&](double log_factor) {
        double const factor = std::exp(log_factor);
        return loss_of(law, best.parameters * factor, best.tokens / factor) - limit;
    };
    double reach = 1;
    while (above(reach) < 0 || above(-reach) < 0)
        reach *= 2;
    double const up = std::exp(root_between(above, 0, reach));
    double const down = std::exp(-root_between([&](double x) { return above(-x); }, 0, reach));
    return {.parameters_low = best.parameters * down,
            .parameters_high = best.parameters * up,
            .tokens_low = best.tokens / up,
            .tokens_high = best.tokens / down};
}

}  // namespace sextant

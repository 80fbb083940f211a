#include "cost_models/scaling/inference_optimum.hpp"

#include "core/error.hpp"
#include "cost_models/scaling/root.hpp"

#include <cmath>

namespace sextant {

InferenceOptimum lifetime_cost(ScalingPoint const& point, ServingDemand const& demand) {
    InferenceOptimum out{.point = point};
    double const per_token = inference_flops_per_parameter_token * point.parameters;
    out.training_flops = training_flops_per_parameter_token * point.parameters * point.tokens;
    out.inference_flops = per_token * (demand.prefill_tokens + demand.decode_tokens);
    out.cost = demand.training_cost * out.training_flops +
               per_token * (demand.prefill_cost * demand.prefill_tokens + demand.decode_cost * demand.decode_tokens);
    return out;
}

InferenceOptimum inference_optimum(ChinchillaLaw const& law, double loss, ServingDemand const& demand,
                                   char const* where) {
    if (!(loss > law.E))
        throw InputError("{}: a loss of {} cannot be reached (the law's irreducible loss E is {})", where, loss, law.E);
    double const reducible = loss - law.E;
    double const use = inference_flops_per_parameter_token *
                       (demand.prefill_cost * demand.prefill_tokens + demand.decode_cost * demand.decode_tokens);
    double const train = training_flops_per_parameter_token * demand.training_cost;
    // v = 1 - u, the share that data leaves: near 0 for a huge demand, where 1 - u would lose its digits.
    auto const tokens_at = [&](double v) { return std::pow(law.B / (reducible * v), 1 / law.beta); };
    auto const slope = [&](double log_v) {
        double const v = std::exp(log_v);
        return train * tokens_at(v) * (1 - law.alpha / law.beta * (1 - v) / v) + use;
    };
    double const training_optimum = std::log(law.alpha / (law.alpha + law.beta));
    double lowest = training_optimum - 1;
    while (std::isfinite(slope(lowest)) && slope(lowest) > 0)
        lowest = 2 * lowest;
    if (!std::isfinite(slope(lowest)))
        throw InputError("{}: no model is small enough for so many tokens of use", where);
    double const v = std::exp(root_between(slope, lowest, training_optimum));
    double const parameters = std::pow(reducible * (1 - v) / law.A, -1 / law.alpha);
    return lifetime_cost({.parameters = parameters, .tokens = tokens_at(v), .loss = loss}, demand);
}

}  // namespace sextant

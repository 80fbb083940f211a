#include "cost_models/scaling/repeated_data.hpp"

#include "core/error.hpp"
#include "cost_models/scaling/published_laws.hpp"
#include "cost_models/scaling/root.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {

RepeatedDataLaw repeated_data_of(FittedLaw const& law, std::string const& where) {
    if (law.law != "data-constrained")
        throw InputError("{}: '{}' is a law of form '{}' (data-constrained is needed for repeated data)", where,
                         law.title, law.law);
    RepeatedDataLaw const out{
        .base = chinchilla_of(law, where), .token_decay = law.value("R_D"), .parameter_decay = law.value("R_N")};
    if (!(out.token_decay > 0 && out.parameter_decay > 0))
        throw InputError("{}: '{}' has R_D {} and R_N {} (both must be positive)", where, law.title, out.token_decay,
                         out.parameter_decay);
    return out;
}

double effective_amount(double amount, double unique, double decay) {
    if (amount <= unique) return amount;
    return unique * (1 - decay * std::expm1(-(amount / unique - 1) / decay));
}

double loss_of(RepeatedDataLaw const& law, double parameters, double tokens, double unique_tokens) {
    double const enough = optimal_parameters(law.base, std::min(unique_tokens, tokens));
    return loss_of(law.base, effective_amount(parameters, std::min(parameters, enough), law.parameter_decay),
                   effective_amount(tokens, unique_tokens, law.token_decay));
}

double tokens_for_loss(RepeatedDataLaw const& law, double parameters, double loss, double unique_tokens) {
    constexpr double never = std::numeric_limits<double>::infinity();
    constexpr double worth_nothing = 40;  // decays after which another repetition is lost in rounding: exp(-40)
    double const fewest = tokens_for_loss(law.base, parameters, loss);  // were all of them new
    double const most = std::max(fewest, unique_tokens * (1 + worth_nothing * law.token_decay));
    auto const below = [&](double log_tokens) {
        return loss - loss_of(law, parameters, std::exp(log_tokens), unique_tokens);
    };
    if (!std::isfinite(fewest) || !(below(std::log(most)) > 0)) return never;
    return std::exp(root_between(below, std::log(fewest), std::log(most)));
}

RepeatedPoint repeated_optimum(RepeatedDataLaw const& law, double flops, double unique_tokens) {
    ScalingPoint const free = compute_optimum(law.base, flops);
    double const product = flops / training_flops_per_parameter_token;
    auto const loss_at = [&](double log_parameters) {
        double const n = std::exp(log_parameters);
        return loss_of(law, n, product / n, unique_tokens);
    };
    // From a hundredth of the unconstrained size to one epoch of the data (or the unconstrained size, if larger):
    // coarse steps, then the lowest one between its neighbours.
    double const low = std::log(free.parameters / 100);
    double const high = std::log(std::max(free.parameters, product / unique_tokens)) + std::log(2.0);
    constexpr int steps = 400;
    int best = 0;
    double best_loss = loss_at(low);
    for (int i = 1; i <= steps; ++i)
        if (double const loss = loss_at(low + (high - low) * i / steps); loss < best_loss) {
            best_loss = loss;
            best = i;
        }
    double const step = (high - low) / steps;
    double const n = std::exp(minimum_between(loss_at, low + step * std::max(best - 1, 0), low + step * (best + 1)));
    double const d = product / n;
    return {.point = {.parameters = n, .tokens = d, .loss = loss_of(law, n, d, unique_tokens)},
            .epochs = std::max(d / unique_tokens, 1.0),
            .effective_tokens = effective_amount(d, unique_tokens, law.token_decay),
            .with_enough_data = free};
}

AllocationPenalty repeated_penalty(RepeatedDataLaw const& law, double parameters, double tokens, double unique_tokens) {
    double const flops = training_flops_per_parameter_token * parameters * tokens;
    AllocationPenalty out{
        .point = {.parameters = parameters, .tokens = tokens, .loss = loss_of(law, parameters, tokens, unique_tokens)},
        .optimum = repeated_optimum(law, flops, unique_tokens).point};
    out.loss = out.point.loss - out.optimum.loss;
    // The loss of the optimum falls with compute: the share at which it is that of the point.
    auto const excess = [&](double log_share) {
        return out.point.loss - repeated_optimum(law, flops * std::exp(log_share), unique_tokens).point.loss;
    };
    double low = -1;
    while (low > -64 && excess(low) > 0)
        low *= 2;
    for (double high = 0; high - low > 1e-9;) {
        double const middle = 0.5 * (low + high);
        (excess(middle) <= 0 ? low : high) = middle;
    }
    out.compute_needed = std::exp(low);
    return out;
}

}  // namespace sextant

#include "cost_models/scaling/expert_laws.hpp"

#include <cmath>

namespace sextant {

double effective_experts(double experts, double start, double most) {
    return 1 / (1 / (experts - 1 + 1 / (1 / start - 1 / most)) + 1 / most);
}

double effective_dense_parameters(FittedLaw const& law, double parameters, double experts) {
    double const start = law.value("E_start");
    double const e = effective_experts(experts, start, law.value("E_max"));
    auto const slope = [&](double x) { return law.value("a") + law.value("c") * std::log10(x); };
    return std::pow(parameters, slope(e) / slope(start)) * std::pow(e / start, law.value("b") / slope(start));
}

ChinchillaLaw at_granularity(FittedLaw const& law, double granularity) {
    return {.A = law.value("g") * std::pow(granularity, -law.value("gamma")) + law.value("a"),
            .B = law.value("b"),
            .E = law.value("c"),
            .alpha = law.value("alpha"),
            .beta = law.value("beta")};
}

ChinchillaLaw at_experts(FittedLaw const& law, double experts) {
    double const e = effective_experts(experts, law.value("E_start"), law.value("E_max"));
    return {.A = law.value("a") * std::pow(e, law.value("delta")),
            .B = law.value("b") * std::pow(e, law.value("omega")),
            .E = law.value("c"),
            .alpha = -(law.value("alpha") + law.value("gamma") * std::log(e)),
            .beta = -(law.value("beta") + law.value("zeta") * std::log(e))};
}

}  // namespace sextant

#include "cost_models/scaling/law_interval.hpp"

#include "core/quantile.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

std::optional<LawInterval> interval_of(std::vector<double> values) {
    constexpr std::size_t fewest = 40;
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    if (values.size() < fewest) return std::nullopt;
    std::sort(values.begin(), values.end());
    return LawInterval{.low95 = quantile(values, 0.025),
                       .low80 = quantile(values, 0.1),
                       .median = quantile(values, 0.5),
                       .high80 = quantile(values, 0.9),
                       .high95 = quantile(values, 0.975)};
}

std::vector<Extrapolation> extrapolations(FittedLaw const& law, double flops, double parameters, double tokens) {
    std::vector<Extrapolation> out;
    auto const check = [&](char const* input, double value) {
        auto const range = law.ranges.find(input);
        if (value <= 0 || range == law.ranges.end()) return;
        auto const [low, high] = range->second;
        if (value > high) out.push_back({.input = input, .value = value, .factor = value / high, .above = true});
        if (value < low) out.push_back({.input = input, .value = value, .factor = low / value, .above = false});
    };
    check("flops", flops);
    check("parameters", parameters);
    check("tokens", tokens);
    return out;
}

}  // namespace sextant

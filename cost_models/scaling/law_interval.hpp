#pragma once

#include "cost_models/scaling/fitted_law.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Percentiles of an answer over the bootstrap resamples of a law. They hold for the law's parameters given its form
/// and its data: another form or other data can lie outside.
struct LawInterval {
    double low95 = 0;  ///< 2.5 %
    double low80 = 0;  ///< 10 %
    double median = 0;
    double high80 = 0;  ///< 90 %
    double high95 = 0;  ///< 97.5 %
};

/// Nothing when fewer than 40 values are finite: the tails would be a single value.
std::optional<LawInterval> interval_of(std::vector<double> values);

/// A value against what the law was fitted to.
struct Extrapolation {
    std::string input;  ///< "flops", "parameters", "tokens"
    double value = 0;
    double factor = 1;  ///< how many times above the largest (or below the smallest) that was seen
    bool above = true;
};

/// Inputs outside the ranges of the law; 0 means "not asked".
std::vector<Extrapolation> extrapolations(FittedLaw const& law, double flops, double parameters, double tokens);

/// Beyond this factor an answer is a guess. Source: assumed, the usual two decades of published fits.
inline constexpr double far_extrapolation = 100;

}  // namespace sextant

#pragma once

#include "core/spec/kernel_calibration.hpp"

#include <vector>

namespace sextant {

/// A row that was predicted by a fit which did not see it.
struct UnseenRow {
    double seconds;    ///< predicted
    double log_ratio;  ///< measured / predicted
};

/// 80 % of log(measured / predicted) times `widen`, as factors on a prediction; at least 0.5 % either way.
TimeInterval residual_interval(std::vector<double> const& log_measured_to_predicted, double widen);

/// The same in bands of predicted time, each with enough rows to say something.
std::vector<KernelInterval> interval_bands(std::vector<UnseenRow> const& rows);

/// Bands of times from `shortest` to `longest`; before and from then on `outside`.
std::vector<KernelInterval> bands_within(std::vector<KernelInterval> const& bands, double shortest, double longest,
                                         TimeInterval outside);

/// What log(measured / predicted) of rows that a fit did not see says of its errors.
HeldOutError error_of(std::vector<double> const& log_measured_to_predicted);

/// Bands of both, in each the interval that holds both.
std::vector<KernelInterval> hull_of(std::vector<KernelInterval> const& a, std::vector<KernelInterval> const& b);
TimeInterval hull_of(TimeInterval a, TimeInterval b);

/// An interval of factors, wider by those of another.
inline TimeInterval product_of(TimeInterval a, TimeInterval b) {
    return {.low = a.low * b.low, .high = a.high * b.high};
}

}  // namespace sextant

#pragma once

#include "core/spec/kernel_calibration.hpp"

#include <cstddef>
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
std::vector<KernelInterval> interval_bands(std::vector<UnseenRow> const& rows, double widen = 1);

/// What rows that no fit saw say of so few, and no narrower than 20 % over the root of how many more rows there are
/// than constants (assumed): what is left of rows that as many constants can meet says nothing.
TimeInterval interval_of_few(std::vector<UnseenRow> const& unseen, std::size_t rows, KernelKind kind);

/// Constants and lengths of the field have seen the rows that the folds leave out: of few rows these are met better
/// than others are, as residuals are by the root of the share of rows that is free.
double widened_for_constants(std::size_t rows, KernelKind kind);

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

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// What a fit makes small: the sum over rows of rho(residual), never the mean (a mean falls under a solver's
/// tolerance).
enum class ObjectiveKind : std::uint8_t {
    huber,          ///< of ln(predicted) - ln(measured): r^2/2 up to delta, then delta (|r| - delta/2)
    lad,            ///< |r| of the logarithms: least absolute deviations
    least_squares,  ///< r^2/2 of the logarithms
    raw_squares,    ///< r^2/2 of predicted - measured
    asymmetric,     ///< Huber, predictions above the measurement counted `penalty` times: a lower envelope
};

struct FitObjective {
    ObjectiveKind kind = ObjectiveKind::huber;
    double delta = 1e-3;  ///< Huber's and the asymmetric one's
    double penalty = 10;  ///< the asymmetric one's

    [[nodiscard]] bool of_logarithms() const { return kind != ObjectiveKind::raw_squares; }
    [[nodiscard]] double rho(double residual) const;
    /// Derivative of rho; that of |r| is its sign.
    [[nodiscard]] double slope(double residual) const;
    /// Slope over residual: the weight that makes least squares of it (bounded at a residual of zero).
    [[nodiscard]] double weight(double residual) const;
};

/// "huber:0.001", "lad", "lsq-log", "lsq-raw", "asymmetric:10:0.001"
std::string name_of(FitObjective const& objective);

/// Reads "huber[:DELTA]", "lad", "lsq-log", "lsq-raw" or "asymmetric[:PENALTY[:DELTA]]".
/// @throws InputError: another name, a number that is not positive.
FitObjective fit_objective_from(std::string_view text, std::string_view where);

}  // namespace sextant

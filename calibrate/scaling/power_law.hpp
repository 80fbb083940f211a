#pragma once

#include <span>

namespace sextant {

/// y = coefficient x^exponent.
struct PowerLaw {
    double coefficient = 0;
    double exponent = 0;
    double r2 = 0;              ///< share of the (weighted) variance of ln y that it explains
    double standard_error = 0;  ///< of the exponent; zero with two points
    [[nodiscard]] double operator()(double x) const;
};

/// Weighted least squares of ln y on ln x. @param weights of the rows, empty: 1 each. @pre x and y positive, of one
/// length. @throws InputError: fewer than two different x. @param where names the rows in the message.
PowerLaw fit_power_law(std::span<double const> x, std::span<double const> y, std::span<double const> weights,
                       char const* where);

}  // namespace sextant

#include "calibrate/scaling/power_law.hpp"

#include "core/error.hpp"

#include <cmath>
#include <cstddef>

namespace sextant {

double PowerLaw::operator()(double x) const { return coefficient * std::pow(x, exponent); }

PowerLaw fit_power_law(std::span<double const> x, std::span<double const> y, std::span<double const> weights,
                       char const* where) {
    double sum = 0;
    double mean_x = 0;
    double mean_y = 0;
    auto const weight = [&](std::size_t i) { return weights.empty() ? 1 : weights[i]; };
    for (std::size_t i = 0; i < x.size(); ++i) {
        sum += weight(i);
        mean_x += weight(i) * std::log(x[i]);
        mean_y += weight(i) * std::log(y[i]);
    }
    mean_x /= sum;
    mean_y /= sum;
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const dx = std::log(x[i]) - mean_x;
        double const dy = std::log(y[i]) - mean_y;
        xx += weight(i) * dx * dx;
        xy += weight(i) * dx * dy;
        yy += weight(i) * dy * dy;
    }
    if (x.size() < 2 || !(xx > 1e-18 * sum)) throw InputError("{}: a power law needs two different points", where);
    PowerLaw law{.coefficient = std::exp(mean_y - xy / xx * mean_x), .exponent = xy / xx};
    law.r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
    if (x.size() > 2)
        law.standard_error = std::sqrt(std::fmax(0, yy - xy * xy / xx) / static_cast<double>(x.size() - 2) / xx);
    return law;
}

}  // namespace sextant

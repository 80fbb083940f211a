#include "cli/view/percent_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant::cli {
namespace {

/// In percent, without the sign of a negative zero where the digits that are shown are all zero.
double shown(double share, int digits) {
    double const value = 100 * share;
    return std::abs(value) < 0.5 * std::pow(10.0, -digits) ? 0.0 : value;
}

}  // namespace

std::string percent(double share, int digits) { return fmt::format("{:.{}f} %", shown(share, digits), digits); }

std::string signed_percent(double change, int digits) {
    return fmt::format("{:+.{}f} %", shown(change, digits), digits);
}

}  // namespace sextant::cli

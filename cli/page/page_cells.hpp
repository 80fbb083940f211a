#pragma once

#include "cli/page/page.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace sextant::cli {

/// A number as `digits` ("{:.3g}") shows it; "-" where it is not finite.
inline PageCell number_cell(fmt::string_view digits, double value) {
    if (!std::isfinite(value)) return {"-"};
    return {fmt::format(fmt::runtime(digits), value), value};
}

inline PageCell count_cell(std::int64_t value) { return {fmt::format("{}", value), static_cast<double>(value)}; }

}  // namespace sextant::cli

#pragma once

#include "cli/scaling/optimum.hpp"

#include <string>

namespace sextant::cli {

/// Tokens over parameters, both logarithmic, as a stand-alone SVG: lines of equal loss by the first law, a line of
/// equal compute per budget, the optimum of each law along and at the budgets, bars over the 95 % interval of N, and
/// the rule of thumb.
std::string optimum_svg(OptimumReport const& report);

}  // namespace sextant::cli

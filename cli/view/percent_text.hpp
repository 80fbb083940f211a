#pragma once

#include <string>

namespace sextant::cli {

/// A share as percent: "53.1 %". What rounds to nothing has no sign.
std::string percent(double share, int digits = 1);

/// A change as percent: "+2.4 %", "-0.3 %". What rounds to nothing is "+0.0 %".
std::string signed_percent(double change, int digits = 1);

}  // namespace sextant::cli

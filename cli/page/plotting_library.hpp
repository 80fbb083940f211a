#pragma once

#include <string_view>

namespace sextant::cli {

/// Plotly's JavaScript with its licence, as it was compiled into the program; empty when the build did not find it.
std::string_view plotting_library();

/// @throws UnavailableError, with the command that fixes it, when the build did not find the library.
void require_plotting_library();

}  // namespace sextant::cli

#pragma once

#include <string>
#include <string_view>

namespace sextant::cli {

/// A text as it has to stand in an SVG file; control characters become spaces.
std::string xml(std::string_view text);

}  // namespace sextant::cli

#pragma once

#include "core/spec/hardware_profile.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace sextant::cli {

/// Rows of a fit by the device that they name, where that is not the one whose constants are fitted.
using NamedOtherwise = std::map<std::string, std::size_t>;

/// Counts a row whose device goes by no name or alias of this one, however it is written. A row may name none.
void count_named_otherwise(NamedOtherwise& counts, std::string const& named, AcceleratorProfile const& device);

/// A line for each name, and one more where rows of several devices are fitted as one; empty where there are none.
/// @param why the rows are taken: "as --device says"
std::string named_otherwise_text(NamedOtherwise const& counts, std::string const& device, std::string_view why);

}  // namespace sextant::cli

#pragma once

#include "cli/sweep/question.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// Whose value an axis is that is no option: of the cluster, the framework, the engine or the model that `arguments`
/// name. "framework.kernel_gap" says whose.
/// @throws InputError: nobody's (with the nearest names), or that of two.
AxisTarget profile_target(std::string const& name, CommandOptions const& options,
                          std::vector<std::string> const& arguments);

/// Puts ":key=value" behind every name that the target's option has in `arguments`, or gives it with its usual value.
void put_change(std::vector<std::string>& arguments, AxisTarget const& target, std::string const& value);

}  // namespace sextant::cli

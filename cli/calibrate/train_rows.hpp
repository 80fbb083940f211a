#pragma once

#include "calibrate/framework_fit.hpp"
#include "cli/command.hpp"
#include "core/spec/framework_profile.hpp"

#include <map>
#include <string>
#include <vector>

namespace sextant::cli {

/// Measured steps of one framework, and the profile that it ships with.
struct Family {
    FrameworkProfile start;
    std::vector<StepMeasurement> rows;
};

/// Measured steps of the tables whose time is scored, by framework, of `framework` alone unless that is empty; of large
/// sources every n-th one. How many were left out for which reason is said on standard error. @throws InputError when
/// none is left.
std::map<std::string, Family> read_families(std::vector<std::string> const& files, std::string const& framework,
                                            CommandContext& context);

}  // namespace sextant::cli

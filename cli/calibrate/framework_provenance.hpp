#pragma once

#include "calibrate/framework_fit.hpp"

#include <set>
#include <string>
#include <vector>

namespace sextant::cli {

/// Sources of rows that a profile's constants say they were fitted to.
std::set<std::string> sources_of(FrameworkProfile const& profile);

/// @throws InputError for a source that a profile could not name so that `sources_of` finds it again.
void require_readable_sources(std::vector<StepMeasurement> const& rows);

/// Adds the steps behind the profile that a fit began with. @param seen its sources: rows of these are among its steps
void add_steps(FrameworkProfile& profile, FrameworkProfile const& known,
               std::vector<StepMeasurement const*> const& rows, std::set<std::string> const& seen);

/// Notes where the constants of a fit come from; `known`: the profile that it began with, if any.
void add_provenance(FrameworkProfile& profile, FrameworkFit const& fit, FrameworkProfile const* known);

}  // namespace sextant::cli

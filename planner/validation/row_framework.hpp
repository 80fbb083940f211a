#pragma once

#include "planner/validation/training_case.hpp"
#include "planner/validation/training_row.hpp"

#include <string_view>

namespace sextant {

/// Whose constants a framework has.
struct FrameworkFamily {
    std::string_view word;    ///< in the letters and digits of the framework cell; empty: none that is known
    std::string_view family;  ///< of `hardware_profiles/frameworks`
    Kinship kinship = Kinship::same;
};

/// Of frameworks that are like none of those with constants of their own.
inline constexpr std::string_view fallback_family = "generic";

/// By the row's framework.
FrameworkFamily family_of(TrainingRow const& row);

}  // namespace sextant

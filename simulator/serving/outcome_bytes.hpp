#pragma once

#include "simulator/serving/serving_outcome.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace sextant {

/// All of an outcome, for another process of the same program.
std::vector<std::byte> bytes_of(ServingOutcome const& outcome);
/// @pre the bytes are those of `bytes_of`.
ServingOutcome outcome_from(std::span<std::byte const> bytes);

}  // namespace sextant

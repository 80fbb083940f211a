#pragma once

#include "planner/validation/serving_row.hpp"

namespace sextant {

/// @throws RowSkip for what no serving model here has, as the notes or the name of the engine say it: tokens that a
/// draft proposes, prompts and decodes on devices of their own, no cache, figures that the source itself doubts. What
/// is denied ("no MTP", "speculative decoding off") is an ordinary run.
void refuse_unmodelled(ServingRow const& row);

}  // namespace sextant

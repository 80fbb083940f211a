#pragma once

#include "cost_models/scaling/scaling_answer.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// "44.5 x" for an answer whose inputs lie outside what its law was fitted to, "no", or "unknown" where it does not
/// say.
std::string outside_text(ScalingAnswer const& answer);

/// What a reader of these answers must know: warnings of the laws, guesses far outside their data, rules of counting N
/// that differ.
std::vector<std::string> remarks_of(std::vector<ScalingAnswer const*> const& answers);

/// The same as wrapped paragraphs.
std::string remarks_text(std::vector<ScalingAnswer const*> const& answers);

}  // namespace sextant::cli

#pragma once

#include "cost_models/scaling/published_laws.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// The laws of `--law A,B --law C`, or those of the list `usual` when none was given.
/// @throws InputError: an unknown name, an empty entry, or a file that is no law.
std::vector<PublishedLaw> laws_from(std::vector<std::string> const& given, char const* usual);

}  // namespace sextant::cli

#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sextant {

/// The value of this key as text, whatever its type; empty where the object has none, or it is no object.
std::string text_in(nlohmann::json const& object, char const* key);

}  // namespace sextant

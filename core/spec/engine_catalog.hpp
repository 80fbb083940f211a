#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/engine_profile.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

// Names are compared without case and punctuation ("TensorRT-LLM" is "tensorrtllm"), by name first, then by alias.

/// The engine of this name or alias, or the file when `name` ends in ".json"; changes may stand behind it
/// ("vllm:memory_utilisation=0.8", core/spec/profile_change.hpp).
/// @throws InputError with the nearest name and all of them, or what is wrong with the file.
EngineProfile find_engine(std::string_view name, std::string_view where);
/// @throws InputError: the engine's profile stands for devices of another vendor. One that is not said may be any.
void check_engine_vendor(EngineProfile const& engine, std::string_view vendor, std::string_view where);

/// The entry of this name or alias, or null.
EngineProfile const* known_engine(std::string_view name);

/// Everything the program carries, in the order of hardware_profiles/catalog.cmake. Read once, then kept.
std::vector<EngineProfile> const& all_engines();
std::vector<std::string> engine_names();

/// Reads format `engine-profile`, version 1. @throws InputError: an unknown or missing key, a wrong unit, a value out
/// of range.
EngineProfile read_engine(ObjectReader in);

/// The text that `read_engine` reads back with equal values (to the digits written).
std::string engine_json(EngineProfile const& engine);

}  // namespace sextant

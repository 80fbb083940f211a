#pragma once

#include "core/spec/model_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Reads a Hugging Face `config.json`, unmodified, into a ModelSpec called `name`.
///
/// Unknown keys are allowed (it is a foreign format); a key that is read has to have the right type and a sane value.
/// Absent keys take the default of the architecture's Hugging Face class, except the sizes without which there is no
/// model. A multimodal Gemma 3 config gives its text model.
/// @throws InputError naming `name` and the key: not JSON, unknown `model_type` (listing the known ones), missing or
/// absurd sizes, heads that do not divide, more than 1e16 parameters.
ModelSpec read_hf_config(std::string_view text, std::string name);

/// Every `model_type` that `read_hf_config` knows, in alphabetical order.
std::vector<std::string> known_architectures();

}  // namespace sextant

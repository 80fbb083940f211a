#pragma once

#include <string>
#include <string_view>

namespace sextant::hf {

/// A config in which GPT-Neo's `attention_types`, lists of kinds and how often each list is repeated
/// ([[["global", "local"], 12]]), stand written out as `attention_layers`, one kind for each layer. A config without
/// the one, or with the other, is left as it is.
/// @throws InputError naming `where`: no such lists, or of more layers than are read.
/// Source: transformers, models/gpt_neo/configuration_gpt_neo.py.
std::string with_attention_layers(std::string_view config, std::string_view where);

}  // namespace sextant::hf

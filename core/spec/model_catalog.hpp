#pragma once

#include "core/spec/checkpoint_format.hpp"
#include "core/spec/model_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Names of the presets (`models/<name>.json`), in alphabetical order with sizes by value (`gemma-3-4b` before
/// `gemma-3-12b`, `bloom-560m` before `bloom-3b`).
std::vector<std::string> model_names();

/// A preset by name, in any spelling that `preset_called` knows (`meta-llama/Llama-3.1-8B-Instruct`), or a Hugging Face
/// config by path: a file that ends in `.json`, any path with a slash, or a folder with a `config.json`. What is there
/// on disk goes before a spelling, a preset's very name before both. A spec read from a path is named after its folder,
/// or after the file if that is not called `config.json`. Changes may stand behind it:
/// `llama-3.1-70b:num_hidden_layers=40` (core/spec/profile_change.hpp).
/// @throws InputError: unknown name (with the nearest ones), unreadable or unusable file.
ModelSpec find_model(std::string_view name_or_path);

/// A model and how its checkpoint is stored.
struct StoredModel {
    ModelSpec model;
    CheckpointFormat checkpoint;
};

/// Both from one reading of the config; where a preset was called by a name that says another format ("...-AWQ"), the
/// checkpoint is of that (core/spec/named_format.hpp). @throws InputError as `find_model`.
StoredModel find_stored_model(std::string_view name_or_path);

/// The config that a name or a path stands for, as text. @throws InputError as `find_model`.
std::string model_config(std::string_view name_or_path);

}  // namespace sextant

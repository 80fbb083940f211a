#pragma once

#include "core/spec/model_spec.hpp"

#include <optional>
#include <string>

namespace sextant {

/// The model that a serving table calls by this name: a preset under its own name, a Hugging Face id
/// ("meta-llama/Llama-2-7b-hf"), or a spelling of the papers ("LLaMA v2 70B", "llama_13b"), of which tuned and
/// quantised variants count as the model itself. Some that are no presets are built from one with other sizes, by the
/// config.json of their authors. Nothing for others.
std::optional<ModelSpec> serving_model(std::string const& name);

/// The number format that a model's name says its weights have ("...-FP8"), or that the checkpoint of the preset of
/// that name is published in, as a format of `gemm_formats`; empty: none.
std::string format_in_name(std::string const& model);

/// Whether the checkpoint of that name, or of its preset, is in MXFP4.
bool is_mxfp4(std::string const& model);

}  // namespace sextant

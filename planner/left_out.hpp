#pragma once

#include "core/spec/model_spec.hpp"

#include <string>

namespace sextant {

/// The model's name as the first line of a report has it: "gemma-3-27b (encoders left out)" of a multimodal model,
/// whose language model alone is counted.
std::string named(ModelSpec const& model);

/// For assumptions: "gemma-3-27b without its encoders of pictures and sound; ..."; empty where nothing is left out.
std::string left_out_remark(ModelSpec const& model);

}  // namespace sextant

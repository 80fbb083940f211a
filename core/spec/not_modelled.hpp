#pragma once

#include <string_view>

namespace sextant {

/// Why a model, named as people and tables do or by its `model_type`, is not in the catalog and cannot be: what of its
/// architecture is not modelled, or that its sizes are not published, with what to do instead. Empty for names that it
/// does not know.
std::string_view why_not_modelled(std::string_view name);

/// Whether configs of an architecture (`ModelSpec::architecture`) describe encoders beside the language model.
bool is_multimodal(std::string_view architecture);

/// What of a model that is read is left out, by its architecture: of multimodal ones the encoders, of some the modules
/// that predict further tokens. Empty where all of it is modelled.
std::string_view left_out_of(std::string_view architecture);

}  // namespace sextant

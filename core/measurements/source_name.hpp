#pragma once

#include <string>
#include <string_view>

namespace sextant {

/// Whether a reference says that AIConfigurator's collectors measured.
bool is_aiconfigurator(std::string_view reference);

/// What a calibration's `sources` and the rows of its source have in common: the whole reference, of AIConfigurator's
/// tables their repository (and the engine, where that is not TensorRT-LLM, whose tables the shipped fits have seen),
/// however they were brought here, and of sextant-bench its name, whatever its backend.
std::string source_name(std::string_view reference);

}  // namespace sextant

#pragma once

#include <string>
#include <string_view>

namespace sextant {

/// The text of a Hugging Face config with what the `hf_quant_config.json` beside it says as its `quantization_config`,
/// as ModelOpt's own exporter puts it there: `quant_method` modelopt, the keys of `quantization`, and its
/// `exclude_modules` as `ignore`. A config that has a `quantization_config` stays as it is, as engines do.
/// @throws InputError naming `where`, the path of that file: no JSON object, or one without `quantization`.
/// Source: modelopt/torch/export/convert_hf_config.py; vLLM's get_quant_config, which reads the file only then.
std::string with_quantisation(std::string_view config, std::string_view quantisation, std::string_view where);

}  // namespace sextant

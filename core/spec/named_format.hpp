#pragma once

#include "core/spec/checkpoint_format.hpp"

#include <optional>
#include <string_view>

namespace sextant {

/// How the checkpoint of a model is stored, as its name on the Hub says ("Qwen/Qwen3-32B-AWQ", "...-GPTQ-Int8",
/// "nvidia/DeepSeek-R1-0528-FP4", "...-quantized.w8a8"); nothing where the name says no format. A name in "-BF16" or
/// "-FP16" is one that is not quantised. What one word leaves open is the usual: four bits of GPTQ, AWQ and
/// bitsandbytes, one scale per tensor or channel of fp8. What is left in two bytes is known of a few names: NVIDIA's
/// first checkpoints of DeepSeek in NVFP4 and Kimi-K2-Thinking (routed experts alone are narrow), and of GPTQ, AWQ,
/// bitsandbytes, llm-compressor's and Qwen3's in fp8 (every layer is).
/// Source: `exclude_modules`, `ignore` and `modules_to_not_convert` of these checkpoints' configs.
std::optional<CheckpointFormat> format_named(std::string_view name);

/// `preset` of the checkpoint called `name`: that of its preset, unless the name says another format. A name that says
/// fp8 leaves the scales to the preset ("DeepSeek-V3-FP8" has them in blocks).
CheckpointFormat checkpoint_called(std::string_view name, CheckpointFormat preset);

}  // namespace sextant

#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace sextant {

/// The layers that "([0]*3+[1]*1)*2" or "[1,0,1]" marks: Megatron-LM's list expressions of --moe-layer-freq and
/// --window-attn-skip-freq. Nothing where it is none, or has more than 65536 layers.
/// Source: `_eval_pattern` of megatron/training/arguments.py.
std::optional<std::vector<bool>> layer_pattern(std::string_view text);

}  // namespace sextant

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// The preset that a model's name means, as Hugging Face ids and tables of measurements write it
/// ("meta-llama/Meta-Llama-3-8B-Instruct", "LLaMA v2 70B", "nvidia/DeepSeek-R1-0528-FP4"). Letter case, punctuation,
/// the owner, and words for tuning, packaging and number formats do not count; dates, versions and lengths of context
/// only where the name means nothing with them. A family's other name (Vicuna for Llama 2) counts where every size is
/// the same. Nothing for a name that no preset has: a similar model is not a guess.
std::optional<std::string> preset_called(std::string_view name);

}  // namespace sextant

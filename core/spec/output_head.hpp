#pragma once

#include "core/spec/model_spec.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// An output head, and how many labels it gives each token.
struct HeadChoice {
    OutputHead head = OutputHead::vocabulary;
    std::int64_t labels = 0;
    bool pooled = true;  ///< of a whole sequence: behind the pooler of a model that has one
};

/// "vocabulary", "scalar" (one label: reward and critic models), "none" (embedding models), or a number of labels.
/// @throws InputError
HeadChoice head_choice_from(std::string_view text, std::string_view where);

/// The key of a config under which it stands.
inline constexpr std::string_view output_head_key = "output_head";

/// `model` with this head in place of its own. Without logits over a vocabulary the embedding is tied to nothing, and
/// prediction modules, which share the output matrix, are left out. Logits are not pooled.
ModelSpec with_head(ModelSpec model, HeadChoice const& choice);

/// As a critic or reward model has it: one number of each token, unless it has labels already.
ModelSpec with_labels(ModelSpec model);

/// "vocabulary", "scalar", "5 labels" or "none".
std::string head_text(ModelSpec const& model);

}  // namespace sextant

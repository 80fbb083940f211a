#pragma once

#include "core/spec/model_spec.hpp"
#include "planner/exporters/exporter.hpp"

namespace sextant {

/// The architecture in Megatron-LM's arguments, as far as a ModelSpec knows it; what it does not (rotary base, epsilon
/// of the norms, activation within the gate, router details) is named in a comment.
/// @return what Megatron-LM has no argument for, a sentence each.
std::vector<std::string> add_megatron_model(ArgumentLines& lines, ModelSpec const& model);

/// "E|t*4|t*3L": Megatron-LM's pipeline layout for layers of each chunk in model order. E: embedding, t: layer, m:
/// multi-token prediction, L: loss. Source: megatron/core/transformer/pipeline_parallel_layer_layout.py.
std::string megatron_layout(std::vector<std::int64_t> const& chunks, std::int64_t mtp_modules);

}  // namespace sextant

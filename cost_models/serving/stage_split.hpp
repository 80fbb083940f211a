#pragma once

#include "cost_models/serving/serving_case.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Layers of each pipeline stage, whole ones, as the engine splits them (`LongerStages`): they differ by one at most.
///
/// 61 layers over 4 stages: 15 15 16 15 (vLLM), 15 15 15 16 (SGLang), 16 15 15 15 (TensorRT-LLM).
///
/// Source: `get_pp_indices` of vLLM 0.11 and SGLang 0.5.6 (up to 0.5.5 its last stage took all that were left),
/// `Mapping.pp_layers` of TensorRT-LLM 1.1.
/// @pre 1 <= pp <= layers.
std::vector<std::int64_t> stage_layers(std::int64_t layers, std::int64_t pp, LongerStages longer);
std::vector<std::int64_t> stage_layers(ServingCase const& what);

/// Share of the layers that the stage with the most of them has: 1 / pp where these are equal.
double fullest_stage_share(ServingCase const& what);

}  // namespace sextant

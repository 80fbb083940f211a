#pragma once

#include "planner/exporters/exporter.hpp"

#include <string>

namespace sextant {

/// Takes out of the adapters what NeMo's recipes cannot say, and notes it: packed base weights, and fused layers beside
/// their parts; what they mean by more than here, feed-forward targets on routed experts.
void translate_adapters_for_nemo(Translation& t, ModelSpec const& model);

/// `run.Config(LoRA, ...)` for adapters on Megatron-Core's fused layers, `run.Config(CanonicalLoRA, ...)` for those on
/// their parts. alpha is twice the rank, as usual; nothing of a prediction depends on it.
std::string nemo_adapters(LowRankAdapters const& adapters);
/// The line that imports its class.
std::string nemo_adapters_import(LowRankAdapters const& adapters);

}  // namespace sextant

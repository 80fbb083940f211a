#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sextant {

struct EngineProfile;
struct ModelSpec;
struct ServingPlan;

/// Why engines do not start with this model cut so, beginning with the option; nothing where they do.
///
/// tp divides the heads, feed-forwards and shared experts, and key/value heads or these it; experts are divided over
/// all ranks of a stage, or each is cut over them evenly. Source: vLLM 0.11 models/llama.py, fused_moe/layer.py; SGLang
/// 0.5.5 likewise.
std::optional<std::string> split_fault(ModelSpec const& model, ServingPlan const& plan);

/// The same of what this engine cannot express, whatever the model.
std::optional<std::string> split_fault(EngineProfile const& engine, ServingPlan const& plan);

/// Ranks that each expert is cut over: all of a stage, whatever their attention group, or none where experts are
/// divided over these. Source: vLLM FusedMoEParallelConfig, SGLang initialize_model_parallel, TensorRT-LLM Mapping.
std::int64_t expert_ranks(ServingPlan const& plan);

}  // namespace sextant

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

/// What vLLM and SGLang, as released, do not load of such a plan: weights in "fp8-block" whose blocks of 128 ranks cut.
/// Builds that pad them were measured, so it is no fault. Source: `create_weights` of Fp8MoEMethod in vLLM's
/// quantization/fp8.py (issue 54178, August 2026), SGLang's fp8.py (issue 23265).
std::optional<std::string> cut_blocks(EngineProfile const& engine, ModelSpec const& model, ServingPlan const& plan);

/// Ranks that each expert is cut over: all of a stage, whatever their attention group, or none where experts are
/// divided over these. Source: vLLM FusedMoEParallelConfig, SGLang initialize_model_parallel, TensorRT-LLM Mapping.
std::int64_t expert_ranks(ServingPlan const& plan);

}  // namespace sextant

#pragma once

#include "cost_models/serving/serving_case.hpp"

#include <string_view>

namespace sextant {

/// Whether the engine's attention is by the kernels that were measured, TensorRT-LLM's: those of other engines split
/// the keys of a sequence wherever its heads alone do not fill the device, in a narrow cache, too.
bool runs_measured_attention(ServingCase const& what);

/// The variant of `estimate_prefill` that attention over prompts is: products in fp8 ("bf16/fp8") where the cache is in
/// fp8, the device an NVIDIA one, and the engine rounds the queries to the cache's format; else 16 bits ("bf16/bf16"),
/// to which engines widen any other cache.
///
/// TensorRT-LLM: wherever the device has fp8. vLLM and SGLang: on Hopper (FlashAttention-3) and the Blackwells of data
/// centres (TensorRT-LLM's kernels, by FlashInfer); not latent attention, and elsewhere FlashInfer's kernels, which
/// widen. vLLM before 0.8 and LMDeploy (which has int8 and int4 caches alone): never.
/// Source: TensorRT-LLM cpp/tensorrt_llm/thop/attentionOp.cpp (mFP8ContextFMHA); vLLM v1/attention/backends
/// flash_attn.py, flashinfer.py (q_data_type), triton_attn.py ("Skip Q quantization on ROCm"); SGLang
/// layers/attention/flashattention_backend.py, trtllm_mha_backend.py; LMDeploy TurboMind, quant_policy.
std::string_view prompt_variant(ServingCase const& what);

}  // namespace sextant

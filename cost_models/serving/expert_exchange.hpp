#pragma once

#include "cost_models/serving/serving_case.hpp"

namespace sextant {

/// Whether routed tokens are sent to the ranks of their experts. Without attention data parallelism every rank has all
/// of them, and what the experts of each make is summed over the ranks, as where each expert is cut; unless who asks
/// names how they are sent.
/// Source: vLLM 0.11 FusedMoEParallelConfig (use_all2all_kernels: dp_size > 1 and use_ep), SGLang 0.5.5 without
/// --enable-dp-attention, TensorRT-LLM fused_moe_cutlass.py.
bool sends_to_experts(ServingPlan const& plan);

/// How routed tokens get to their experts and back: as the plan says; else once per domain (DeepEP) where experts are
/// divided over several domains, the network between these lets devices start transfers, and the engine ships that
/// (vLLM, SGLang, TensorRT-LLM, LMDeploy), and once per expert in any other case.
/// @pre tokens are sent (`sends_to_experts`).
Dispatcher dispatcher_of(ServingCase const& what);

/// Bytes of a value on its way to an expert: two, and, of weights in fp8 that are sent once per domain, one and a share
/// of a scale of four bytes for 128 (DeepEP's fp8 dispatch). The way back has two.
double dispatched_bytes_per_value(ServingCase const& what);

}  // namespace sextant

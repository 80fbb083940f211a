#pragma once

#include "cost_models/serving/serving_case.hpp"

namespace sextant {

/// How routed tokens get to their experts and back: as the plan says; else once per domain (DeepEP) where experts are
/// divided over several domains, the network between these lets devices start transfers, and the engine ships that
/// (vLLM, SGLang, TensorRT-LLM, LMDeploy), and once per expert in any other case.
/// @pre the plan divides experts over ranks.
Dispatcher dispatcher_of(ServingCase const& what);

/// Bytes of a value on its way to an expert: two, and, of weights in fp8 that are sent once per domain, one and a share
/// of a scale of four bytes for 128 (DeepEP's fp8 dispatch). The way back has two.
double dispatched_bytes_per_value(ServingCase const& what);

}  // namespace sextant

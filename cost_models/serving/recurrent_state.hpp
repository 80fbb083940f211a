#pragma once

#include "cost_models/serving/serving_case.hpp"

#include <cstdint>

namespace sextant {

/// Bytes of a value of the states that an engine keeps of recurrent layers: 4, and 2 under vLLM and TensorRT-LLM for
/// models whose config names no type of it. Source: vLLM, mamba_utils.py (`mamba_ssm_cache_dtype` "auto" is the model's
/// type) and models/config.py, which takes fp32 from the configs of Nemotron-H and Qwen3.5; TensorRT-LLM,
/// pyexecutor/config_utils.py (`resolve_mamba_ssm_cache_dtype`); SGLang, configs/mamba_utils.py (float32).
double state_value_bytes(ServingCase const& what);

/// Of all recurrent layers of one sequence, on all ranks of tensor parallelism: states and the last tokens that the
/// convolution reaches back to, in two bytes.
Bytes sequence_state(ServingCase const& what);

/// What a decode step of so many sequences moves of their states in one layer on one rank: each is read and written.
Bytes moved_states(ServingCase const& what, double sequences);

/// States that a request keeps where a step checks so many guesses: vLLM has one after each of them, and goes on from
/// that of the last one that is right. Source: vLLM, `num_speculative_blocks` of MambaSpec.
std::int64_t states_of_request(ServingCase const& what, std::int64_t guesses);

}  // namespace sextant

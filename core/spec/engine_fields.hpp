#pragma once

#include "core/spec/engine_profile.hpp"

#include <cstdint>
#include <string_view>

namespace sextant {

/// A field of an engine's profile, its key in files, and the least and largest sensible value (in SI base units).
template <class Value>
struct EngineField {
    std::string_view key;
    Sourced<Value> EngineProfile::*member;
    double least;
    double most;
    Presence presence = Presence::required;
};

/// In the order of the file.
inline constexpr EngineField<double> engine_numbers[] = {
    {"gemm_scale", &EngineProfile::gemm_scale, 0.1, 20},
    {"gemm_compute_scale", &EngineProfile::gemm_compute_scale, 1, 100, Presence::optional},
    {"prefill_scale", &EngineProfile::prefill_scale, 0.1, 20},
    {"decode_scale", &EngineProfile::decode_scale, 0.1, 20},
    {"fp8_widening", &EngineProfile::fp8_widening, 1, 10000, Presence::optional},
    {"communication_scale", &EngineProfile::communication_scale, 0.1, 20},
    {"expert_stream_scale", &EngineProfile::expert_stream_scale, 0.1, 20},
    {"expert_compute_scale", &EngineProfile::expert_compute_scale, 0.1, 20},
    {"expert_unpack_scale", &EngineProfile::expert_unpack_scale, 0.1, 20},
    {"memory_utilisation", &EngineProfile::memory_utilisation, 0.01, 1, Presence::optional},
};

inline constexpr EngineField<Seconds> engine_times[] = {
    {"kernel_gap", &EngineProfile::kernel_gap, 0, 0.01},
    {"prompt_launch", &EngineProfile::prompt_launch, 0, 0.01, Presence::optional},
    {"rounding_overhead", &EngineProfile::rounding_overhead, 0, 0.01, Presence::optional},
    {"expert_launch", &EngineProfile::expert_launch, 0, 0.1, Presence::optional},
    {"host_per_iteration", &EngineProfile::host_per_iteration, 0, 1},
    {"host_per_sequence", &EngineProfile::host_per_sequence, 0, 0.1},
    {"request_overhead", &EngineProfile::request_overhead, 0, 10},
    {"tokenise_per_token", &EngineProfile::tokenise_per_token, 0, 0.01},
};

inline constexpr EngineField<Bytes> engine_sizes[] = {
    {"memory_overhead", &EngineProfile::memory_overhead, 0, 1e11},
};

}  // namespace sextant

#pragma once

#include "core/spec/engine_profile.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/serving_plan.hpp"

#include <cstdint>

namespace sextant {

/// The engine's share of memory when nobody says another: that of its profile, or, where this has none, what SGLang
/// leaves to weights and cache. With chunks of c tokens, graphs of up to g sequences and d attention groups on N
/// accelerators it reserves, in MiB,
///
///     512 + 1.5 max(c, 2048) + 2 g + 128 N + (d > 1: 3 g d, and 1.5 g d more where g > 300),
///
/// 10 GiB at least on devices of more than 60 GiB. c and g are the plan's, up to those that it takes on such a device
/// by itself: a larger chunk is held to what this program says of activations (`serving_memory`).
///
/// Source: SGLang 0.5.6, server_args.py, _handle_gpu_memory_settings.
double default_memory_share(EngineProfile const& engine, AcceleratorProfile const& device, ServingPlan const& plan);

/// Prompt tokens of a chunk that SGLang takes by itself on such a device (its `chunked_prefill_size`). Source: as
/// above.
std::int64_t default_chunk(AcceleratorProfile const& device);

/// Memory of a device that an engine fills with what is there before any request (`fixed`), of which `weights`, and
/// with its cache, by its share of memory (`MemoryShare`): the whole of it at most.
Bytes usable_memory(EngineProfile const& engine, ServingPlan const& plan, Bytes capacity, Bytes weights,
                    Bytes activations, Bytes overhead);

}  // namespace sextant

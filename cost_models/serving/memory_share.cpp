#include "cost_models/serving/memory_share.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double mebibyte = 1 << 20;

/// What SGLang takes by itself on devices of up to so many MiB: tokens of a chunk, and the most sequences of a graph
/// with fewer than four ranks and with more.
struct DeviceDefaults {
    double below;
    double chunk;
    double graphs_of_few;
    double graphs;
};

constexpr DeviceDefaults device_defaults[] = {
    {20 * 1024, 2048, 8, 8},       // T4
    {35 * 1024, 2048, 24, 80},     // A10, RTX 4090
    {60 * 1024, 4096, 32, 160},    // A100 of 40 GB, L40
    {160 * 1024, 8192, 256, 512},  // H100, H200
    {INFINITY, 16384, 512, 512},   // B200, MI300
};

double mebibytes(AcceleratorProfile const& device) { return device.memory_capacity.value / (mebibyte * units::B); }

DeviceDefaults const& defaults_of(double memory) {
    return *std::find_if(std::begin(device_defaults), std::end(device_defaults) - 1,
                         [&](DeviceDefaults const& defaults) { return memory < defaults.below; });
}

double reserve_of(double memory, ServingPlan const& plan) {
    DeviceDefaults const& own = defaults_of(memory);
    auto const groups = static_cast<double>(plan.attention_dp);
    double const ranks = static_cast<double>(plan.tp) * groups;
    double const sequences = std::ceil(static_cast<double>(plan.max_batch) / groups);
    double const graphs = std::min(ranks < 4 ? own.graphs_of_few : own.graphs, sequences);
    double const chunk = std::min(own.chunk, static_cast<double>(plan.max_batched_tokens));
    double reserve = 512 + 1.5 * std::max(chunk, 2048.0) + 2 * graphs + 128 * ranks * static_cast<double>(plan.pp);
    if (groups > 1) reserve += (graphs > 300 ? 4.5 : 3) * graphs * groups;
    return memory > 60 * 1024 ? std::max(reserve, 10.0 * 1024) : reserve;
}

}  // namespace

std::int64_t default_chunk(AcceleratorProfile const& device) {
    return static_cast<std::int64_t>(defaults_of(mebibytes(device)).chunk);
}

double default_memory_share(EngineProfile const& engine, AcceleratorProfile const& device, ServingPlan const& plan) {
    if (engine.memory_utilisation.value > 0) return engine.memory_utilisation.value;
    constexpr double least = 0.01;  // of a share, for devices that are smaller than the reserve
    double const memory = mebibytes(device);
    return std::max(least, std::round(1000 * (memory - reserve_of(memory, plan)) / memory) / 1000);
}

Bytes usable_memory(EngineProfile const& engine, ServingPlan const& plan, Bytes capacity, Bytes weights,
                    Bytes activations, Bytes overhead) {
    double const share = plan.memory_utilisation;
    Bytes const fixed = weights + activations + overhead;
    auto const share_of = [&](Bytes left) { return share * std::max(Bytes{}, left); };
    switch (engine.memory_share) {
        case MemoryShare::device: return share * capacity;
        case MemoryShare::weights_and_cache: return std::min(capacity, share * capacity + activations + overhead);
        case MemoryShare::left_by_weights: return std::min(capacity, fixed + share_of(capacity - weights - overhead));
        case MemoryShare::left_by_activations: return std::min(capacity, fixed + share_of(capacity - fixed));
    }
    return {};
}

}  // namespace sextant

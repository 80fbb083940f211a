#pragma once

#include "core/spec/precision.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sextant {

/// Kinds of kernels that have a model of their own with constants to fit.
enum class KernelKind : std::uint8_t {
    gemm,
    prefill,
    decode,
    host_gemm,  ///< products on a processor (generation "cpu")
    memory      ///< kernels bound by the memory they touch; the variant "*" stands for those without a fit
};
std::string_view name_of(KernelKind kind);
/// @throws InputError with the known names.
KernelKind kernel_kind_from(std::string_view name, std::string_view where);

/// A constant of a kernel model: positive, moved on a logarithmic scale between its bounds. `start` is where a fit
/// begins and what a device without measurements gets.
struct KernelConstant {
    std::string_view name;
    double start;
    double low;
    double high;
    std::string_view meaning;
    bool is_time = false;  ///< in seconds
};

/// Constants of cost_models/gemm_model.hpp, in this order.
enum class GemmConstant : std::uint8_t {
    launch,
    efficiency,
    memory,
    cache_speed,
    cache_share,
    cache_edge,
    feed,
    tile_overhead,
    step_latency,
    overlap,
    reduction,
    heat,
    wave_rounding,
    ramp,
    quantise,
    quantise_passes,
    count
};

/// Constants of the prefill model of cost_models/attention_model.hpp, in this order.
enum class PrefillConstant : std::uint8_t {
    launch,
    memory,
    preparation,
    block_overhead,
    tile_latency,
    overlap,
    wave_rounding,
    ramp,
    heat,
    ragged,
    efficiency_64,
    efficiency_128,
    efficiency_192,
    efficiency_256,
    efficiency_512,
    count
};

/// Constants of the decode model of cost_models/attention_model.hpp, in this order.
enum class DecodeConstant : std::uint8_t {
    launch,
    memory,
    cache_speed,
    cache_share,
    cache_edge,
    block_overhead,
    token_latency,
    overlap,
    wave_rounding,
    ramp,
    split_tokens,
    merge,
    per_sequence,
    efficiency,
    blocks_per_processor,
    count
};

/// Constants of cost_models/host_gemm_model.hpp, in this order.
enum class HostGemmConstant : std::uint8_t {
    launch,
    cold_start,
    efficiency,
    memory,
    cache_speed,
    cache_share,
    cache_edge,
    overlap,
    edge_m,
    edge_n,
    edge_k,
    count
};

/// Constants of cost_models/memory_model.hpp, in this order.
enum class MemoryConstant : std::uint8_t {
    launch,
    cold_start,
    memory,
    arithmetic,
    cache_speed,
    cache_share,
    cache_edge,
    count
};

std::span<KernelConstant const> kernel_constants(KernelKind kind);

/// Whether a kernel may find its operands in the last-level cache.
enum class CacheState : std::uint8_t {
    hot,     ///< as when a benchmark repeats it
    cold,    ///< as in a step that has gone through all its other tensors since
    rotated  ///< hot, but for the weights of products: `rotated_copies` of them take turns
};

/// Among which groups of query heads the decode kernels of an engine share what they read of keys and values.
enum class GroupedHeads : std::uint8_t {
    shared,  ///< all
    narrow,  ///< groups of up to 32 heads, the others read once per head
    eights,  ///< groups of 8 heads of 128
    apart    ///< none: once per head
};

/// How a matrix product stores its operands: bytes per element of [m, k], [k, n] and [m, n], the peak that bounds it,
/// and whether the activations are quantised with it.
struct GemmFormat {
    std::string_view name;   ///< "bf16", "fp8", "fp8-block", "int4-weights", ...
    std::string_view alias;  ///< as the measurement tables write it
    Precision precision;     ///< whose peak and efficiency it runs at; of int8 only the efficiency
    double left;             ///< bytes per element of the activations
    double right;            ///< of the weights
    double out;
    bool quantises;
    bool tiled = false;     ///< by a scale for every 128 of them
    bool integers = false;  ///< multiplies 8-bit integers, at the device's `int8_peak`
    /// Whether narrow weights are widened to the activations' format before they are multiplied.
    [[nodiscard]] bool widens() const { return left > right; }
};

std::span<GemmFormat const> gemm_formats();
/// By name or alias; nothing for an unknown one.
GemmFormat const* find_gemm_format(std::string_view name);
/// The plain format of a precision.
GemmFormat const& gemm_format(Precision precision);

}  // namespace sextant

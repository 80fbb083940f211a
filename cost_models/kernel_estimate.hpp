#pragma once

#include "core/ops/op.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "cost_models/attention_model.hpp"
#include "cost_models/gemm_model.hpp"
#include "cost_models/host_gemm_model.hpp"
#include "cost_models/memory_model.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace sextant {

/// What a predicted kernel time stands on.
enum class KernelSupport : std::uint8_t {
    measured,   ///< this kernel was measured on this device, at shapes around this one
    extended,   ///< on this device, but at other shapes
    by_format,  ///< on this device, in the other 16-bit format
    by_class,   ///< on other devices of the class
    assumed     ///< on none: the starts of the constants
};
std::string_view name_of(KernelSupport support);

/// The interval of the band that a predicted time lies in; of a time before the first band, `below`.
TimeInterval interval_at(std::span<KernelInterval const> bands, double seconds, TimeInterval below);

/// A predicted time with its 80 % interval.
struct KernelEstimate {
    Seconds time;
    TimeInterval factors;
    KernelSupport support = KernelSupport::assumed;
    Seconds least{};  ///< below which peak or memory let no time fall, whatever the interval
};

/// assumed: where no fit of this kernel or its class says how far its times are off.
inline constexpr TimeInterval assumed_kernel_factors{.low = 0.5, .high = 2};

/// Whether the activations are quantised within the time, as benchmarks of the formats that need it measure.
enum class Quantising : std::uint8_t { apart, included };

/// Matrix products of one launch, by `gemm_model` with the device's fitted constants and residual. A device without
/// measurements in bf16 gets those in fp16, and the other way round, where its peak is the same in both; one without
/// measurements of its own gets the constants of its class, its rate scaled by `gemm_efficiency` against that of the
/// class, and in a measured generation what heat takes by its flop per joule. With nothing in the cache no quicker than
/// memory brings the weights. Grids of a fit whose rows held no quantising leave that alone; beyond their rows nothing
/// takes longer than a product that fills its tiles. Products of several groups take no less than one of them and about
/// no more than one after the other. A processor's products (generation "cpu") are those of `host_gemm_model`.
/// @throws InputError when the device has no peak for the format.
KernelEstimate estimate_product(GemmShape const& shape, GemmFormat const& format, AcceleratorProfile const& accelerator,
                                GemmUse const& use, Quantising quantising = Quantising::apart);

/// Fused attention over whole sequences in a variant "bf16/bf16" (compute/cache), by `prefill_model`; the rate of a
/// device without measurements is scaled by its `attention_forward_efficiency` against that of those with, and of the
/// kernels of training by what it is of what these reach.
KernelEstimate estimate_prefill(Attention const& shape, std::string_view variant, AcceleratorProfile const& accelerator,
                                PrefillUse const& use);

/// One decode step of attention in a variant "bf16/bf16", by `decode_model`. With nothing in the cache no quicker than
/// memory brings the keys and values, at `memory_efficiency` where a device's table says more than memory can, and no
/// slower than with more sequences or keys, which libraries split over more multiprocessors than some few short ones.
/// Where heads share nothing, in any state no slower than with more sequences, as far as more of them find free
/// multiprocessors: what merging the parts of few sequences costs there (few rows say it) is no reason to cut them.
/// Kernels that no table of the device is of: a cache in fp8 takes no longer than one in 16 bits; a head of its own no
/// longer than two that share; a group of more than 32 heads what 32 take, and no less than its arithmetic does at the
/// rate of attention.
/// @param kernels which groups of heads the kernels share the keys and values among
KernelEstimate estimate_decode(DecodeAttention const& shape, std::string_view variant,
                               AcceleratorProfile const& accelerator, CacheState cache,
                               GroupedHeads kernels = GroupedHeads::narrow);

/// One decode step of multi-head latent attention: all heads read one latent of `kv_rank` values and the rotated part
/// of the keys, for each sequence and key.
struct LatentDecode {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t keys = 0;
    std::int64_t kv_rank = 0;
    std::int64_t rope_head_dim = 0;
    double cache_bytes = 2;  ///< of one value
};

/// As one key-value head of which half is "values"; the kernel shares it among as many heads as its tiles hold.
DecodeAttention latent_shape(LatentDecode const& latent);

/// By `decode_model` of that shape, and no quicker than the arithmetic of all heads at the rate that attention reaches.
/// A cache in fp8 takes no longer than one in 16 bits.
KernelEstimate estimate_latent_decode(LatentDecode const& latent, std::string_view variant,
                                      AcceleratorProfile const& accelerator, CacheState cache);

/// A kernel bound by the memory it touches, by `memory_model` with the constants of this kernel ("rmsnorm bf16"), else
/// of the device's memory-bound kernels all together.
KernelEstimate estimate_memory_kernel(Bytes moved, std::string_view variant, AcceleratorProfile const& accelerator,
                                      CacheState cache);

/// Constants of a fit of a class as a device of it takes them: rates scaled by what its profile says of them.
std::vector<double> constants_on(AcceleratorProfile const& accelerator, KernelFit const& of_class);

/// The variant that stands for the memory-bound kernels without a fit of their own.
inline constexpr std::string_view any_memory_kernel = "*";

/// Whether its products are those of a processor.
bool is_host(AcceleratorProfile const& accelerator);

/// The kind of fit that a product on this device has.
KernelKind product_kind(AcceleratorProfile const& accelerator);

/// The matrix format of two bytes that the device has, for kernels that compute in such: bf16, else fp16, else the
/// next.
Precision two_byte_precision(AcceleratorProfile const& accelerator);

/// `row_share` on a device: 1 also of fp32, which vector units multiply, and where programs lay operands out for the
/// units that hold them (`KernelRates::held`), and on a host.
double row_share(std::int64_t n, std::int64_t k, double element_bytes, Precision precision,
                 AcceleratorProfile const& accelerator);

/// The device's rates for a format, as the kernel models take them.
KernelRates kernel_rates(AcceleratorProfile const& accelerator, Precision precision);
/// Of products in a format. @throws InputError when the device has none
KernelRates kernel_rates(AcceleratorProfile const& accelerator, GemmFormat const& format);

}  // namespace sextant

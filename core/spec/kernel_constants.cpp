#include "core/spec/kernel_constants.hpp"

#include "core/spec/named_values.hpp"

#include <array>

namespace sextant {
namespace {

template <class Index>
constexpr std::size_t count_of = static_cast<std::size_t>(Index::count);

// assumed: the starts are typical of the five devices whose tables were fitted; the bounds are what is physically
// sensible. Times in seconds.
constexpr std::array<KernelConstant, count_of<GemmConstant>> gemm{{
    {"launch", 1e-6, 3e-7, 1.5e-5, "seconds before the first and after the last tile", true},
    {"efficiency", 0.85, 0.1, 1, "of the dense peak, inside a large tile"},
    {"memory", 0.85, 0.3, 1, "of the memory bandwidth"},
    {"cache_speed", 3, 1, 8, "rate of operands that lie in the last-level cache, against memory"},
    {"cache_share", 0.4, 0.02, 2, "of the last-level cache, above which operands come from memory"},
    {"cache_edge", 3, 1, 40, "sharpness of that change"},
    {"feed", 1.8, 0.1, 20, "rate from cache to the multiprocessors, in units of 2.5 times the memory bandwidth"},
    {"tile_overhead", 1.5e-6, 1e-9, 1e-5, "seconds of a tile beyond its products: filling, draining, writing", true},
    {"step_latency", 6e-8, 1e-9, 1e-6, "least seconds of 64 steps along k", true},
    {"overlap", 3.5, 1, 8, "norm in which compute and memory time are joined; 1: one after the other"},
    {"reduction", 2, 0.05, 20, "cost of adding partial sums of a split k, in passes over them"},
    {"heat", 1.05, 0.97, 1.35, "slowdown per decade of work above 0.1 TFLOP (clocks under power)"},
    {"wave_rounding", 0.3, 0.02, 1, "share of the last wave's idle multiprocessors that is lost"},
    {"ramp", 0.5e-6, 1e-10, 5e-6, "seconds per doubling of the bytes above 1 MB", true},
    {"quantise", 8e-6, 1e-8, 3e-5, "seconds of quantising the activations, where that is measured with the product",
     true},
    {"quantise_passes", 1, 0.01, 10, "bytes of it, in units of 3 m k"},
}};

constexpr std::array<KernelConstant, count_of<PrefillConstant>> prefill{{
    {"launch", 1e-5, 1e-6, 4e-5, "seconds, preparing kernels included", true},
    {"memory", 0.85, 0.2, 1, "of the memory bandwidth"},
    {"preparation", 1, 0.01, 30, "passes over q, k, v and the output before attention itself"},
    {"block_overhead", 2.5e-6, 1e-9, 2e-5, "seconds per 128 queries of a head beyond their products", true},
    {"tile_latency", 2e-7, 1e-9, 5e-6, "least seconds of 128 x 128 scores", true},
    {"overlap", 4, 1, 8, "norm in which compute and memory time are joined"},
    {"wave_rounding", 0.8, 0.02, 1, "share of the last wave's idle multiprocessors that is lost"},
    {"ramp", 2e-7, 1e-10, 5e-6, "seconds per doubling of the bytes above 1 MB", true},
    {"heat", 0.98, 0.9, 1.35, "slowdown per decade of work above 0.1 TFLOP"},
    {"ragged", 0.8, 0.01, 1, "exponent of the filled part of the only tile of a short sequence"},
    {"efficiency_64", 0.4, 0.05, 1.5, "of the dense bf16 peak, head size 64"},
    {"efficiency_128", 0.5, 0.05, 1.5, "head size 128"},
    {"efficiency_192", 0.5, 0.05, 1.5, "head size 192"},
    {"efficiency_256", 0.55, 0.05, 1.5, "head size 256"},
    {"efficiency_512", 0.5, 0.05, 1.5, "head size 512"},
}};

constexpr std::array<KernelConstant, count_of<DecodeConstant>> decode{{
    {"launch", 6e-6, 1e-6, 4e-5, "seconds", true},
    {"memory", 0.85, 0.2, 1, "of the memory bandwidth"},
    {"cache_speed", 2.5, 1, 8, "rate of keys and values that lie in the last-level cache, against memory"},
    {"cache_share", 0.5, 0.02, 3, "of the last-level cache, above which they come from memory"},
    {"cache_edge", 4, 1, 10, "sharpness of that change"},
    {"block_overhead", 2e-6, 1e-9, 2e-5, "seconds of a block beyond its tokens", true},
    {"token_latency", 5e-9, 1e-12, 1e-6, "seconds per token of a block's chain, head size 128", true},
    {"overlap", 4, 1, 8, "norm in which memory, chain and compute time are joined"},
    {"wave_rounding", 0.3, 0.02, 1, "share of the last wave's idle slots that is lost"},
    {"ramp", 5e-7, 1e-10, 5e-6, "seconds per doubling of the bytes above 1 MB", true},
    {"split_tokens", 200, 16, 4096, "fewest tokens that a block takes when a sequence is split over blocks"},
    {"merge", 8e-7, 1e-9, 3e-5, "seconds per doubling of the splits", true},
    {"per_sequence", 2e-9, 1e-11, 2e-6, "seconds per sequence of the batch", true},
    {"efficiency", 0.3, 0.01, 2, "of the dense bf16 peak"},
    {"blocks_per_processor", 2, 0.5, 32, "blocks that run at a time on a multiprocessor"},
}};

// assumed: the starts are typical of one core of a server's processor.
constexpr std::array<KernelConstant, count_of<HostGemmConstant>> host_gemm{{
    {"launch", 1e-7, 1e-9, 1e-4, "seconds of a call", true},
    {"cold_start", 5e-7, 1e-10, 1e-5, "seconds more where nothing is cached: code and first misses", true},
    {"efficiency", 0.95, 0.05, 1.5, "of the peak, for large products"},
    {"memory", 0.8, 0.05, 2, "of the memory bandwidth"},
    {"cache_speed", 3, 1, 30, "rate of operands that lie in the last-level cache, against memory"},
    {"cache_share", 0.5, 0.01, 4, "of the last-level cache, above which operands come from memory"},
    {"cache_edge", 2, 0.5, 10, "sharpness of that change"},
    {"overlap", 2, 1, 8, "norm in which compute and memory time are joined; 1: one after the other"},
    {"edge_m", 2, 0.01, 200, "rows whose time is lost to packing and ragged tiles, along m"},
    {"edge_n", 2, 0.01, 200, "along n"},
    {"edge_k", 8, 0.01, 400, "along k"},
}};

constexpr std::array<KernelConstant, count_of<MemoryConstant>> memory{{
    {"launch", 2e-6, 1e-9, 1e-4, "seconds", true},
    {"cold_start", 3e-7, 1e-10, 1e-5, "seconds more where nothing is cached: the first misses, a launch of its own",
     true},
    {"memory", 0.8, 0.02, 3, "of the memory bandwidth"},
    {"arithmetic", 4, 0.001, 100, "rate at which the bytes are worked on wherever they lie, in memory bandwidths"},
    {"cache_speed", 2, 1, 30, "rate of operands that lie in the last-level cache, against memory"},
    {"cache_share", 0.5, 0.01, 4, "of the last-level cache, above which operands come from memory"},
    {"cache_edge", 2, 0.5, 10, "sharpness of that change"},
}};

// Weights-only formats multiply at the activations' precision, fp16 on devices without bf16; large int8 products reach
// what bf16's do of their peak. The tables of fp8_block hold the quantising as well: at m 32768, k 5120 a product of n
// 128 takes 351 us on an H100, three times as long as bf16. Source: AIConfigurator's collector.
constexpr std::array<GemmFormat, 10> formats{{
    {"bf16", "bfloat16", Precision::bf16, 2, 2, 2, false},
    {"fp16", "float16", Precision::fp16, 2, 2, 2, false},
    {"tf32", "tf32", Precision::tf32, 4, 4, 4, false},
    {"fp32", "float32", Precision::fp32, 4, 4, 4, false},
    {"fp8", "fp8", Precision::fp8, 1, 1, 2, true},
    {"fp8-block", "fp8_block", Precision::fp8, 1, 1, 2, true, true},
    {"fp4", "nvfp4", Precision::fp4, 0.5, 0.5, 2, true},
    {"int8", "sq", Precision::bf16, 1, 1, 2, true, false, true},
    {"int8-weights", "int8_wo", Precision::bf16, 2, 1, 2, false},
    {"int4-weights", "int4_wo", Precision::bf16, 2, 0.5, 2, false},
}};

constexpr Named<KernelKind> kinds[] = {{KernelKind::gemm, "gemm"},
                                       {KernelKind::prefill, "prefill"},
                                       {KernelKind::decode, "decode"},
                                       {KernelKind::host_gemm, "host-gemm"},
                                       {KernelKind::memory, "memory"}};

}  // namespace

std::string_view name_of(KernelKind kind) { return name_in<KernelKind>(kinds, kind); }

KernelKind kernel_kind_from(std::string_view name, std::string_view where) {
    return value_in<KernelKind>(kinds, name, where, "kind of kernel");
}

std::span<KernelConstant const> kernel_constants(KernelKind kind) {
    switch (kind) {
        case KernelKind::gemm: return gemm;
        case KernelKind::prefill: return prefill;
        case KernelKind::decode: return decode;
        case KernelKind::host_gemm: return host_gemm;
        case KernelKind::memory: return memory;
    }
    return {};
}

std::span<GemmFormat const> gemm_formats() { return formats; }

GemmFormat const* find_gemm_format(std::string_view name) {
    for (GemmFormat const& format : formats)
        if (format.name == name || format.alias == name) return &format;
    return nullptr;
}

GemmFormat const& gemm_format(Precision precision) {
    return *find_gemm_format(name_of(precision == Precision::mxfp8 ? Precision::fp8 : precision));
}

}  // namespace sextant

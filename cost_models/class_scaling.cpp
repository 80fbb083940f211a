#include "cost_models/class_scaling.hpp"

#include <algorithm>
#include <optional>

namespace sextant {
namespace {

std::optional<std::size_t> memory_index(KernelKind kind) {
    switch (kind) {
        case KernelKind::gemm: return static_cast<std::size_t>(GemmConstant::memory);
        case KernelKind::prefill: return static_cast<std::size_t>(PrefillConstant::memory);
        case KernelKind::decode: return static_cast<std::size_t>(DecodeConstant::memory);
        case KernelKind::memory: return static_cast<std::size_t>(MemoryConstant::memory);
        case KernelKind::host_gemm: return std::nullopt;  // no class has any
    }
    return std::nullopt;
}

}  // namespace

void scale_memory(std::span<double> constants, KernelKind kind, ClassProfile const& of_class,
                  AcceleratorProfile const& accelerator) {
    auto const index = memory_index(kind);
    if (!index || of_class.memory_efficiency <= 0) return;
    double& memory = constants[*index];
    double const scaled = memory * (accelerator.memory_efficiency.value / of_class.memory_efficiency);
    memory = std::min(scaled, std::max(1.0, memory));
}

double vector_share(AcceleratorProfile const& accelerator) {
    return accelerator.vector_peak.value / accelerator.peak_of(two_byte_precision(accelerator)).value;
}

void scale_decode_compute(std::span<double> constants, ClassProfile const& of_class,
                          AcceleratorProfile const& accelerator) {
    if (of_class.vector_share <= 0) return;
    double& efficiency = constants[static_cast<std::size_t>(DecodeConstant::efficiency)];
    double const more = std::max(1.0, vector_share(accelerator) / of_class.vector_share);
    efficiency = std::max(efficiency, std::min(1.0, efficiency * more));
}

double flops_per_joule(AcceleratorProfile const& accelerator) {
    double const watts = accelerator.power_watts.value;
    return watts > 0 ? accelerator.peak_of(two_byte_precision(accelerator)).value.base() / watts : 0;
}

void scale_heat(std::span<double> constants, ClassProfile const& of_class, AcceleratorProfile const& accelerator) {
    constexpr double stated_work = 2.0 * 8192 * 8192 * 8192;
    double const own = flops_per_joule(accelerator);
    if (own <= 0 || of_class.flops_per_joule <= own) return;
    double& heat = constants[static_cast<std::size_t>(GemmConstant::heat)];
    double const before = heat_factor(heat, stated_work);
    heat = 1 + (heat - 1) * own / of_class.flops_per_joule;
    constants[static_cast<std::size_t>(GemmConstant::efficiency)] *= heat_factor(heat, stated_work) / before;
}

double efficiency_for(double stated, GemmFormat const& format, KernelRates const& rates,
                      std::span<double const> constants) {
    constexpr GemmShape large{.m = 8192, .n = 8192, .k = 8192};
    double const at_peak = 2.0 * 8192 * 8192 * 8192 / rates.peak;
    double const beside = format.quantises ? quantise_model(large, rates, constants).base() : 0;
    double const wanted = std::max(at_peak, at_peak / stated - beside);
    double const now = gemm_model(large, format, rates, constants, {}).base();
    return std::min(1.0, constants[static_cast<std::size_t>(GemmConstant::efficiency)] * (now / wanted));
}

}  // namespace sextant

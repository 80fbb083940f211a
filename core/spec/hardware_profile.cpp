#include "core/spec/hardware_profile.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/kernel_constants.hpp"

#include <span>

namespace sextant {
namespace {

/// Formats whose large products reach a similar fraction of their peak, nearest first; the last resort when a profile
/// has no figure of its own.
std::span<Precision const> stand_ins(Precision precision) {
    using enum Precision;
    static constexpr Precision for_fp32[] = {tf32, bf16, fp16};
    static constexpr Precision for_tf32[] = {bf16, fp16, fp32};
    static constexpr Precision for_fp16[] = {bf16, tf32, fp32};
    static constexpr Precision for_bf16[] = {fp16, tf32, fp32};
    static constexpr Precision for_fp8[] = {bf16, fp16};
    static constexpr Precision for_fp4[] = {fp8, bf16, fp16};
    switch (precision) {
        case fp32: return for_fp32;
        case tf32: return for_tf32;
        case fp16: return for_fp16;
        case bf16: return for_bf16;
        case fp8:
        case fp8_block:
        case mxfp8: return for_fp8;
        case fp4: return for_fp4;
    }
    return {};
}

/// Whose products a format runs: weights alone in fewer bits are widened to what the device multiplies in two bytes
/// (kernels of AWQ and GPTQ run in fp16 on V100 and T4).
Precision products_of(GemmFormat const& format, AcceleratorProfile const& device) {
    bool const widens = format.widens();
    bool const in_fp16 = !device.peak.contains(format.precision) && device.peak.contains(Precision::fp16);
    return widens && in_fp16 ? Precision::fp16 : format.precision;
}

}  // namespace

Sourced<FlopsPerSecond> const& AcceleratorProfile::peak_of(Precision precision) const {
    if (precision == Precision::mxfp8 && !applies_scales())
        throw InputError(
            "{}: its matrix units apply no scales of 32 values (mxfp8 is for Blackwell and CDNA 4; fp8 or "
            "fp8-block here)",
            name);
    if (auto const found = peak.find(unscaled(precision)); found != peak.end()) return found->second;
    if (precision == Precision::fp32 && vector_peak.value > FlopsPerSecond{}) return vector_peak;
    std::vector<std::string> known;
    for (auto const& entry : peak)
        known.emplace_back(name_of(entry.first));
    throw InputError("{}: has no {} matrix throughput (it has: {})", name, name_of(precision), join(known));
}

Sourced<BytesPerSecond> AcceleratorProfile::host_update() const {
    if (host_update_bandwidth) return *host_update_bandwidth;
    return {.value = 25 * units::GB / units::s,
            .basis = Basis::assumed,
            .source = "x86 hosts: a third of what the memory of a DGX H100 has for each of eight"};
}

bool AcceleratorProfile::multiplies(GemmFormat const& format) const {
    if (format.integers) return int8_peak.has_value();
    Precision const precision = products_of(format, *this);
    return peak.contains(precision) || (precision == Precision::fp32 && vector_peak.value > FlopsPerSecond{});
}

Sourced<FlopsPerSecond> const& AcceleratorProfile::peak_of(GemmFormat const& format) const {
    if (!format.integers) return peak_of(products_of(format, *this));
    if (int8_peak) return *int8_peak;
    throw InputError(
        "{}: has no {} products (state int8_peak in the accelerator file if its matrix units have them; int8-weights "
        "multiplies in 16 bit)",
        name, format.name);
}

double AcceleratorProfile::gemm_efficiency_of(Precision precision) const {
    if (auto const found = gemm_efficiency.find(unscaled(precision)); found != gemm_efficiency.end())
        return found->second.value;
    for (auto const other : stand_ins(precision))
        if (auto const found = gemm_efficiency.find(other); found != gemm_efficiency.end()) return found->second.value;
    throw InputError("{}: gemm_efficiency has no {} entry nor one that can stand in for it (add one to the profile)",
                     name, name_of(precision));
}

}  // namespace sextant

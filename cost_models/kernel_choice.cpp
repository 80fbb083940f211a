#include "cost_models/kernel_choice.hpp"

#include "core/embedded_text.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/kernel_constants.hpp"
#include "cost_models/class_scaling.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace sextant {
namespace {

constexpr Seconds typical_launch = 2.8 * units::us;                 ///< of the devices that the starts are typical of
constexpr ClassProfile typical_profile{.memory_efficiency = 0.85};  ///< theirs: A100, H100, H200 and B200 state it

/// Variants to try, the wanted one first: what a format without a fit of its own resembles most.
std::string_view next_variant(KernelKind kind, std::string_view variant) {
    if (kind == KernelKind::host_gemm) return variant == "fp32" ? "" : "fp32";
    if (kind == KernelKind::memory) return "";
    if (kind == KernelKind::gemm) {
        if (variant == "fp4") return "fp8";
        return variant == "bf16" ? "" : "bf16";
    }
    if (variant.starts_with("fp8/fp8")) return "bf16/fp8";
    if (variant.starts_with("bf16/fp8")) return kind == KernelKind::prefill ? "bf16/bf16" : "";
    return "";
}

KernelFit const* find_any(KernelCalibration const& calibration, KernelKind kind, std::string_view variant) {
    std::string name(variant);
    if (auto const* fit = calibration.find(kind, name)) return fit;
    for (std::string_view next = next_variant(kind, name); !next.empty(); next = next_variant(kind, next))
        if (auto const* fit = calibration.find(kind, next)) return fit;
    if (kind == KernelKind::memory) return calibration.find(kind, any_memory_kernel);
    if (kind != KernelKind::decode) return nullptr;
    auto const sharing = variant.rfind('/');
    return calibration.find(kind, "bf16/bf16" + std::string(variant.substr(sharing)));
}

/// Whether this is attention over sequences with a cache in fp8 on a device without products in it: it multiplies in 16
/// bits, whatever the cache holds.
bool lacks_fp8(AcceleratorProfile const& accelerator, KernelKind kind, std::string_view variant) {
    return kind == KernelKind::prefill && variant.ends_with("/fp8") && !accelerator.peak.contains(Precision::fp8);
}

/// The other format that runs as this one: of products `sister_format`; of attention the 16-bit cache, where the device
/// multiplies no fp8. Empty: there is none.
std::string_view sister_of(AcceleratorProfile const& accelerator, KernelKind kind, std::string_view variant) {
    if (lacks_fp8(accelerator, kind, variant)) return "bf16/bf16";
    return kind == KernelKind::gemm ? sister_format(accelerator, variant) : "";
}

}  // namespace

std::string_view sister_format(AcceleratorProfile const& accelerator, std::string_view variant) {
    if (variant != "bf16" && variant != "fp16") return "";
    auto const bf16 = accelerator.peak.find(Precision::bf16);
    auto const fp16 = accelerator.peak.find(Precision::fp16);
    bool const both = bf16 != accelerator.peak.end() && fp16 != accelerator.peak.end();
    if (!both || bf16->second.value != fp16->second.value) return "";
    return variant == "bf16" ? "fp16" : "bf16";
}

namespace {

double share_over_devices(GemmFormat const& format) {
    double sum = 0;
    int devices = 0;
    for (EmbeddedText const& entry : embedded_kernels()) {
        auto const of = shipped_kernel_calibration(entry.name);
        if (of->is_class()) continue;
        KernelFit const* const narrow = of->find(KernelKind::gemm, format.name);
        KernelFit const* const wide = of->find(KernelKind::gemm, gemm_format(format.precision).name);
        if (narrow == nullptr || wide == nullptr || wide->large_efficiency <= 0) continue;
        sum += narrow->large_efficiency / wide->large_efficiency;
        ++devices;
    }
    return devices > 0 ? sum / devices : 1;
}

}  // namespace

double widened_share(GemmFormat const& format) {
    // Every product of such weights asks.
    static std::map<std::string_view, double> const shares = [] {
        std::map<std::string_view, double> out;
        for (GemmFormat const& each : gemm_formats())
            if (each.widens()) out.emplace(each.name, share_over_devices(each));
        return out;
    }();
    return shares.at(format.name);
}

void fill_head_sizes_of(KernelChoice& choice, std::string_view variant) {
    std::array<double, KernelChoice::most_constants> starts{};
    auto const specs = kernel_constants(KernelKind::prefill);
    std::transform(specs.begin(), specs.end(), starts.begin(), [](KernelConstant const& c) { return c.start; });
    std::array<double, KernelChoice::most_constants> reference = starts;
    auto const any = shipped_kernel_calibration("class-any");
    if (KernelFit const* const fit = any ? any->find(KernelKind::prefill, variant) : nullptr) {
        std::copy(fit->constants.begin(), fit->constants.end(), reference.begin());
        fill_head_sizes(std::span(reference).first(specs.size()), fit->spreads, starts);
    }
    fill_head_sizes(choice.changeable(), choice.fit->spreads, reference);
}

KernelChoice choose_kernel(AcceleratorProfile const& accelerator, KernelKind kind, std::string_view variant) {
    KernelChoice choice;
    std::string_view const sister = sister_of(accelerator, kind, variant);
    // Of attention with a cache in fp8 most rows are of devices that multiply in it. Source: TensorRT-LLM
    // cpp/tensorrt_llm/thop/attentionOp.cpp (mFP8ContextFMHA), whose kernels the tables time.
    bool const foreign = lacks_fp8(accelerator, kind, variant);
    auto const find = [&](KernelCalibration const& in) {
        KernelFit const* const fit = foreign && in.generation == "*" ? nullptr : in.find(kind, variant);
        return fit != nullptr ? fit : in.find(kind, sister);
    };
    auto const take = [&](std::shared_ptr<KernelCalibration const> const& from, KernelFit const* fit) {
        if (choice.fit != nullptr || fit == nullptr) return;
        choice.fit = fit;
        choice.keep = from;
        choice.own = !from->is_class() && fit->variant == variant;
        choice.sister = !from->is_class() && fit->variant == sister;
        choice.borrowed = kind == KernelKind::gemm && fit->variant != variant && fit->variant != sister;
        choice.gridded = !choice.borrowed && from->grids_hold(accelerator.multiprocessors.value);
    };
    if (auto const& own = accelerator.kernels) {
        std::string const of_generation = "class-" + accelerator.generation;
        std::string const of_kernels = kernel_class(accelerator, kind, variant);
        bool const runs_others = own->is_class() && of_kernels != of_generation;
        if (!runs_others) take(own, find(*own));
        for (std::string const& wider : {of_kernels, std::string("class-any")}) {
            if (choice.fit != nullptr) break;
            auto const of_class = shipped_kernel_calibration(wider);
            if (of_class) take(of_class, find(*of_class));
        }
        take(own, find_any(*own, kind, variant));
    }
    auto const specs = kernel_constants(kind);
    choice.count = specs.size();
    // Where nothing was fitted, the profile's launch latency says how quick the device is in all its small times.
    double const slowness = accelerator.launch_latency.value / typical_launch;
    for (std::size_t i = 0; i < specs.size(); ++i)
        choice.values[i] =
            choice.fit != nullptr ? choice.fit->constants[i] : specs[i].start * (specs[i].is_time ? slowness : 1);
    if (choice.fit == nullptr || choice.of_class())
        scale_memory(choice.changeable(), kind, choice.fit != nullptr ? choice.keep->profile : typical_profile,
                     accelerator);
    return choice;
}

}  // namespace sextant

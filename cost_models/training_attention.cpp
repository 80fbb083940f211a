#include "cost_models/training_attention.hpp"

#include "core/ops/work.hpp"
#include "core/spec/kernel_catalog.hpp"

namespace sextant {

PrefillUse measured_use(std::string_view variant, double work, AcceleratorProfile const& accelerator) {
    PrefillUse use{.work = work};
    if (!training_library(variant).empty()) use.launch = accelerator.launch_latency.value;
    return use;
}

namespace {

/// The fit of the library's kernel in this pass; of no library in particular, the one that reaches most of the peak.
KernelFit const* find_training(KernelCalibration const& in, Pass pass, std::string_view library) {
    KernelFit const* best = nullptr;
    for (KernelFit const& fit : in.fits) {
        if (fit.kind != KernelKind::prefill) continue;
        std::string_view const of = training_library(fit.variant);
        bool const is_backward = fit.variant.ends_with(backward_variant);
        if (of.empty() || is_backward != (pass == Pass::backward) || (!library.empty() && of != library)) continue;
        if (best == nullptr || fit.large_efficiency > best->large_efficiency) best = &fit;
    }
    return best;
}

}  // namespace

std::optional<KernelEstimate> estimate_training_attention(Attention const& shape, Pass pass,
                                                          AcceleratorProfile const& accelerator, double rate,
                                                          std::string_view library) {
    auto const& own = accelerator.kernels;
    if (own == nullptr) return std::nullopt;
    std::string const of_kernels = kernel_class(accelerator, KernelKind::prefill, "");
    bool const of_others = own->is_class() && "class-" + own->generation != of_kernels;
    KernelFit const* fit = of_others ? nullptr : find_training(*own, pass, library);
    std::shared_ptr<KernelCalibration const> of_generation;
    if (fit == nullptr && !own->is_class()) {
        of_generation = shipped_kernel_calibration(of_kernels);
        if (of_generation) fit = find_training(*of_generation, pass, library);
    }
    if (fit == nullptr) return std::nullopt;
    PrefillUse use = measured_use(fit->variant, pass == Pass::backward ? flash_backward_work : 1, accelerator);
    use.rate = rate;
    return estimate_prefill(shape, fit->variant, accelerator, use);
}

}  // namespace sextant

#include "planner/kernel_bases.hpp"

#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/kernel_choice.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>

namespace sextant {
namespace {

KernelBasis products_basis(AcceleratorProfile const& accelerator, std::string_view format) {
    return kernel_basis(accelerator, product_kind(accelerator), format);
}

KernelBases bases_of(AcceleratorProfile const& accelerator, std::string_view format, KernelBasis attention) {
    std::string_view const wide = gemm_format(two_byte_precision(accelerator)).name;
    KernelBasis const of_format = products_basis(accelerator, format);
    return {.format = of_format,
            .products = std::min(of_format, products_basis(accelerator, wide)),
            .attention = attention};
}

KernelBasis prompt_attention(AcceleratorProfile const& accelerator) {
    return kernel_basis(accelerator, KernelKind::prefill, "bf16/bf16");
}

/// Of any number of query heads to one of the cache: tables of older devices have not all.
KernelBasis cache_attention(AcceleratorProfile const& accelerator) {
    KernelBasis nearest = KernelBasis::any;
    for (std::string_view const variant : {"bf16/bf16/grouped", "bf16/bf16/single", "bf16/bf16/unshared"})
        nearest = std::min(nearest, kernel_basis(accelerator, KernelKind::decode, variant));
    return nearest;
}

}  // namespace

KernelBasis kernel_basis(AcceleratorProfile const& accelerator, KernelKind kind, std::string_view variant) {
    std::string_view const sister = kind == KernelKind::gemm ? sister_format(accelerator, variant) : "";
    auto const has = [&](KernelCalibration const& in) {
        return in.find(kind, variant) != nullptr || in.find(kind, sister) != nullptr;
    };
    auto const of_class = [&](KernelCalibration const& in) {
        if (in.generation == "*") return KernelBasis::any;
        return in.generation == accelerator.generation ? KernelBasis::generation : KernelBasis::others;
    };
    auto const& own = accelerator.kernels;
    if (!own) return KernelBasis::any;
    if (!runs_kernels_of_others(accelerator, kind, variant) && has(*own))
        return own->is_class() ? of_class(*own) : KernelBasis::device;
    auto const near = shipped_kernel_calibration(kernel_class(accelerator, kind, variant));
    return near && has(*near) ? of_class(*near) : KernelBasis::any;
}

std::string_view KernelBases::farther(KernelBasis basis) const {
    if (products < basis) return "attention";
    return attention < basis ? "products" : "kernels";
}

KernelBases training_kernels(AcceleratorProfile const& accelerator, std::string_view format) {
    return bases_of(accelerator, format, prompt_attention(accelerator));
}

KernelBases serving_kernels(AcceleratorProfile const& accelerator, std::string_view format) {
    return bases_of(accelerator, format, std::max(prompt_attention(accelerator), cache_attention(accelerator)));
}

}  // namespace sextant

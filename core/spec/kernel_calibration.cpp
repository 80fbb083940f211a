#include "core/spec/kernel_calibration.hpp"

#include <cmath>

namespace sextant {

bool KernelCalibration::grids_hold(std::int64_t multiprocessors) const {
    constexpr double about = 0.05;  // B200 and GB200 have 148 and 152 of the same chip's, H100 SXM and PCIe 132 and 114
    auto const own = static_cast<double>(grid_multiprocessors);
    return !is_class() || std::abs(static_cast<double>(multiprocessors) - own) <= about * own;
}

KernelFit const* KernelCalibration::find(KernelKind kind, std::string_view variant) const {
    for (KernelFit const& fit : fits)
        if (fit.kind == kind && fit.variant == variant) return &fit;
    return nullptr;
}

std::string_view training_library(std::string_view variant) {
    auto const at = variant.find(" sdpa_");
    if (at == std::string_view::npos) return {};
    variant.remove_prefix(at + 1);
    return variant.substr(0, variant.find('/'));
}

KernelCalibration read_kernel_calibration_file(std::string const& path) {
    return read_kernel_calibration(ObjectReader(JsonDocument::from_file(path)));
}

}  // namespace sextant

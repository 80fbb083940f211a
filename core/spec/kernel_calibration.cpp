#include "core/spec/kernel_calibration.hpp"

namespace sextant {

KernelFit const* KernelCalibration::find(KernelKind kind, std::string_view variant) const {
    for (KernelFit const& fit : fits)
        if (fit.kind == kind && fit.variant == variant) return &fit;
    return nullptr;
}

KernelCalibration read_kernel_calibration_file(std::string const& path) {
    return read_kernel_calibration(ObjectReader(JsonDocument::from_file(path)));
}

}  // namespace sextant

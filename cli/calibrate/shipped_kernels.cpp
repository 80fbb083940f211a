#include "cli/calibrate/shipped_kernels.hpp"

#include "core/spec/kernel_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace sextant::cli {

ShippedFits shipped_fits(AcceleratorProfile const& device) {
    return [device](KernelKind kind, std::string const& variant, KernelFitChoices& out) {
        bool const has_own = device.kernels && !device.kernels->is_class();
        for (auto const& calibration :
             {has_own ? device.kernels : nullptr, shipped_kernel_calibration(kernel_class(device, kind, variant)),
              shipped_kernel_calibration("class-any")}) {
            out.shipped = calibration ? calibration->find(kind, variant) : nullptr;
            if (out.shipped == nullptr) continue;
            out.of_class = calibration->is_class();
            out.refines = !out.shipped->residual.empty() && calibration->grids_hold(device.multiprocessors.value);
            return;
        }
    };
}

void keep_others(KernelCalibration& own, AcceleratorProfile const& device, CommandContext& context) {
    if (device.kernels == nullptr || device.kernels->is_class()) return;
    std::string kept;
    for (std::string const& source : device.kernels->sources)
        if (std::find(own.sources.begin(), own.sources.end(), source) == own.sources.end())
            own.sources.push_back(source);
    for (KernelFit const& fit : device.kernels->fits) {
        if (own.find(fit.kind, fit.variant) != nullptr) continue;
        own.fits.push_back(fit);
        if (fit.sources.empty()) own.fits.back().sources = device.kernels->sources;
        kept += fmt::format("{}{} {}", kept.empty() ? "" : ", ", name_of(fit.kind), fit.variant);
    }
    std::string const from = fmt::format("shipped calibration '{}'", device.kernels->name);
    own.sources.push_back(from);
    if (!kept.empty()) context.err << fmt::format("kept from the {}: {}\n", from, kept);
}

}  // namespace sextant::cli

#include "cli/calibrate/shipped_kernels.hpp"

#include "core/spec/kernel_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

namespace sextant::cli {

ShippedFits shipped_fits(AcceleratorProfile const& device) {
    std::vector<std::shared_ptr<KernelCalibration const>> from;
    if (device.kernels && !device.kernels->is_class()) from.push_back(device.kernels);
    for (std::string const& name : {"class-" + device.generation, std::string("class-any")})
        if (auto of_class = shipped_kernel_calibration(name)) from.push_back(std::move(of_class));
    auto const multiprocessors = device.multiprocessors.value;
    return [from, multiprocessors](KernelKind kind, std::string const& variant, KernelFitChoices& out) {
        for (auto const& calibration : from) {
            out.shipped = calibration->find(kind, variant);
            if (out.shipped == nullptr) continue;
            out.of_class = calibration->is_class();
            out.refines = !out.shipped->residual.empty() && calibration->grids_hold(multiprocessors);
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

#include "cli/calibrate/kernel_warnings.hpp"

#include <fmt/format.h>

#include <ostream>

namespace sextant::cli {

void warn_of_peak(KernelFit const& fit, std::string const& name, CommandContext& context) {
    constexpr double by_clock = 1.03;  // what raised clocks may add
    if (fit.large_efficiency > by_clock)
        context.err << fmt::format(
            "warning: {}: {} {}: large shapes reach {:.2f} of the stated peak (are the rows of this device, and in "
            "this format?)\n",
            name, name_of(fit.kind), fit.variant, fit.large_efficiency);
}

void warn_of_waits(KernelFit const& fit, KernelFit const& shipped, std::string const& name, CommandContext& context) {
    constexpr double many_times = 1.5;
    constexpr double little = 1.5e-6;
    auto const constants = kernel_constants(fit.kind);
    for (std::size_t i = 0; i < constants.size(); ++i) {
        double const more = fit.constants[i] - shipped.constants[i];
        if (constants[i].name != "launch" || more < little || fit.constants[i] < many_times * shipped.constants[i])
            continue;
        context.err << fmt::format(
            "warning: {}: {} {}: every call takes {:.1f} us more than where kernels follow one another, as they do in "
            "a step; were times taken around each call? Time a graph, or many calls together\n",
            name, name_of(fit.kind), fit.variant, more * 1e6);
    }
}

}  // namespace sextant::cli

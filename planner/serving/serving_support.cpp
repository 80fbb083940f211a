#include "planner/serving/serving_support.hpp"

#include "core/spec/kernel_calibration.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/kernel_constants.hpp"
#include "planner/support.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sextant {
namespace {

void widen(ServingSupport& out, double low, double high, std::string term) {
    for (EngineInterval* const interval : {&out.interval, &out.first_token}) {
        interval->low /= low;
        interval->high *= high;
    }
    out.terms.push_back(std::move(term));
}

void add_kernels(ServingSupport& out, AcceleratorProfile const& device, std::string const& format) {
    auto const& kernels = device.kernels;
    if (!kernels || (kernels->is_class() && kernels->generation == "*"))
        return widen(out, 1.25, 2.5,
                     fmt::format("kernels on {}: no device of its generation was measured", device.name));
    if (kernels->is_class())
        widen(out, 1.1, 1.1, fmt::format("kernels on {}: others of its generation were measured", device.name));
    if (kernels->find(KernelKind::gemm, format) == nullptr || runs_kernels_of_others(device, KernelKind::gemm, format))
        widen(out, 1.25, 1.25, fmt::format("{} products on {}: not measured on its generation", format, device.name));
}

/// What a host takes is of one machine: a profile that one device's rows moved says less of others.
void add_engine(ServingSupport& out, EngineProfile const& engine, AcceleratorProfile const& device) {
    constexpr double elsewhere = 1.4;  // assumed
    auto const& devices = engine.fitted_on;
    if (devices.empty() || std::find(devices.begin(), devices.end(), device.name) != devices.end()) return;
    widen(out, elsewhere, elsewhere,
          fmt::format("{} on {}: its profile was fitted on {}", engine.name, device.name, fmt::join(devices, ", ")));
}

}  // namespace

ServingSupport serving_support(ServingCase const& what) {
    ServingSupport out{.interval = what.engine.interval, .first_token = what.engine.first_token_interval, .terms = {}};
    add_kernels(out, what.cluster.accelerator, what.plan.weights);
    add_engine(out, what.engine, what.cluster.accelerator);
    for (std::string& term : unmeasured_networks(what.cluster, what.plan.accelerators()))
        widen(out, 1.25, 1.25, std::move(term));
    if (what.plan.pp > 1) widen(out, 1.25, 1.25, "pipeline stages: no measured run had more than one");
    if (what.plan.attention_dp > 1)
        widen(out, 1.25, 1.25, "attention groups: of the measured runs one had more than one");
    if (what.model.attention.index) widen(out, 1.25, 1.25, "sparse attention: its kernels were not measured");
    if (what.model.recurrent) widen(out, 1.25, 1.25, "recurrent layers: their kernels were not measured");
    return out;
}

}  // namespace sextant

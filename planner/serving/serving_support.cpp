#include "planner/serving/serving_support.hpp"

#include "planner/kernel_bases.hpp"
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
    KernelBases const kernels = serving_kernels(device, format);
    KernelBasis const farthest = kernels.farthest();
    if (farthest == KernelBasis::any)
        return widen(
            out, 1.25, 2.5,
            fmt::format("{} on {}: no device of its generation was measured", kernels.farther(farthest), device.name));
    if (farthest != KernelBasis::device)
        widen(out, 1.1, 1.1,
              fmt::format("{} on {}: others of its generation were measured", kernels.farther(KernelBasis::generation),
                          device.name));
    if (kernels.format >= KernelBasis::others)
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

ServingSupport serving_support(ServingCase const& prompts, ServingCase const& decodes) {
    ServingSupport out = serving_support(decodes);
    ServingSupport of_prompts = serving_support(prompts);
    out.first_token = of_prompts.first_token;
    for (std::string& term : of_prompts.terms)
        if (std::find(out.terms.begin(), out.terms.end(), term) == out.terms.end())
            out.terms.push_back(std::move(term));
    return out;
}

}  // namespace sextant

#include "calibrate/class_profile.hpp"

#include "core/quantile.hpp"
#include "cost_models/class_scaling.hpp"

#include <map>
#include <string_view>

namespace sextant {

ClassProfile class_profile(std::vector<KernelMeasurement> const& rows) {
    std::map<std::string_view, AcceleratorProfile const*> devices;
    for (KernelMeasurement const& row : rows)
        devices.emplace(row.device->name, row.device);
    std::vector<double> memory, vectors, per_joule;
    for (auto const& [name, device] : devices) {
        memory.push_back(device->memory_efficiency.value);
        vectors.push_back(vector_share(*device));
        per_joule.push_back(flops_per_joule(*device));
    }
    if (devices.empty()) return {};
    return {.memory_efficiency = quantile_of(memory, 0.5),
            .vector_share = quantile_of(vectors, 0.5),
            .flops_per_joule = quantile_of(per_joule, 0.5)};
}

}  // namespace sextant

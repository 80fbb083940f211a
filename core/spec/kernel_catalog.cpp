#include "core/spec/kernel_catalog.hpp"

#include "core/embedded_text.hpp"

#include <map>
#include <mutex>
#include <string>

namespace sextant {

std::shared_ptr<KernelCalibration const> shipped_kernel_calibration(std::string_view name) {
    static std::mutex guard;
    static std::map<std::string, std::shared_ptr<KernelCalibration const>, std::less<>> read;
    std::lock_guard const lock(guard);
    if (auto const found = read.find(name); found != read.end()) return found->second;
    std::shared_ptr<KernelCalibration const> calibration;
    for (EmbeddedText const& entry : embedded_kernels()) {
        if (entry.name != name) continue;
        auto const document = JsonDocument::from_text(
            entry.text, "hardware_profiles/calibrations/kernels/" + std::string(name) + ".json");
        calibration = std::make_shared<KernelCalibration const>(read_kernel_calibration(ObjectReader(document)));
    }
    return read.emplace(name, std::move(calibration)).first->second;
}

void attach_kernels(AcceleratorProfile& profile) {
    for (std::string const& name : {profile.name, "class-" + profile.generation, std::string("class-any")}) {
        profile.kernels = shipped_kernel_calibration(name);
        if (profile.kernels) return;
    }
}

}  // namespace sextant

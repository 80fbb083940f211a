#include "kernels/cuda/busy_clocks.hpp"

#include <cmath>
#include <utility>

#include "kernels/cuda/device_timer.hpp"

namespace sextant::bench {

void BusyClocks::read() {
    last_ = read_clocks(work_device());
    if (!std::isnan(last_.sm_mhz)) sm_mhz_.push_back(last_.sm_mhz);
    throttle_ |= last_.throttle;
    known_ = known_ || last_.known;
}

void BusyClocks::describe(Timing& timing) const {
    timing.sm_clock_mhz = sm_mhz_.empty() ? Row::unset : summarise(sm_mhz_).median;
    timing.mem_clock_mhz = last_.memory_mhz;
    timing.throttle = known_ ? throttle_text(throttle_) : "unknown";
}

std::string throttle_text(unsigned long long reasons) {
    // Source: nvml.h, nvmlClocksEventReasons. Idle, application clocks and the display clock are no throttling.
    constexpr std::pair<unsigned long long, char const*> names[] = {
        {0x4, "sw_power_cap"}, {0x8, "hw_slowdown"}, {0x10, "sync_boost"},
        {0x20, "sw_thermal"},  {0x40, "hw_thermal"}, {0x80, "power_brake"},
    };
    std::string text;
    for (auto const& [bit, name] : names)
        if (reasons & bit) text += (text.empty() ? "" : "+") + std::string(name);
    return text.empty() ? "none" : text;
}

}  // namespace sextant::bench

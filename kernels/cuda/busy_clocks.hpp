#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/clocks.hpp"
#include "kernels/harness/bench.hpp"

namespace sextant::bench {

/// The clocks of one measurement, read again and again while the device is busy: an idle one lowers them, and has no
/// reason to.
class BusyClocks {
public:
    /// Between what was enqueued and the wait for it.
    void read();
    /// Of the multiprocessors, as it was last; NaN where it is not known.
    double sm_mhz() const { return last_.sm_mhz; }
    /// The median clock of the multiprocessors, that of the memory as it was last, and every reason why they were low.
    void describe(Timing& timing) const;

private:
    Clocks last_;
    std::vector<double> sm_mhz_;  ///< every reading
    unsigned long long throttle_ = 0;
    bool known_ = false;
};

/// "none", or names joined by "+": sw_power_cap, hw_slowdown, sw_thermal, hw_thermal, power_brake, ...
std::string throttle_text(unsigned long long reasons);

}  // namespace sextant::bench

#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/hardware_profile.hpp"

#include <string>
#include <vector>

namespace sextant {

/// One value of a profile, ready for a report: "peak.bf16" = 9.894e14 FLOP/s, "989.4 TFLOP/s", datasheet.
struct ProfileValue {
    std::string key;   ///< as in the file
    double base = 0;   ///< in `unit`
    std::string unit;  ///< SI base unit ("B/s"), empty for fractions and counts
    std::string text;  ///< for reading
    Basis basis = Basis::assumed;
    std::string source;
};

/// Every sourced value, in the order of the file.
std::vector<ProfileValue> values_of(AcceleratorProfile const& accelerator);
/// The network's and the host's values, without the accelerator's.
std::vector<ProfileValue> values_of(ClusterSpec const& cluster);
std::vector<ProfileValue> values_of(FrameworkTiming const& timing);
std::vector<ProfileValue> values_of(FrameworkMemory const& memory);
/// With those that are as in `memory`.
std::vector<ProfileValue> values_of(GenerationMemory const& memory_on);

}  // namespace sextant

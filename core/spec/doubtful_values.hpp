#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/hardware_profile.hpp"

#include <string>
#include <vector>

namespace sextant {

/// Values of a profile that no device or network has, one sentence each, with the likely slip (a unit, a sparse rate, a
/// figure of both directions). Shipped profiles have none. They are read all the same: a device to come may have them.
std::vector<std::string> doubtful_values(AcceleratorProfile const& profile);

/// Those of its device and of its networks.
std::vector<std::string> doubtful_values(ClusterSpec const& cluster);

/// All that a report says of a machine's file: the device and the networks that are not those of the shipped name that
/// they bear, and the values above.
std::vector<std::string> notes_on_profile(ClusterSpec const& cluster);

}  // namespace sextant

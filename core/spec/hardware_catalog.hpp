#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/network_calibration.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

// Names are compared without case and punctuation ("H100-SXM" is "h100-sxm"), by name first, then by alias. Clusters
// and frameworks may have changes behind their name, "h100-sxm:inter_node_bandwidth=x0.5"
// (core/spec/profile_change.hpp).

/// The accelerator of this name or alias, or the file when `name` ends in ".json".
/// @throws InputError with the nearest name and all of them, or what is wrong with the file.
AcceleratorProfile find_accelerator(std::string_view name, std::string_view where);

/// The cluster of this name or alias, or the file when `name` ends in ".json", with its network model.
/// @throws InputError with the nearest name and all of them, or what is wrong with the file.
ClusterSpec find_cluster(std::string_view name, std::string_view where);

/// The framework of this name or alias, or the file when `name` ends in ".json".
FrameworkProfile find_framework(std::string_view name, std::string_view where);

/// Everything the program carries, in the order of hardware_profiles/catalog.cmake. Read once, then kept.
std::vector<AcceleratorProfile> const& all_accelerators();
std::vector<ClusterSpec> const& all_clusters();
std::vector<FrameworkProfile> const& all_frameworks();
/// Fitted constants of collectives: those of named clusters first, then classes, the narrower before the wider.
std::vector<NetworkCalibration> const& all_network_calibrations();
/// Those that may be for this cluster: the ones that say its name and, unless these have constants of each of its
/// networks, classes of its kinds. `apply_network_calibrations` chooses among them as among all. No other file is read.
std::vector<NetworkCalibration> network_calibrations_for(ClusterSpec const& cluster);
/// The same for a cluster of a user's file, which may bear a shipped name: constants of the shipped cluster only for
/// networks of its kind (and, inside a domain, its generation of accelerators), else those of the class.
std::vector<NetworkCalibration> network_calibrations_for_own(ClusterSpec const& cluster);
/// Sentences on the device and the networks of a user's file that bear a shipped name and are not those.
std::vector<std::string> namesake_notes(ClusterSpec const& cluster);

/// The entry of this name or alias in the lists above, or null.
AcceleratorProfile const* known_accelerator(std::string_view name);
ClusterSpec const* known_cluster(std::string_view name);
FrameworkProfile const* known_framework(std::string_view name);

/// The cluster to assume for a device as measurement files write it ("NVIDIA H100 80GB HBM3", "A100-SXM4-80GB", "TPU
/// v5p"): the first in the catalog with that accelerator; or the machine that they name ("p4de.24xlarge"). Nothing for
/// a device that has no profile: that is a skip, not a guess.
std::optional<ClusterSpec> cluster_for_device(std::string_view device);

}  // namespace sextant

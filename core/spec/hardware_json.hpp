#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/hardware_profile.hpp"

namespace sextant {

// The three formats of docs/formats.md. A value is written bare ("3.35 TB/s", 0.78), and then has the `basis` and
// `source` of the object or file it stands in, or as {"value", "basis", "source"}. A file without a `source` of its own
// gives `assumed` values.

/// Reads format `accelerator`, version 1.
/// @throws InputError: an unknown or missing key, a wrong unit, a rate or capacity that is not positive, an efficiency
/// outside (0, 1].
AcceleratorProfile read_accelerator(ObjectReader in);
/// The same without its kernels.
AcceleratorProfile read_accelerator_values(ObjectReader in);

/// Reads format `cluster`, version 1. `accelerator` is a catalog name or an object of format `accelerator`;
/// efficiencies and latencies that the file leaves out are those of the kind of network, and `assumed`.
/// @throws InputError as above, and when a torus has no axes or a domain no accelerator.
ClusterSpec read_cluster(ObjectReader in);

/// Reads format `framework`, version 1. The first timing entry is for every generation and precision and complete; the
/// others give only what differs from it.
FrameworkProfile read_framework(ObjectReader in);

/// The text that `read_framework` reads back with equal values (to the digits written).
std::string framework_json(FrameworkProfile const& framework);

}  // namespace sextant

#pragma once

#include "core/spec/cluster_spec.hpp"

#include <optional>

namespace sextant {

/// US dollars per accelerator and hour: the cluster's own, else the accelerator's, else nothing is known.
std::optional<Sourced<double>> hourly_price(ClusterSpec const& cluster);

}  // namespace sextant

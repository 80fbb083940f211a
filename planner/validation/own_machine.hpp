#pragma once

#include "core/spec/cluster_spec.hpp"

#include <string_view>

namespace sextant {

/// Whether a table's word for a device is that of this machine's accelerator, by its own names or by a shipped one of
/// the same name.
bool has_device(ClusterSpec const& machine, std::string_view device);

}  // namespace sextant

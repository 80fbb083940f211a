#pragma once

#include "core/spec/cluster_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

struct FabricSetting {
    std::string name;
    std::string value;
    std::string reason;
};

/// Environment of the communication library, as far as the description of a cluster decides it.
struct FabricEnvironment {
    std::vector<FabricSetting> settings;
    std::vector<std::string> remarks;  ///< what only the site knows: device names, traffic classes, plugins
};

/// For a job over `nodes` nodes. Nothing is set that the cluster's description does not say: names of devices and of
/// interfaces are left as remarks. Sources: NCCL's user guide (environment variables), AWS's and HPE's guides to their
/// libfabric providers, Google's to GPUDirect-TCPX.
FabricEnvironment fabric_environment(ClusterSpec const& cluster, std::int64_t nodes);

/// Name of the accelerator as a resource of Kubernetes, empty where there is no usual one.
std::string accelerator_resource(ClusterSpec const& cluster);

}  // namespace sextant

#pragma once

#include "cli/output.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"

#include <optional>
#include <string>

namespace sextant::cli {

/// What `sextant hardware show` shows: a cluster with its accelerator, an accelerator alone, or a framework.
struct HardwareSelection {
    std::optional<ClusterSpec> cluster{};
    std::optional<AcceleratorProfile> accelerator{};
    std::optional<FrameworkProfile> framework{};
};

/// Everything the program carries. Sample of the text:
///
///     Accelerators
///     name      title                  bf16           fp8             memory   bandwidth  USD/h
///     --------  ---------------------  -------------  --------------  -------  ---------  -----
///     h100-sxm  NVIDIA H100 SXM5 80GB  989.4 TFLOP/s  1.979 PFLOP/s  85.52 GB  3.35 TB/s   2.95
std::string hardware_list(Format format);

/// Each value with its basis and source. Sample of the text:
///
///     value                       is         basis      source
///     --------------------------  ---------  ---------  ---------------------
///     memory_bandwidth            3.35 TB/s  datasheet  NVIDIA H100 datasheet
std::string hardware_details(HardwareSelection const& selection, Format format);

std::string hardware_list_json();
std::string hardware_details_json(HardwareSelection const& selection);

}  // namespace sextant::cli

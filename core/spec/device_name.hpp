#pragma once

#include "core/spec/hardware_profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// A device's name taken apart: "NVIDIA A100-SXM4-80GB", "8 x A100 80 GB SXM" and "a100_sxm_80g" are all a100, sxm, 80.
struct DeviceName {
    std::string chip;            ///< letters and digits that are left, in order: "a100", "rtx4090", "tpuv5e"
    std::string form;            ///< "sxm", "pcie" or "nvl"; empty: not said
    std::int64_t memory_gb = 0;  ///< as printed; 0: not said
    auto operator<=>(DeviceName const&) const = default;
};

/// Makers' and brand names, the type of memory, a count of devices ("8x", "x 16") and the chips of a TPU's slice
/// ("v5e-256") say nothing and are dropped. What is not
/// known stays in `chip`, so that a remark ("H200 (or B200)") makes another device of it.
DeviceName device_name(std::string_view text);

/// How many devices a name counts that `device_name` does not look at: 8 of "8xH100" and "H100 x8", 64 of "v5p-128",
/// since slices of TPU v2 to v5p are called by their cores, of which a chip has two; 16 of "v5e-16". 0: it counts none.
/// Source: Google Cloud, "TPU configurations" (v5e and v6e by chips, older ones by TensorCores).
std::int64_t devices_counted(std::string_view text);

/// True if one of the profile's names is this one, however it is written.
bool is_named(AcceleratorProfile const& profile, DeviceName const& wanted);

/// True if one of the profile's names is of this chip and form, and the profile's capacity is within 5 % of the stated
/// memory, in powers of 1000 or of 1024.
bool may_be_named(AcceleratorProfile const& profile, DeviceName const& wanted);

}  // namespace sextant

#include "cli/calibrate/named_otherwise.hpp"

#include "core/spec/device_name.hpp"
#include "core/spec/hardware_catalog.hpp"

#include <fmt/format.h>

namespace sextant::cli {

void count_named_otherwise(NamedOtherwise& counts, std::string const& named, AcceleratorProfile const& device) {
    if (named.empty() || is_named(device, device_name(named))) return;
    AcceleratorProfile const* const known = known_accelerator(named);
    if (known != nullptr && known->name == device.name) return;
    ++counts[known != nullptr ? known->name : named];
}

std::string named_otherwise_text(NamedOtherwise const& counts, std::string const& device, std::string_view why) {
    std::string out;
    for (auto const& [name, count] : counts)
        out +=
            fmt::format("{} rows that name {} are taken as those of {}, {}\n", count, name.substr(0, 60), device, why);
    if (counts.size() > 1)
        out +=
            fmt::format("warning: rows of {} devices that are not {} are fitted as one (one calibration is of one)\n",
                        counts.size(), device);
    return out;
}

}  // namespace sextant::cli

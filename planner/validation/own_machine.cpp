#include "planner/validation/own_machine.hpp"

#include "core/spec/device_name.hpp"
#include "core/spec/hardware_catalog.hpp"

namespace sextant {

bool has_device(ClusterSpec const& machine, std::string_view device) {
    AcceleratorProfile const& own = machine.accelerator;
    AcceleratorProfile const* const known = known_accelerator(device);
    return is_named(own, device_name(device)) || (known != nullptr && known->name == own.name);
}

}  // namespace sextant

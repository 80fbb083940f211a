#include "calibrate/class_profile.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "tests/catch.hpp"

using namespace sextant;

TEST_CASE("class_profile: the median over devices, however many rows each has") {
    AcceleratorProfile fast = find_accelerator("h100-sxm", "test");
    AcceleratorProfile middle = find_accelerator("l40s", "test");
    AcceleratorProfile slow = find_accelerator("b200-sxm", "test");
    fast.memory_efficiency.value = 0.9;
    middle.memory_efficiency.value = 0.8;
    slow.memory_efficiency.value = 0.5;
    std::vector<KernelMeasurement> rows;
    for (AcceleratorProfile const* device : {&fast, &fast, &fast, &fast, &middle, &slow})
        rows.push_back({.row = {}, .device = device, .kind = KernelKind::gemm, .variant = "bf16"});
    ClassProfile const profile = class_profile(rows);
    CHECK(profile.memory_efficiency == 0.8);
    CHECK(profile.vector_share == Approx(66.9 / 989.4));  // of H100, between B200 and L40S
    CHECK(profile.flops_per_joule == Approx(989.4e12 / 700));
    CHECK(class_profile({}).memory_efficiency == 0);
}

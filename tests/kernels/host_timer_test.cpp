#include "kernels/host/timer.hpp"

#include "tests/catch.hpp"

namespace sextant::bench {

TEST_CASE("processor_name: rows of different processors have different devices, also where Linux has no name for them",
          "[host]") {
    CHECK(processor_name("processor\t: 0\nmodel name\t: Some Processor 9\ncpu MHz\t\t: 2450.0\n") ==
          "Some Processor 9");
    std::string const start = "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n";
    CHECK(processor_name(start + "CPU part\t: 0xd4f\n") == "Arm 0x41 0xd4f");
    CHECK(processor_name(start + "CPU part\t: 0xd40\n") == "Arm 0x41 0xd40");
    CHECK(processor_name("") == "unknown processor");
    CHECK_FALSE(processor_name().empty());
}

}  // namespace sextant::bench

#pragma once

#include <string>
#include <string_view>

namespace sextant::cli {

/// A name and a factor: "3:1.3x", "node0.*.nic.out:0.5".
struct NamedFactor {
    std::string name;
    double factor = 1;
};

/// Reads NAME:FACTOR, with an x after the factor if one likes. @throws InputError with the flag and the example.
NamedFactor named_factor(std::string const& text, std::string_view flag, std::string_view example);

}  // namespace sextant::cli

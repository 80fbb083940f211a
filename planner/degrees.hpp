#pragma once

#include <cstdint>
#include <vector>

namespace sextant {

/// 1, 2, 4, ... up to `most`.
inline std::vector<std::int64_t> powers_of_two(std::int64_t most) {
    std::vector<std::int64_t> values;
    for (std::int64_t v = 1; v <= most; v *= 2)
        values.push_back(v);
    return values;
}

}  // namespace sextant

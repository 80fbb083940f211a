#include "kernels/harness/generated_arrays.hpp"

#include <string>

namespace sextant::bench {

std::vector<double> generated(std::uint64_t seed, std::int64_t first, std::int64_t count, char const* dtype,
                              double scale) {
    std::vector<double> values(static_cast<std::size_t>(count));
    std::string const name = dtype;
    FloatFormat const* format = name == "fp32" ? nullptr : &float_format(name);
    for (std::int64_t i = 0; i < count; ++i) {
        float const value = value_at(seed, static_cast<std::uint64_t>(first + i)) * static_cast<float>(scale);
        values[static_cast<std::size_t>(i)] =
            format == nullptr ? static_cast<double>(value) : rounded(*format, static_cast<double>(value));
    }
    return values;
}

}  // namespace sextant::bench

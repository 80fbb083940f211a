#pragma once

#include <cstdint>
#include <vector>

#include "kernels/harness/generated_values.hpp"
#include "kernels/simt/simt.cuh"

/// Arrays that kernels of the emulation read and write, and their values in double precision.
namespace sextant::bench {

template <class T>
std::vector<T> device_array(std::int64_t count, std::uint64_t seed, float scale = 1.0f) {
    std::vector<T> array(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < array.size(); ++i)
        array[i] = device::from_float<T>(scale * value_at(seed, i));
    return array;
}

/// An output that nobody has written: every element is NaN.
template <class T>
std::vector<T> unwritten(std::int64_t count) {
    return std::vector<T>(static_cast<std::size_t>(count), device::from_float<T>(std::nanf("")));
}

template <class T>
std::vector<double> doubles(std::vector<T> const& array) {
    std::vector<double> values;
    values.reserve(array.size());
    for (T const value : array)
        values.push_back(static_cast<double>(device::to_float(value)));
    return values;
}

/// Elements [first, first + count) of `values`.
inline std::vector<double> part(std::vector<double> const& values, std::int64_t first, std::int64_t count) {
    return {values.begin() + first, values.begin() + first + count};
}

}  // namespace sextant::bench

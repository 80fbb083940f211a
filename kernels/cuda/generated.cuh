#pragma once

// Inputs made on the device, and the same values on the host for the references.

#include <algorithm>
#include <functional>

#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/kernels/fill.cuh"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/bench.hpp"
#include "kernels/harness/generated_arrays.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/simt/launch.cuh"

namespace sextant::bench {

inline int multiprocessors() {
    int device = 0, count = 0;
    check(cudaGetDevice(&device), "asking for the device");
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking for the device");
    return count;
}

/// Blocks of 256 threads for `items` independent items: as many as fill the device several times over, at most.
inline unsigned blocks_for(std::int64_t items) {
    std::int64_t const most = std::int64_t{32} * multiprocessors();
    return static_cast<unsigned>(std::clamp<std::int64_t>((items + 255) / 256, 1, most));
}
constexpr unsigned elementwise_threads = 256;

/// Threads of a block that handles one row of `columns` elements, 8 at a time.
inline unsigned row_threads(std::int64_t columns) {
    return static_cast<unsigned>(std::clamp<std::int64_t>((columns / 8 + 31) / 32 * 32, 32, 512));
}

template <class T>
char const* dtype_name();
template <>
inline char const* dtype_name<float>() {
    return "fp32";
}
template <>
inline char const* dtype_name<device::bf16>() {
    return "bf16";
}
template <>
inline char const* dtype_name<device::fp16>() {
    return "fp16";
}
template <>
inline char const* dtype_name<device::fp8>() {
    return "e4m3";
}

/// Device array of generated(seed, 0, count, T, scale).
template <class T>
DeviceArray<T> device_values(std::int64_t count, std::uint64_t seed, float scale = 1.0f) {
    DeviceArray<T> array(count);
    launch({blocks_for(count), elementwise_threads, work_stream()}, device::fill_values<T>, count, seed, scale,
           array.data());
    check(cudaStreamSynchronize(work_stream()), "filling an input");
    return array;
}

/// The same elements in double precision.
template <class T>
std::vector<double> host_values(std::uint64_t seed, std::int64_t first, std::int64_t count, float scale = 1.0f) {
    return generated(seed, first, count, dtype_name<T>(), static_cast<double>(scale));
}

/// Elements of a device array in double precision. Narrow formats come over as bits and are decoded by the host's own
/// arithmetic, so that a fault in the device's conversions shows.
inline double decoded_value(float x) { return static_cast<double>(x); }
inline double decoded_value(device::bf16 x) {
    return decoded(bf16_format, *reinterpret_cast<std::uint16_t const*>(&x));
}
inline double decoded_value(device::fp16 x) {
    return decoded(fp16_format, *reinterpret_cast<std::uint16_t const*>(&x));
}
inline double decoded_value(device::fp8 x) { return decoded(e4m3, x.bits); }
template <class T>
std::vector<double> read_values(DeviceArray<T> const& array, std::int64_t first, std::int64_t count) {
    std::vector<double> values;
    for (T const& value : array.read(first, count))
        values.push_back(decoded_value(value));
    return values;
}

/// First, middle and last of `count`.
inline std::vector<std::int64_t> sampled(std::int64_t count) {
    std::vector<std::int64_t> all;
    for (std::int64_t const one : {std::int64_t{0}, count / 2, count - 1})
        if (all.empty() || one > all.back()) all.push_back(one);
    return all;
}

inline void add_all(RelativeError& error, std::vector<double> const& got, std::vector<double> const& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
        error.add(got.at(i), wanted[i]);
}

/// A result rounded to bf16 once or twice.
constexpr double bf16_tolerance = 2.0 / 128;

/// A problem that is timed by time_on_device.
inline Prepared prepared_on_device(double error, double tolerance, DeviceWork work, std::string note = {}) {
    Prepared prepared;
    prepared.max_rel_error = error;
    prepared.tolerance = tolerance;
    prepared.note = std::move(note);
    prepared.measure = [work = std::move(work)](Variant variant, StopRule const& rule) {
        return time_on_device(work, variant, rule);
    };
    return prepared;
}

/// A problem with names and sizes of a [m, n] kernel. The time is guessed at 1 TB/s (assumed).
inline Problem matrix_problem(char const* kernel, char const* dtype, std::int64_t m, std::int64_t n, double bytes) {
    Problem problem;
    problem.kernel = kernel;
    problem.dtype = dtype;
    problem.shape.m = m;
    problem.shape.n = n;
    problem.bytes = bytes;
    problem.expected_s = 5e-6 + bytes / 1e12;
    problem.variants = device_variants();
    return problem;
}

/// Without the problems whose operands do not fit.
inline std::vector<Problem> fitting(std::vector<Problem> problems, Scope const& scope) {
    std::erase_if(problems, [&](Problem const& problem) {
        return 1.5 * problem.bytes > static_cast<double>(scope.memory_limit);
    });
    return problems;
}

}  // namespace sextant::bench

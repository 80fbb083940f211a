#pragma once

#include <cstdint>
#include <string>

#include "kernels/harness/bench.hpp"
#include "kernels/harness/references.hpp"
#include "kernels/host/quantisation.hpp"

/// The parts of the `accuracy` benchmark: generated inputs, error measures, and the tests that take several tensors.
namespace sextant::bench {

struct Distribution {
    char const* name;
    bool quick;  ///< also a part of the quick run
    double (*value)(std::uint64_t seed, std::uint64_t index, std::uint64_t column);
};
/// @throws BadInput for an unknown name.
Distribution const& distribution(std::string const& name);
std::span<Distribution const> all_distributions();

/// [rows, columns] of it.
reference::Values matrix(Distribution const& from, std::uint64_t seed, std::int64_t rows, std::int64_t columns);

/// Sums of squares of values and of their errors.
struct ErrorSum {
    double squares = 0;
    double error_squares = 0;
    double relative = 0;  ///< sum of |error / value| where the value is not zero
    std::int64_t count = 0;
    void add(double got, double wanted);
    void add(reference::Values const& got, reference::Values const& wanted);
    [[nodiscard]] double rms() const;        ///< root of error_squares / squares
    [[nodiscard]] double mean() const;       ///< of |relative error|
    [[nodiscard]] double signal_db() const;  ///< signal over quantisation noise, -20 log10 rms; 999 where it is exact
};

/// "left+right" cut at the plus. @throws BadInput without one.
struct Pair {
    std::string first, second;
};
Pair pair_of(std::string const& text);

/// Y = X W^T with both operands quantised, against the product of the originals in double precision; sums in double,
/// so that the error is that of the formats alone. `distributions`, `scalings` and `formats` are "WEIGHTS+ACTIVATIONS".
Prepared prepare_gemm(std::string const& distributions, std::string const& scalings, std::string const& formats,
                      std::uint64_t seed);
inline constexpr std::int64_t gemm_tokens = 32, gemm_outputs = 128, gemm_inputs = 4096;

/// softmax(Q K^T / sqrt(d)) V of a head of 128 with K and V quantised as a cache, against the originals.
Prepared prepare_attention(std::string const& keys, std::string const& scaling, std::string const& format,
                           std::uint64_t seed);
inline constexpr std::int64_t cache_tokens = 512, cache_heads = 4, cache_head_dim = 128, cache_queries = 16;

}  // namespace sextant::bench

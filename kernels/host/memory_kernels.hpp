#pragma once

#include <cstdint>

#include "kernels/harness/references.hpp"

/// The memory-bound kernels in fp32, as plain loops that the compiler vectorises.
namespace sextant::bench::host_kernels {

/// y = x / sqrt(mean(x^2) + epsilon) * weight for each row of [rows, columns].
void rmsnorm(std::int64_t rows, std::int64_t columns, float const* x, float const* weight, float* y);
/// y[r, c] = silu(x[r, c]) x[r, columns + c], x [rows, 2 columns].
void swiglu(std::int64_t rows, std::int64_t columns, float const* x, float* y);
void residual_add(std::int64_t count, float const* a, float const* b, float* y);
void softmax(std::int64_t rows, std::int64_t columns, float const* x, float* y);
void adamw(reference::AdamW const& settings, std::int64_t count, float const* g, float* p, float* m, float* v);
/// Rounds to the nearest bf16, ties to even. NaN stays NaN.
void cast_to_bf16(std::int64_t count, float const* x, std::uint16_t* y);

}  // namespace sextant::bench::host_kernels

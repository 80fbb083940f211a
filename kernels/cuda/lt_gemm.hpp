#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/runtime.hpp"

namespace sextant::bench {

/// One matrix product Y[m, n] = X[m, k] W[n, k]^T (row major, as a linear layer has it), `batch` of them at equal
/// distances. All dtypes use this one layout, the only one that fp8 and int8 tensor cores take.
///
/// | dtype | X, W | Y     | sums |
/// | bf16  | bf16 | bf16  | fp32 |
/// | fp16  | fp16 | fp16  | fp32 |
/// | tf32  | fp32 | fp32  | fp32, inputs rounded to 10 bits of mantissa |
/// | e4m3  | e4m3 | bf16  | fp32, fast accumulation, scales 1 |
/// | int8  | int8 | int32 | int32 |
/// | mxfp8 | e4m3 | bf16  | fp32, a scale (ue8m0) for every 32 values along k, all 1 |
/// | nvfp4 | e2m1 | bf16  | fp32, a scale (ue4m3) for every 16 values along k, all 1 |
class LtGemm {
public:
    /// Plans the product: asks cuBLASLt for its best algorithms.
    /// @throws Unavailable when cuBLASLt has no algorithm for it on this device.
    LtGemm(std::string const& dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch);
    ~LtGemm();
    LtGemm(LtGemm const&) = delete;
    LtGemm& operator=(LtGemm const&) = delete;

    /// Times the candidates by the device's clock (warm, in turns) and keeps the fastest; returns what to note:
    /// "algorithm 2 of 5".
    /// @throws Unavailable when the device refuses all of them; std::runtime_error when one fails and none runs.
    std::string choose(void const* x, void const* w, void* y);
    /// Enqueues the product.
    void run(void const* x, void const* w, void* y, cudaStream_t stream) const;

    /// Whether values along k share scales.
    static bool scales_blocks(std::string const& dtype);
    /// Of an operand, without its scales.
    static double element_bytes(std::string const& dtype);
    /// With them.
    static double operand_bytes(std::string const& dtype);
    static double result_bytes(std::string const& dtype);

private:
    struct Plan;
    std::unique_ptr<Plan> plan_;
};

}  // namespace sextant::bench

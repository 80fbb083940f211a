#pragma once

#include "calibrate/import/importer.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Arguments of an operator that multiplies two matrices, as a trace writes them; empty: not at all.
struct KinetoProduct {
    std::string op;                                ///< "aten::mm"
    std::vector<std::int64_t> a, b;                ///< [..., k] and [k, n]; of aten::linear b is [n, k]
    std::vector<std::int64_t> a_scales, b_scales;  ///< of aten::_scaled_mm
    std::string type;                              ///< of the elements of a: "c10::BFloat16"
    std::string a_scale_type, b_scale_type;        ///< of aten::_scaled_mm
    bool in_tf32 = false;                          ///< as a kernel's name says
};

/// Whether a kernel of this name multiplies float32 in TF32. cuBLAS names those of CUTLASS by the instruction
/// (16 x 8 x 8, "cutlass_80_tensorop_s1688gemm_..."), which takes operands of four bytes in TF32 alone.
bool is_tf32_kernel(std::string_view name);

/// The row of such an operator; source, device and time are left empty. Two values of Float4_e2m1 are in one element,
/// so k is twice its size. Products with more than one scale along k are fp8_block, and those of e5m2 (gradients) are
/// what those of e4m3 are.
/// @throws RowSkip: no shapes, shapes that do not fit, a format that is not stated, or scales that are powers of two.
/// Source: PyTorch aten/src/ATen/native/cuda/Blas.cpp, _scaled_mm; NVIDIA/cutlass tools/library/include (names).
ImportedProduct kineto_product(KinetoProduct const& of);

}  // namespace sextant

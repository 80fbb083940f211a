// cuBLASLt for the emulated device: column-major products D = alpha op(A) op(B) + beta C, batches of them, of the
// formats that the benchmarks use, computed element by element in double precision and rounded once. Source: cuBLAS
// documentation, sections cublasLtMatmul (supported combinations, alignment) and cublasLtMatrixLayoutAttribute_t.
#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/harness/float_formats.hpp"
#include "kernels/simt/device.hpp"

struct cublasLtContext {};

namespace sextant::bench::simt {
namespace {

struct Operation {
    cublasComputeType_t compute;
    cudaDataType_t scale_type;
    cublasOperation_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
    void const *scale_a = nullptr, *scale_b = nullptr;
    cublasLtMatmulMatrixScale_t mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, mode_b = mode_a;
};
struct Layout {
    cudaDataType_t type;
    std::int64_t rows, columns, leading;
    std::int32_t batch = 1;
    std::int64_t distance = 0;
};
struct Preference {
    std::size_t workspace = 0;
};

Operation& operation_of(cublasLtMatmulDesc_t handle) { return *reinterpret_cast<Operation*>(handle); }
Layout& layout_of(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<Layout*>(handle); }

std::int64_t bits_of(cudaDataType_t type) {
    if (type == CUDA_R_32F || type == CUDA_R_32I) return 32;
    if (type == CUDA_R_4F_E2M1) return 4;
    return type == CUDA_R_16BF || type == CUDA_R_16F ? 16 : 8;
}
std::int64_t bytes_of(cudaDataType_t type) { return bits_of(type) / 8; }

/// Values along k that share a scale; 0: all of a matrix do.
std::int64_t block_of(cublasLtMatmulMatrixScale_t mode) {
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0   ? 32
           : mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 ? 16
                                                              : 0;
}

/// Bytes of the scales of blocks, whole tiles of 128 rows by 4 blocks.
std::size_t scale_bytes(std::int64_t rows, std::int64_t k, std::int64_t block) {
    return static_cast<std::size_t>((rows + 127) / 128 * 128 * ((k / block + 3) / 4 * 4));
}

/// The scale of a value. Source: cuBLAS documentation, "Layout of 1D Block Scaling Factors".
double block_scale(void const* scales, cublasLtMatmulMatrixScale_t mode, std::int64_t row, std::int64_t i,
                   std::int64_t k) {
    std::int64_t const width = block_of(mode);
    if (width == 0) return 1;
    std::int64_t const block = i / width, tiles = (k / width + 3) / 4;
    std::int64_t const at = (row / 128 * tiles + block / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
    unsigned const bits = static_cast<unsigned char const*>(scales)[at];
    return width == 32 ? std::ldexp(1.0, static_cast<int>(bits) - 127)
                       : decoded(e4m3, static_cast<std::uint16_t>(bits));
}

double read(void const* matrix, cudaDataType_t type, std::int64_t index) {
    auto const* const bytes = static_cast<unsigned char const*>(matrix) + index * bits_of(type) / 8;
    if (type == CUDA_R_4F_E2M1) return decoded(e2m1, static_cast<std::uint16_t>(*bytes >> (index % 2 * 4) & 15));
    if (type == CUDA_R_8F_E4M3) return decoded(e4m3, *bytes);
    if (type == CUDA_R_8I) return static_cast<std::int8_t>(*bytes);
    if (type == CUDA_R_32I || type == CUDA_R_32F) {
        std::int32_t whole;
        float real;
        std::memcpy(&whole, bytes, 4);
        std::memcpy(&real, bytes, 4);
        return type == CUDA_R_32I ? whole : static_cast<double>(real);
    }
    std::uint16_t bits;
    std::memcpy(&bits, bytes, 2);
    return decoded(type == CUDA_R_16BF ? bf16_format : fp16_format, bits);
}

void write(void* matrix, cudaDataType_t type, std::int64_t index, double value) {
    auto* const bytes = static_cast<unsigned char*>(matrix) + index * bytes_of(type);
    if (type == CUDA_R_32I) {
        auto const whole = static_cast<std::int32_t>(value);
        std::memcpy(bytes, &whole, 4);
    } else if (type == CUDA_R_32F) {
        auto const real = static_cast<float>(value);
        std::memcpy(bytes, &real, 4);
    } else {
        auto const bits = static_cast<std::uint16_t>(encoded(type == CUDA_R_16BF ? bf16_format : fp16_format, value));
        std::memcpy(bytes, &bits, 2);
    }
}

bool aligned(Layout const& l) { return l.leading * bits_of(l.type) % 128 == 0; }

/// Whether shapes and formats go together.
bool supported(Operation const& o, Layout const& a, Layout const& b, Layout const& d) {
    bool const turned_a = o.trans_a == CUBLAS_OP_T, turned_b = o.trans_b == CUBLAS_OP_T;
    std::int64_t const m = turned_a ? a.columns : a.rows, k = turned_a ? a.rows : a.columns;
    std::int64_t const n = turned_b ? b.rows : b.columns;
    if ((turned_b ? b.columns : b.rows) != k || d.rows != m || d.columns != n) return false;
    if (a.batch != b.batch || a.batch != d.batch) return false;
    for (Layout const* l : {&a, &b, &d})
        if (l->leading < l->rows) return false;
    bool const narrow = bits_of(a.type) <= 8;
    if (narrow && (!turned_a || turned_b || !aligned(a) || !aligned(b) || !aligned(d))) return false;
    if (a.type != b.type) return false;
    if (a.type == CUDA_R_8I)
        return o.compute == CUBLAS_COMPUTE_32I && o.scale_type == CUDA_R_32I && d.type == CUDA_R_32I;
    if (o.scale_type != CUDA_R_32F) return false;
    if (a.type == CUDA_R_32F) return d.type == CUDA_R_32F && o.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (o.compute != CUBLAS_COMPUTE_32F || o.mode_a != o.mode_b) return false;
    std::int64_t const block = block_of(o.mode_a);
    if (block > 0 && (k % 32 != 0 || a.batch != 1 || major_of_devices() < 10 || d.type != CUDA_R_16BF)) return false;
    if (a.type == CUDA_R_4F_E2M1 || block == 16) return a.type == CUDA_R_4F_E2M1 && block == 16;
    if (block == 32) return a.type == CUDA_R_8F_E4M3;
    return a.type == CUDA_R_8F_E4M3 ? d.type == CUDA_R_16BF : d.type == a.type;
}

/// Whether all of a batch of matrices lies in device memory.
bool held(void const* matrix, Layout const& l) {
    std::int64_t const elements = (l.batch - 1) * l.distance + (l.columns - 1) * l.leading + l.rows;
    return on_device(matrix, static_cast<std::size_t>((elements * bits_of(l.type) + 7) / 8));
}

/// One matrix of a batch, scaled by blocks where it is, as `rows` vectors over k.
/// @param adjacent whether values along k stand beside each other
std::vector<double> values(void const* matrix, Layout const& l, bool adjacent, std::int64_t batch, std::int64_t rows,
                           std::int64_t k, void const* scales, cublasLtMatmulMatrixScale_t mode) {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(rows * k));
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < k; ++i) {
            std::int64_t const at = adjacent ? row * l.leading + i : i * l.leading + row;
            out.push_back(read(matrix, l.type, batch * l.distance + at) * block_scale(scales, mode, row, i, k));
        }
    return out;
}

void multiply(Operation const& o, double alpha, void const* a, Layout const& la, void const* b, Layout const& lb,
              double beta, void const* c, Layout const& lc, void* d, Layout const& ld) {
    auto const scale = [](void const* at, cublasLtMatmulMatrixScale_t mode) {
        return at == nullptr || block_of(mode) > 0 ? 1.0 : read(at, CUDA_R_32F, 0);
    };
    double const factor = alpha * scale(o.scale_a, o.mode_a) * scale(o.scale_b, o.mode_b);
    std::int64_t const k = o.trans_a == CUBLAS_OP_T ? la.rows : la.columns;
    for (std::int64_t batch = 0; batch < ld.batch; ++batch) {
        auto const left = values(a, la, o.trans_a == CUBLAS_OP_T, batch, ld.rows, k, o.scale_a, o.mode_a);
        auto const right = values(b, lb, o.trans_b != CUBLAS_OP_T, batch, ld.columns, k, o.scale_b, o.mode_b);
        for (std::int64_t column = 0; column < ld.columns; ++column)
            for (std::int64_t row = 0; row < ld.rows; ++row) {
                double value = factor * std::inner_product(left.begin() + row * k, left.begin() + (row + 1) * k,
                                                           right.begin() + column * k, 0.0);
                if (beta != 0) value += beta * read(c, lc.type, batch * lc.distance + column * lc.leading + row);
                write(d, ld.type, batch * ld.distance + column * ld.leading + row, value);
            }
    }
}

template <class Value>
cublasStatus_t take(Value& value, void const* from, std::size_t bytes) {
    if (bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&value, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace sextant::bench::simt

using namespace sextant::bench::simt;

extern "C" {

char const* cublasLtGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "a status of the emulated cuBLASLt";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    static cublasLtContext one;
    *handle = &one;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{.compute = compute, .scale_type = scale});
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
    delete reinterpret_cast<Operation*>(description);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, void const* value,
                                              std::size_t bytes) {
    Operation& o = operation_of(description);
    std::int8_t fast = 0;
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_TRANSA: return take(o.trans_a, value, bytes);
        case CUBLASLT_MATMUL_DESC_TRANSB: return take(o.trans_b, value, bytes);
        case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return take(o.scale_a, value, bytes);
        case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return take(o.scale_b, value, bytes);
        case CUBLASLT_MATMUL_DESC_A_SCALE_MODE: return take(o.mode_a, value, bytes);
        case CUBLASLT_MATMUL_DESC_B_SCALE_MODE: return take(o.mode_b, value, bytes);
        case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return take(fast, value, bytes);
        default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
    *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
        new Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete reinterpret_cast<Layout*>(layout);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void const* value,
                                                std::size_t bytes) {
    Layout& l = layout_of(layout);
    switch (attribute) {
        case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return take(l.batch, value, bytes);
        case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return take(l.distance, value, bytes);
        default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete reinterpret_cast<Preference*>(preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, void const* value,
                                                    std::size_t bytes) {
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CUBLAS_STATUS_NOT_SUPPORTED;
    return take(reinterpret_cast<Preference*>(preference)->workspace, value, bytes);
}

/// Three algorithms, of which the device refuses the first and the second is slower.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
    *found = 0;
    if (layout_of(c).type != layout_of(d).type ||
        !supported(operation_of(operation), layout_of(a), layout_of(b), layout_of(d)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (*found = 0; *found < std::min(most, 3); ++*found) {
        results[*found] = {};
        results[*found].algo.data[0] = static_cast<std::uint64_t>(*found) + 1;
        results[*found].state = CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, void const* alpha, void const* a,
                              cublasLtMatrixLayout_t a_layout, void const* b, cublasLtMatrixLayout_t b_layout,
                              void const* beta, void const* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, cublasLtMatmulAlgo_t const* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
    Operation const& o = operation_of(operation);
    Layout const &la = layout_of(a_layout), &lb = layout_of(b_layout), &lc = layout_of(c_layout),
                 &ld = layout_of(d_layout);
    if (algorithm == nullptr || algorithm->data[0] < 2) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!supported(o, la, lb, ld)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!held(a, la) || !held(b, lb) || !held(c, lc) || !held(d, ld) || !on_device(workspace, workspace_bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    std::int64_t const block = block_of(o.mode_a), k = o.trans_a == CUBLAS_OP_T ? la.rows : la.columns;
    for (auto const& [scale, rows] : {std::pair{o.scale_a, ld.rows}, {o.scale_b, ld.columns}})
        if ((scale != nullptr || block > 0) &&
            !on_device(scale, block > 0 ? scale_bytes(rows, k, block) : sizeof(float)))
            return CUBLAS_STATUS_INVALID_VALUE;
    double const alpha_value = read(alpha, o.scale_type, 0), beta_value = read(beta, o.scale_type, 0);
    auto const status = enqueue(
        stream, [=] { multiply(o, alpha_value, a, la, b, lb, beta_value, c, lc, d, ld); },
        algorithm->data[0] == 2 ? 1.2 * operation_seconds : operation_seconds);
    return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"

#include "kernels/cuda/lt_gemm.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/graph.hpp"
#include "kernels/harness/errors.hpp"

namespace sextant::bench {
namespace {

/// What cuBLAS itself reserves on Hopper; it has little use for more.
/// Source: cuBLAS documentation, cublasSetWorkspace (recommended size).
constexpr std::size_t workspace_bytes = 32 << 20;
constexpr int most_candidates = 8;

// How candidates are compared: as graphs of launches that take so long (at most so many), since a single launch of a
// few microseconds takes as long as the host needs to enqueue it, whatever the algorithm; and in rounds, since at its
// power limit a device is fastest for those that come first.
constexpr double block_s = 200e-6, most_launches = 20;
constexpr int rounds = 3;

struct Types {
    cudaDataType_t in, out, scale;
    cublasComputeType_t compute;
};

Types types_of(std::string const& dtype) {
    if (dtype == "bf16") return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    if (dtype == "fp16") return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    if (dtype == "tf32") return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    if (dtype == "e4m3") return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    if (dtype == "int8") return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
    if (dtype == "mxfp8") return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    if (dtype == "nvfp4") return {CUDA_R_4F_E2M1, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    throw BadInput("no matrix product in \"" + dtype + "\" (bf16, fp16, tf32, e4m3, int8, mxfp8, nvfp4)");
}

/// Scales of blocks along k. They lie in tiles of 128 rows by 4 blocks, whole ones.
/// Source: cuBLAS documentation, "1D Block Scaling for FP8 and FP4 Data Types" and "Layout of 1D Block Scaling
/// Factors".
struct BlockScales {
    std::int64_t width;  ///< values that share one
    cublasLtMatmulMatrixScale_t mode;
    unsigned char one;  ///< the bits of 1

    DeviceArray<unsigned char> ones(std::int64_t rows, std::int64_t k) const {
        std::int64_t const blocks = (k + width - 1) / width;
        std::int64_t const count = (rows + 127) / 128 * 128 * ((blocks + 3) / 4 * 4);
        return device_copy(std::vector<unsigned char>(static_cast<std::size_t>(count), one));
    }
};

BlockScales block_scales(std::string const& dtype) {
    if (dtype == "mxfp8") return {32, CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0, 127};
    return {16, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3, 0x38};
}

/// @throws Unavailable for what the library or the device does not support, std::runtime_error for all other faults.
void check_lt(cublasStatus_t status, char const* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    cudaGetLastError();  // which the library may have left
    std::string const text = std::string(what) + ": " + cublasLtGetStatusString(status);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) throw Unavailable(text);
    throw std::runtime_error(text);
}

cublasLtHandle_t handle() {
    static cublasLtHandle_t const one = [] {
        cublasLtHandle_t created = nullptr;
        check_lt(cublasLtCreate(&created), "starting cuBLASLt");
        return created;
    }();
    return one;
}

}  // namespace

struct LtGemm::Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
    std::vector<cublasLtMatmulHeuristicResult_t> candidates;
    std::size_t chosen = 0;
    DeviceArray<unsigned char> workspace{static_cast<std::int64_t>(workspace_bytes)};
    DeviceArray<float> unit_scale;
    DeviceArray<unsigned char> w_scales, x_scales;
    bool integer = false;

    ~Plan() {
        cublasLtMatrixLayoutDestroy(w);
        cublasLtMatrixLayoutDestroy(x);
        cublasLtMatrixLayoutDestroy(y);
        cublasLtMatmulDescDestroy(operation);
    }

    void scale_blocks(BlockScales const& scales, std::int64_t m, std::int64_t n, std::int64_t k) {
        w_scales = scales.ones(n, k);
        x_scales = scales.ones(m, k);
        void const *const of_w = w_scales.data(), *const of_x = x_scales.data();
        set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scales.mode);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scales.mode);
        set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_w);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_x);
    }

    void describe(std::string const& dtype, Types const& types, std::int64_t m, std::int64_t n, std::int64_t k) {
        check_lt(cublasLtMatmulDescCreate(&operation, types.compute, types.scale), "describing a product");
        cublasOperation_t const transposed = CUBLAS_OP_T;
        set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
        if (scales_blocks(dtype)) scale_blocks(block_scales(dtype), m, n, k);
        if (dtype != "e4m3") return;
        unit_scale = device_copy(std::vector<float>{1.0f});
        void const* const scale = unit_scale.data();
        set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
        std::int8_t const fast = 1;
        set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
    }

    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, Value const& value) {
        check_lt(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "describing a product");
    }

    /// A column-major matrix, `batch` of them one behind the other.
    static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                         std::int64_t batch) {
        cublasLtMatrixLayout_t result = nullptr;
        check_lt(cublasLtMatrixLayoutCreate(&result, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                 "describing a matrix");
        auto const count = static_cast<std::int32_t>(batch);
        std::int64_t const distance = rows * columns;
        check_lt(cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                 "describing a batch");
        check_lt(cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance,
                                                  sizeof distance),
                 "describing a batch");
        return result;
    }

    void find_candidates() {
        cublasLtMatmulPreference_t preference = nullptr;
        check_lt(cublasLtMatmulPreferenceCreate(&preference), "asking for algorithms");
        std::size_t const most = workspace_bytes;
        check_lt(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                                      sizeof most),
                 "asking for algorithms");
        candidates.resize(most_candidates);
        int found = 0;
        cublasStatus_t const status = cublasLtMatmulAlgoGetHeuristic(handle(), operation, w, x, y, y, preference,
                                                                     most_candidates, candidates.data(), &found);
        cublasLtMatmulPreferenceDestroy(preference);
        if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0))
            throw Unavailable("cuBLASLt has no algorithm for this product on this device");
        check_lt(status, "asking for algorithms");
        candidates.resize(static_cast<std::size_t>(found));
    }
};

LtGemm::LtGemm(std::string const& dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch)
    : plan_(std::make_unique<Plan>()) {
    // Row-major Y = X W^T is, read column by column, Y^T = W X^T with W stored transposed.
    Types const types = types_of(dtype);
    plan_->integer = dtype == "int8";
    plan_->describe(dtype, types, m, n, k);
    plan_->w = Plan::layout(types.in, k, n, batch);
    plan_->x = Plan::layout(types.in, k, m, batch);
    plan_->y = Plan::layout(types.out, n, m, batch);
    plan_->find_candidates();
}

LtGemm::~LtGemm() = default;

void LtGemm::run(void const* x, void const* w, void* y, cudaStream_t stream) const {
    float const one = 1, zero = 0;
    std::int32_t const integer_one = 1, integer_zero = 0;
    void const* const alpha = plan_->integer ? static_cast<void const*>(&integer_one) : &one;
    void const* const beta = plan_->integer ? static_cast<void const*>(&integer_zero) : &zero;
    check_lt(cublasLtMatmul(handle(), plan_->operation, alpha, w, plan_->w, x, plan_->x, beta, y, plan_->y, y, plan_->y,
                            &plan_->candidates[plan_->chosen].algo, plan_->workspace.data(), workspace_bytes, stream),
             "multiplying");
}

std::string LtGemm::choose(void const* x, void const* w, void* y) {
    struct Contender {
        std::size_t candidate;
        int launches;
        std::function<void()> block;
        double seconds = std::numeric_limits<double>::infinity();  // of one launch
    };
    DeviceWork const work = [&](cudaStream_t stream) { run(x, w, y, stream); };
    std::vector<Contender> contenders;
    std::string fault;
    for (std::size_t i = 0; i < plan_->candidates.size(); ++i) {
        plan_->chosen = i;
        try {
            double const once = block_seconds([&] { work(work_stream()); }, 1);  // or more, where the host is slower
            int const launches = static_cast<int>(std::clamp(block_s / std::max(once, 1e-9), 1.0, most_launches));
            contenders.push_back(
                {.candidate = i, .launches = launches, .block = block_of(work, Launch::graph, launches)});
        } catch (Unavailable const&) {
            continue;  // an algorithm that the heuristic proposes but the device refuses
        } catch (std::runtime_error const& failed) {
            fault = failed.what();
            continue;
        }
    }
    if (contenders.empty() && !fault.empty()) throw std::runtime_error(fault);
    if (contenders.empty()) throw Unavailable("no algorithm of cuBLASLt runs this product on this device");
    for (int round = 0; round < rounds; ++round)
        for (Contender& one : contenders)
            one.seconds = std::min(one.seconds, block_seconds(one.block, 1) / one.launches);
    plan_->chosen = std::min_element(contenders.begin(), contenders.end(), [](Contender const& a, Contender const& b) {
                        return a.seconds < b.seconds;
                    })->candidate;
    return "algorithm " + std::to_string(plan_->chosen + 1) + " of " + std::to_string(plan_->candidates.size());
}

bool LtGemm::scales_blocks(std::string const& dtype) { return dtype == "mxfp8" || dtype == "nvfp4"; }

double LtGemm::operand_bytes(std::string const& dtype) {
    double const scale = scales_blocks(dtype) ? 1.0 / static_cast<double>(block_scales(dtype).width) : 0;
    return element_bytes(dtype) + scale;
}

double LtGemm::element_bytes(std::string const& dtype) {
    if (dtype == "nvfp4") return 0.5;
    return dtype == "tf32" ? 4 : dtype == "bf16" || dtype == "fp16" ? 2 : 1;
}

double LtGemm::result_bytes(std::string const& dtype) { return dtype == "tf32" || dtype == "int8" ? 4 : 2; }

}  // namespace sextant::bench

// Matrix products Y[m, n] = X[m, k] W[n, k]^T through cuBLASLt: single, strided batched (column batch) and grouped,
// that is one after another on the same stream (column groups; m tokens per group). flops = 2 m n k, bytes = operands
// once; both times batch or groups.
#include <memory>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/cuda/lt_gemm.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

constexpr int int8_bound = 127;
constexpr int fp4_bound = 4;  ///< of whole numbers, each of which e2m1 has

/// Bytes of device memory with typed access, since the dtype is known only at run time.
struct Operands {
    DeviceArray<unsigned char> x, w, y;
    std::unique_ptr<LtGemm> gemm;
};

bool device_has(std::string const& dtype, DeviceFacts const& facts) {
    // Source: CUDA C++ Programming Guide, table of features per compute capability: fp8 tensor cores from 8.9 on;
    // cuBLAS documentation, cublasLtMatmul: scales of blocks from 10.0 on.
    if (LtGemm::scales_blocks(dtype)) return facts.major >= 10;
    return dtype != "e4m3" || facts.major > 8 || (facts.major == 8 && facts.minor >= 9);
}

/// cuBLASLt wants leading dimensions that are multiples of 16 bytes for one-byte types.
/// Source: cuBLAS documentation, cublasLtMatmul, "Requirements" for FP8 and IMMA kernels.
bool aligned(std::string const& dtype, std::int64_t n, std::int64_t k) {
    if (LtGemm::scales_blocks(dtype)) return n % 16 == 0 && k % 32 == 0;
    return (dtype != "e4m3" && dtype != "int8") || (n % 16 == 0 && k % 16 == 0);
}

Problem product(char const* kernel, char const* dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                std::int64_t count) {
    Problem problem;
    problem.kernel = kernel;
    problem.dtype = dtype;
    problem.shape.m = m;
    problem.shape.n = n;
    problem.shape.k = k;
    double const copies = static_cast<double>(count);
    problem.flops = copies * 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    problem.bytes = copies * (LtGemm::operand_bytes(dtype) * static_cast<double>(m * k + n * k) +
                              LtGemm::result_bytes(dtype) * static_cast<double>(m * n));
    problem.expected_s = 5e-6 + problem.flops / 2e14 + problem.bytes / 1e12;  // assumed
    problem.variants = device_variants();
    return problem;
}

std::vector<Problem> problems(Scope const& scope) {
    DeviceFacts const facts = device_facts(scope.device);
    std::vector<Problem> all;
    for (char const* dtype : {"bf16", "fp16", "tf32", "e4m3", "int8", "mxfp8", "nvfp4"}) {
        if (!device_has(dtype, facts)) continue;
        for (auto const& [m, n, k] : shapes::gemm(scope.effort))
            if (aligned(dtype, n, k)) all.push_back(product("cublaslt", dtype, m, n, k, 1));
    }
    for (char const* dtype : {"bf16", "e4m3"}) {
        if (!device_has(dtype, facts)) continue;
        for (auto const& [batch, m, n, k] : {shapes::Grouped{32, 1024, 1024, 128}, {32, 1024, 128, 1024}}) {
            Problem problem = product("cublaslt_batched", dtype, m, n, k, batch);
            problem.shape.batch = batch;
            all.push_back(problem);
        }
        for (auto const& [groups, m, n, k] : shapes::grouped_gemm(scope.effort)) {
            Problem problem = product("cublaslt_grouped_loop", dtype, m, n, k, groups);
            problem.shape.groups = groups;
            all.push_back(problem);
        }
    }
    return fitting(all, scope);
}

std::int64_t bytes_of(std::string const& dtype, std::int64_t elements) {
    return static_cast<std::int64_t>(LtGemm::element_bytes(dtype) * static_cast<double>(elements));
}

/// Input of `count` elements of the dtype, as bytes.
DeviceArray<unsigned char> input(std::string const& dtype, std::int64_t count, std::uint64_t seed) {
    DeviceArray<unsigned char> array(bytes_of(dtype, count));
    Grid const grid{blocks_for(count), elementwise_threads, work_stream()};
    auto const fill = [&]<class T>(T* data) { launch(grid, device::fill_values<T>, count, seed, 1.0f, data); };
    void* const data = array.data();
    if (dtype == "tf32")
        fill(static_cast<float*>(data));
    else if (dtype == "bf16")
        fill(static_cast<device::bf16*>(data));
    else if (dtype == "fp16")
        fill(static_cast<device::fp16*>(data));
    else if (dtype == "e4m3" || dtype == "mxfp8")
        fill(static_cast<device::fp8*>(data));
    else if (dtype == "nvfp4")
        launch(grid, device::fill_fp4_pairs, count / 2, seed, fp4_bound, array.data());
    else
        launch(grid, device::fill_integers<std::int8_t>, count, seed, int8_bound, static_cast<std::int8_t*>(data));
    return array;
}

std::vector<double> input_row(std::string const& dtype, std::uint64_t seed, std::int64_t row, std::int64_t width) {
    bool const whole = dtype == "int8" || dtype == "nvfp4";
    if (!whole)
        return generated(seed, row * width, width,
                         dtype == "tf32"    ? "fp32"
                         : dtype == "mxfp8" ? "e4m3"
                                            : dtype.c_str());
    int const bound = dtype == "int8" ? int8_bound : fp4_bound;
    std::vector<double> values;
    for (std::int64_t i = 0; i < width; ++i)
        values.push_back(integer_at(seed, static_cast<std::uint64_t>(row * width + i), bound));
    return values;
}

template <class T>
T element(DeviceArray<unsigned char> const& array, std::int64_t index) {
    auto const bytes = array.read(index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return *reinterpret_cast<T const*>(bytes.data());
}

double result(std::string const& dtype, DeviceArray<unsigned char> const& y, std::int64_t index) {
    if (dtype == "tf32") return decoded_value(element<float>(y, index));
    if (dtype == "fp16") return decoded_value(element<device::fp16>(y, index));
    if (dtype == "int8") return element<std::int32_t>(y, index);
    return decoded_value(element<device::bf16>(y, index));
}

/// 64 elements of the result, among them the first and the last.
double worst_error(Problem const& problem, Operands const& o, std::uint64_t seed, std::int64_t copies) {
    std::int64_t const m = problem.shape.m, n = problem.shape.n, k = problem.shape.k;
    RelativeError error;
    for (std::uint64_t sample = 0; sample < 64; ++sample) {
        auto const place = [&](std::uint64_t which, std::int64_t below) {
            if (sample == 0) return std::int64_t{0};
            if (sample == 1) return below - 1;
            return static_cast<std::int64_t>(mixed(seed + 2, 3 * sample + which) % static_cast<std::uint64_t>(below));
        };
        std::int64_t const copy = place(0, copies), row = place(1, m), column = place(2, n);
        auto const left = input_row(problem.dtype, seed, copy * m + row, k);
        auto const right = input_row(problem.dtype, seed + 1, copy * n + column, k);
        double sum = 0;
        for (std::size_t i = 0; i < left.size(); ++i)
            sum += left[i] * right[i];
        error.add(result(problem.dtype, o.y, (copy * m + row) * n + column), sum);
    }
    return error.largest();
}

/// Results in bf16 or fp16 are rounded once; tf32 drops 13 bits of each input; fp8 adds in reduced precision.
double tolerance(std::string const& dtype) {
    return dtype == "int8" ? 1e-9 : dtype == "e4m3" || dtype == "mxfp8" ? 0.05 : dtype == "tf32" ? 0.005 : 0.01;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    bool const grouped = problem.shape.groups != Shape::unset, batched = problem.shape.batch != Shape::unset;
    std::int64_t const copies = grouped ? problem.shape.groups : batched ? problem.shape.batch : 1;
    std::int64_t const m = problem.shape.m, n = problem.shape.n, k = problem.shape.k;
    auto o = std::make_shared<Operands>();
    o->x = input(problem.dtype, copies * m * k, scope.seed);
    o->w = input(problem.dtype, copies * n * k, scope.seed + 1);
    auto const result_bytes = static_cast<std::int64_t>(LtGemm::result_bytes(problem.dtype));
    o->y = DeviceArray<unsigned char>(copies * m * n * result_bytes);
    o->gemm = std::make_unique<LtGemm>(problem.dtype, m, n, k, batched ? copies : 1);
    std::string const note = o->gemm->choose(o->x.data(), o->w.data(), o->y.data());
    std::int64_t const turns = grouped ? copies : 1;
    DeviceWork const work = [o, turns, x_step = bytes_of(problem.dtype, m * k), w_step = bytes_of(problem.dtype, n * k),
                             y_step = m * n * result_bytes](cudaStream_t stream) {
        for (std::int64_t turn = 0; turn < turns; ++turn)
            o->gemm->run(o->x.data() + turn * x_step, o->w.data() + turn * w_step, o->y.data() + turn * y_step, stream);
    };
    work(work_stream());
    return prepared_on_device(worst_error(problem, *o, scope.seed, copies), tolerance(problem.dtype), work, note);
}

}  // namespace

extern constinit Bench const cuda_gemm{
    .name = "gemm",
    .summary = "matrix products through cuBLASLt: bf16, fp16, tf32, fp8, int8, mxfp8, nvfp4; single, batched, grouped",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

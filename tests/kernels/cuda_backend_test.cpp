// The CUDA benchmarks' host code (shapes, buffers, launches, calls of cuBLASLt and NCCL, comparisons with references,
// timing) on an emulated machine: see kernels/simt/device.hpp for what that machine takes to be an error.
#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/backend.hpp"
#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/row_file.hpp"
#include "kernels/program.hpp"
#include "kernels/simt/launch.cuh"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

void at_most(std::int64_t& size, std::int64_t most) { size = std::min(size, most); }

/// The problem with sizes that fibers on a processor get through.
Problem shrunk(std::string const& bench, Problem problem) {
    Shape& s = problem.shape;
    bool const chunk = s.seq_kv > s.seq_q;
    std::int64_t const sharing = s.kv_heads > 0 ? std::min<std::int64_t>(s.heads / s.kv_heads, 2) : 0;
    bool const product = bench == "gemm" || bench == "interference";
    at_most(s.m, product ? 33 : bench == "optimizer" ? 1024 : 5);
    at_most(s.n, product ? 48 : bench == "loss" ? 1000 : bench == "optimizer" ? 1024 : bench == "rows" ? 72 : 264);
    at_most(s.k, product ? 64 : 8);
    if (bench == "interference") s.m = s.n = s.k = 48;
    if (bench == "gemm") at_most(s.groups, 3);
    if (s.batch != Shape::unset) s.batch = 2;
    at_most(s.seq_q, 70);
    at_most(s.seq_kv, bench == "decode" ? 600 : chunk ? 120 : 70);
    at_most(s.kv_heads, 2);
    if (sharing > 0) s.heads = sharing * s.kv_heads;
    if (bench == "activation") at_most(s.heads, 3);
    return problem;
}

/// Every kernel, dtype and kind of shape of the benchmarks' lists once, small.
struct Small {
    Bench const* bench;
    Problem problem;
};
std::vector<Small> small_problems(Scope const& scope) {
    std::vector<Small> all;
    std::set<std::string> seen;
    for (Bench const* const bench : cuda_catalog()) {
        if (std::string_view(bench->name) == "accuracy") continue;  // runs on the host
        for (Problem const& listed : bench->problems(scope)) {
            Problem const problem = shrunk(bench->name, listed);
            if (problem.shape.bytes > 256 << 10) continue;
            std::string name = bench->name + (" " + problem.kernel) + " " + problem.dtype;
#ifndef __SANITIZE_ADDRESS__  // with it all shapes take three minutes
            name += sizes_text(problem.shape);
#endif
            if (seen.insert(name).second) all.push_back({bench, problem});
        }
    }
    return all;
}

StopRule few() { return {.relative_error = 0.5, .min_samples = 4, .max_samples = 8, .max_seconds = 0.5}; }

std::vector<float> const written(256, 1.0f);

}  // namespace

TEST_CASE("cuda backend: every benchmark is right on the emulated device, and is timed", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    CHECK(backend.machine.device == "Emulated device");
    Scope const scope{.effort = Effort::full, .memory_limit = backend.memory_limit};
    std::set<std::string> kernels;
    for (auto const& [bench, problem] : small_problems(scope)) {
        INFO(bench->name << " " << problem.kernel << " " << problem.dtype << sizes_text(problem.shape));
        kernels.insert(problem.kernel);
        simt::set_compute(true);
        Prepared const prepared = bench->prepare(problem, scope);
        CHECK(prepared.max_rel_error <= prepared.tolerance);
        simt::set_compute(false);
        std::vector<double> medians;
        for (Variant const variant : problem.variants) {
            Timing const timing = prepared.measure(variant, few());
            CHECK(timing.seconds.repeats >= 4);
            medians.push_back(timing.seconds.median);
        }
        // On the emulated clock a kernel takes as long cold and in a graph as hot and in a stream.
        if (medians.size() == 3) {
            CHECK(std::abs(medians[1] - medians[0]) < 1e-3 * medians[0]);
            CHECK(std::abs(medians[2] - medians[0]) < 1e-3 * medians[0]);
            CHECK(medians[0] > 0.99 * simt::operation_seconds);
        }
        CHECK(std::string(cudaGetErrorString(cudaGetLastError())) == "no error");
    }
    for (char const* const kernel : {"cublaslt", "flash_backward", "flash_decode", "moe_unpermute", "gemm+all_reduce",
                                     "all_to_all", "peer", "graph_node"})
        CHECK(kernels.contains(kernel));
}

TEST_CASE("cuda backend: products with scales of blocks are there from Blackwell on, and right", "[cuda]") {
    auto const dtypes = [](Scope const& scope) {
        std::set<std::string> found;
        for (Small const& small : small_problems(scope))
            if (std::string_view(small.bench->name) == "gemm") found.insert(small.problem.dtype);
        return found;
    };
    simt::reset_devices(1);
    Backend const hopper = cuda_backend(0);
    CHECK_FALSE(dtypes({.memory_limit = hopper.memory_limit}).contains("mxfp8"));
    simt::reset_devices(1);
    simt::set_major(10);
    Backend const blackwell = cuda_backend(0);
    Scope const scope{.memory_limit = blackwell.memory_limit};
    CHECK(dtypes(scope).contains("mxfp8"));
    CHECK(dtypes(scope).contains("nvfp4"));
    for (Small const& small : small_problems(scope)) {
        Problem const& problem = small.problem;
        if (problem.dtype != "mxfp8" && problem.dtype != "nvfp4") continue;
        INFO(problem.dtype << sizes_text(problem.shape));
        CHECK(problem.shape.k % 32 == 0);
        CHECK(problem.bytes > 0);
        Prepared const prepared = small.bench->prepare(problem, scope);
        CHECK(prepared.max_rel_error <= prepared.tolerance);
        CHECK(prepared.max_rel_error < 0.01);
    }
    simt::reset_devices(1);
}

TEST_CASE("norm: backward passes move the partial sums of their blocks too", "[cuda]") {
    simt::reset_devices(1);
    Backend const backend = cuda_backend(0);
    CHECK(backend.machine.driver.ends_with(", method 2"));
    int const processors = device_facts(0).multiprocessors;
    for (Problem const& problem : cuda_norm.problems({.effort = Effort::full, .memory_limit = std::int64_t{1} << 33})) {
        if (!problem.kernel.ends_with("backward")) continue;
        INFO(problem.kernel << sizes_text(problem.shape));
        std::int64_t const m = problem.shape.m, n = problem.shape.n;
        int const sums = problem.kernel.starts_with("layernorm") ? 2 : 1;
        std::int64_t const blocks = std::min<std::int64_t>(m, (n <= 4096 ? 4 : n <= 8192 ? 2 : 1) * processors);
        CHECK(problem.bytes == static_cast<double>(6 * m * n + 8 * sums * blocks * n));
    }
}

TEST_CASE("cuda backend: the program lists, measures and writes rows of the device", "[cuda]") {
    simt::reset_devices(1);
    simt::set_compute(true);
    auto const path = (std::filesystem::temp_directory_path() / "sextant_bench_emulated.csv").string();
    std::filesystem::remove(path);
    REQUIRE(run_program({"--backend", "cuda", "--quick", "--bench", "launch", "--out", path}) == 0);
    auto const rows = read_row_file(path, FileFormat::csv);
    std::filesystem::remove(path);
    CHECK(rows.size() == 5);
    for (Row const& row : rows) {
        CHECK(row.backend == "cuda");
        CHECK(row.device == "Emulated device");
        CHECK_FALSE(failed(row));
        CHECK(row.median_us > 0);
    }
    CHECK(run_program({"--backend", "cuda", "--device", "3", "--list"}) == 2);
    simt::refuse_streams();
    CHECK(run_program({"--backend", "cuda", "--list"}) == 3);
    simt::reset_devices(0);
    CHECK(run_program({"--backend", "cuda", "--list"}) == 3);
}

TEST_CASE("emulated device: nothing runs before somebody waits for it", "[simt]") {
    simt::reset_devices(1);
    use_device(0);
    DeviceArray<float> const array(256);
    std::vector<float> host(256, -1.0f);
    Stream const stream;
    check(cudaMemsetAsync(array.data(), 0, array.bytes(), stream.get()), "clearing");
    // The default stream does not wait for the other one: this reads what nobody has written.
    check(cudaMemcpy(host.data(), array.data(), array.bytes(), cudaMemcpyDeviceToHost), "reading");
    CHECK(std::isnan(host[0]));
    stream.wait();
    check(cudaMemcpy(host.data(), array.data(), array.bytes(), cudaMemcpyDeviceToHost), "reading");
    CHECK(host[0] == 0.0f);
}

TEST_CASE("emulated device: what CUDA refuses is refused", "[simt]") {
    simt::reset_devices(2);
    use_device(0);
    DeviceArray<float> array = device_copy(written);
    Stream const stream;
    auto* const kernel = +[](float* x) { *x += 1; };
    auto const refused = [&](Grid const& grid) {
        try {
            launch(grid, kernel, array.data());
        } catch (std::runtime_error const&) {
            return true;
        }
        return false;
    };
    CHECK_FALSE(refused({1, 32, stream.get()}));
    CHECK(refused({1, 2048, stream.get()}));
    CHECK(refused({{1, 70000, 1}, 32, stream.get()}));
    CHECK(refused({0, 32, stream.get()}));
    CHECK(refused({1, 32, stream.get(), 64 << 10}));
    CHECK(allow_shared(kernel, 64 << 10));
    CHECK_FALSE(refused({1, 32, stream.get(), 64 << 10}));
    CHECK_FALSE(allow_shared(kernel, 228 << 10));
    check(cudaSetDevice(1), "choosing a device");
    cudaGetLastError();
    CHECK(refused({1, 32, stream.get()}));  // a stream of the other device
    check(cudaSetDevice(0), "choosing a device");
    std::vector<float> host(512);
    CHECK(cudaMemcpy(host.data(), array.data(), 512 * sizeof(float), cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(host.data(), host.data(), 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "capturing");
    CHECK(cudaStreamSynchronize(stream.get()) == cudaErrorStreamCaptureUnsupported);
    void* more = nullptr;
    CHECK(cudaMalloc(&more, 4) == cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph), "capturing");
    check(cudaGraphDestroy(graph), "capturing");
    cudaGetLastError();
}

}  // namespace sextant::bench

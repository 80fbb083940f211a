// What the CUDA backend's times consist of, on an emulated device whose host needs time to enqueue work.
#include "kernels/cuda/device_timer.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/backend.hpp"
#include "kernels/cuda/busy_clocks.hpp"
#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/lt_gemm.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/simt/device.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

constexpr double us = 1e-6;

StopRule few() { return {.relative_error = 0.5, .min_samples = 8, .max_samples = 8, .max_seconds = 0.5}; }

/// One operation of the emulated device.
struct Clearing {
    DeviceArray<float> array{16};
    DeviceWork work() const {
        return
            [this](cudaStream_t stream) { check(cudaMemsetAsync(array.data(), 0, array.bytes(), stream), "clearing"); };
    }
};

/// Problems of the kernel, small ones, whose computations are left out.
Problem small_problem(Bench const& bench, Scope const& scope, std::string const& kernel) {
    for (Problem problem : bench.problems(scope))
        if (problem.kernel == kernel) {
            if (std::string_view(bench.name) == "interference")
                problem.shape.m = problem.shape.n = problem.shape.k = 48;
            return problem;
        }
    throw std::invalid_argument(kernel);
}

}  // namespace

TEST_CASE("device timer: a sample has none of the host's time in it where the kernel is longer", "[cuda]") {
    simt::reset_devices(1);
    cuda_backend(0);
    Clearing const clearing;
    double const host_us = GENERATE(0.0, 1.0, 4.0);
    Launch const way = GENERATE(Launch::stream, Launch::graph);
    CAPTURE(host_us, name_of(way));
    simt::set_host_seconds(host_us * us);
    Timing const timing = time_on_device(clearing.work(), {Cache::hot, way}, few());
    CHECK(timing.seconds.p10 == Approx(simt::operation_seconds).epsilon(1e-6));
    CHECK(timing.seconds.p90 == Approx(simt::operation_seconds).epsilon(1e-6));
}

TEST_CASE("device timer: blocks take 100 us on the device, however long the host takes to enqueue them", "[cuda]") {
    simt::reset_devices(1);
    cuda_backend(0);
    Clearing const clearing;
    double const host_us = GENERATE(0.0, 3.0, 9.0, 40.0);
    Launch const way = GENERATE(Launch::stream, Launch::graph);
    CAPTURE(host_us, name_of(way));
    simt::set_host_seconds(host_us * us);
    double const operation_us = simt::operation_seconds / us;
    int const launches = launches_per_block(clearing.work(), {Cache::hot, way});
    // The host enqueues the launches and the event after them, or one graph.
    double const block_us = std::max(launches * operation_us, way == Launch::stream ? (launches + 1) * host_us : 0.0);
    CHECK(block_us >= 100);
    CHECK(block_us <= 200);
    CHECK(launches_per_block(clearing.work(), {Cache::cold, way}) == 1);
}

TEST_CASE("device timer: no sample counts while the clocks still rise", "[cuda]") {
    simt::reset_devices(1);
    cuda_backend(0);
    simt::set_compute(false);
    Clearing const clearing;
    simt::set_rising_clocks(9);
    BusyClocks clocks;
    int readings = 0;
    auto const sample = [&] {
        clearing.work()(work_stream());
        clocks.read();
        ++readings;
        check(cudaStreamSynchronize(work_stream()), "clearing");
    };
    CHECK(warm_up(sample, clocks));
    CHECK(readings == 11);  // nine below, and two that are the same
    CHECK(clocks.sm_mhz() == simt::busy_sm_mhz);
    CHECK_FALSE(warm_up(sample, clocks));
    CHECK(readings == 13);
    simt::set_rising_clocks(6);
    CHECK(time_on_device(clearing.work(), {}, few()).sm_clock_mhz == simt::busy_sm_mhz);
}

TEST_CASE("gemm: the fastest algorithm is chosen, however long the host takes to enqueue one", "[cuda]") {
    simt::reset_devices(1);
    cuda_backend(0);
    simt::set_compute(false);
    simt::set_host_seconds(GENERATE(0.0, 4.0, 12.0) * us);
    DeviceArray<std::uint16_t> const x(64 * 64), w(64 * 64), y(64 * 64);
    LtGemm gemm("bf16", 64, 64, 64, 1);
    CHECK(gemm.choose(x.data(), w.data(), y.data()) == "algorithm 3 of 3");  // the second takes a fifth longer
}

TEST_CASE("device timer: the cache is emptied by a kernel that reads, so that nothing is left to write back",
          "[cuda]") {
    simt::reset_devices(1);
    cuda_backend(0);
    simt::set_compute(false);
    Clearing const clearing;
    auto const measure = [&] { return time_on_device(clearing.work(), {Cache::cold, Launch::stream}, few()); };
    measure();  // the first clears its buffer, once
    simt::Enqueued const before = simt::enqueued();
    measure();
    std::int64_t const flushes = simt::enqueued().kernels - before.kernels;
    CHECK(flushes >= 8);
    CHECK(simt::enqueued().set_bytes - before.set_bytes == flushes * static_cast<std::int64_t>(clearing.array.bytes()));
}

TEST_CASE("device timer: clocks are those of a busy device, with every benchmark that reads them", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    struct Named {
        Bench const* bench;
        char const* kernel;
    };
    auto const [bench, kernel] = GENERATE(values<Named>({{&cuda_copies, "device_to_device"},
                                                         {&cuda_launch, "kernel_sync"},
                                                         {&cuda_launch, "kernel_queued"},
                                                         {&cuda_launch, "graph_sync"},
                                                         {&cuda_launch, "graph_node"},
                                                         {&cuda_interference, "gemm+copy_device"},
                                                         {&cuda_nccl, "all_reduce"}}));
    CAPTURE(kernel);
    Problem const problem = small_problem(*bench, scope, kernel);
    Prepared const prepared = bench->prepare(problem, scope);
    Timing const timing = prepared.measure(problem.variants[0], few());
    CHECK(timing.sm_clock_mhz == simt::busy_sm_mhz);
    CHECK(timing.throttle == throttle_text(simt::busy_throttle));
}

TEST_CASE("busy clocks: every reason that was there once is stated, and the median clock", "[cuda]") {
    simt::reset_devices(1);
    cuda_backend(0);
    Clearing const clearing;
    BusyClocks clocks;
    clearing.work()(work_stream());
    clocks.read();
    clocks.read();
    check(cudaStreamSynchronize(work_stream()), "clearing");
    clocks.read();
    Timing timing;
    clocks.describe(timing);
    CHECK(timing.throttle == "sw_power_cap");
    CHECK(clocks.sm_mhz() == simt::idle_sm_mhz);
    CHECK(timing.sm_clock_mhz == simt::busy_sm_mhz);  // the median
}

TEST_CASE("interference and graph_node: the host's time to enqueue is not in theirs", "[cuda]") {
    simt::reset_devices(1);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    Bench const& bench = GENERATE(as<Bench const*>(), &cuda_interference, &cuda_launch)[0];
    bool const beside = &bench == &cuda_interference;
    Problem const problem = small_problem(bench, scope, beside ? "gemm+copy_device" : "graph_node");
    Prepared const prepared = bench.prepare(problem, scope);
    simt::set_host_seconds(4 * us);
    Timing const timing = prepared.measure(problem.variants[0], few());
    CHECK(timing.seconds.p90 == Approx(simt::operation_seconds).epsilon(1e-6));
    if (beside) CHECK_THAT(timing.note, contains("slowdown=1.000000"));
}

}  // namespace sextant::bench

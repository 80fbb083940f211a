// What one failure leaves to the measurements after it, on the emulated device.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>

#include "kernels/backend.hpp"
#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/graph.hpp"
#include "kernels/cuda/nccl_group.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/world.hpp"
#include "kernels/simt/launch.cuh"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

StopRule few() { return {.relative_error = 0.5, .min_samples = 4, .max_samples = 8, .max_seconds = 0.5}; }

Task first_of(Bench const& bench, Scope const& scope, std::string const& kernel, std::int64_t ranks = Shape::unset) {
    for (Problem const& problem : bench.problems(scope))
        if (problem.kernel == kernel && (ranks == Shape::unset || problem.shape.ranks == ranks))
            return {&bench, problem, {problem.variants[0]}};
    throw std::invalid_argument(kernel);
}

/// Kinds of work that each need something else in order: memory, launches, graphs, the device, NCCL.
std::vector<Task> various(Scope const& scope) {
    return {first_of(cuda_copies, scope, "peer"),        first_of(cuda_launch, scope, "kernel_sync"),
            first_of(cuda_launch, scope, "graph_sync"),  first_of(cuda_copies, scope, "device_to_device"),
            first_of(cuda_nccl, scope, "all_reduce", 2), first_of(cuda_copies, scope, "host_to_device_pinned")};
}

SessionSettings settings_of(Backend const& backend, Scope const& scope, std::vector<Row>& rows) {
    SessionSettings settings;
    settings.machine = backend.machine;
    settings.scope = scope;
    settings.rule = few();
    settings.write = [&rows](Row const& row) { rows.push_back(row); };
    settings.progress = [](std::string const&) {};
    settings.now = steady_seconds;
    return settings;
}

void leave_free(int device, std::int64_t bytes) {
    CurrentDevice const current(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    simt::set_memory(device, static_cast<std::int64_t>(total - free) + bytes);
}

}  // namespace

TEST_CASE("cuda backend: an allocation that fails is one failed row, on either device", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    int const device = GENERATE(0, 1);
    bool const recovers = GENERATE(false, true);  // each has to do alone
    CAPTURE(device, recovers);
    std::vector<Row> rows;
    SessionSettings settings = settings_of(backend, scope, rows);
    if (recovers) settings.recover = backend.recover;
    simt::fail_allocation(device);
    Outcome const outcome = run_plan({.tasks = various(scope), .unavailable = {}}, settings);
    CHECK(outcome.failures == 1);
    REQUIRE(rows.size() == 6);
    CHECK_THAT(rows[0].note, contains("out of memory"));
    for (std::size_t i = 1; i < rows.size(); ++i) {
        INFO(rows[i].kernel << ": " << rows[i].note);
        CHECK_FALSE(failed(rows[i]));
    }
}

TEST_CASE("cuda backend: buffers of a collective that do not fit leave the device and NCCL as they were", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    NcclGroup group(2, 0);
    simt::fail_allocation(1);
    CHECK_THROWS_AS(group.set_buffers(64, 1), std::runtime_error);
    int device = -1;
    check(cudaGetDevice(&device), "asking for the device");
    CHECK(device == 0);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK_THROWS_AS(group.enqueue("all_reduce"), std::runtime_error);  // a rank without buffers
    group.set_buffers(64, 1);
    CHECK_THROWS_AS(group.enqueue("no_such_collective"), BadInput);
    group.enqueue("all_reduce");
    group.wait();
    CHECK(group.received(0, 0, 64) == group.received(1, 0, 64));
}

TEST_CASE("cuda backend: work that fails while it is captured leaves a stream that can be used", "[cuda]") {
    simt::reset_devices(1);
    Backend const backend = cuda_backend(0);
    DeviceArray<float> const array(256);
    DeviceWork const clears = [&](cudaStream_t stream) {
        check(cudaMemsetAsync(array.data(), 0, array.bytes(), stream), "clearing");
    };
    DeviceWork const fails = [&](cudaStream_t stream) {
        clears(stream);
        throw std::runtime_error("the second kernel cannot be launched");
    };
    CHECK_THROWS_AS(Graph(fails, 3), std::runtime_error);
    Timing const timing = time_on_device(clears, {Cache::hot, Launch::graph}, few());
    CHECK(timing.seconds.repeats >= 4);
    DeviceArray<float> const more(16);  // nothing is allocated while a stream is captured
    CHECK(more.count() == 16);
}

TEST_CASE("cuda backend: a product that cuBLASLt does not support is no failure, and the next is measured", "[cuda]") {
    simt::reset_devices(1);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    Task odd = first_of(cuda_gemm, scope, "cublaslt");
    odd.problem.dtype = "int8";
    odd.problem.shape.m = odd.problem.shape.n = odd.problem.shape.k = 24;  // 16 is the alignment
    Task even = odd;
    even.problem.shape.m = even.problem.shape.n = even.problem.shape.k = 32;
    std::vector<Row> rows;
    Outcome const outcome = run_plan({.tasks = {odd, even}, .unavailable = {}}, settings_of(backend, scope, rows));
    CHECK(outcome.failures == 0);
    CHECK(outcome.unsupported == 1);
    REQUIRE(rows.size() == 2);
    CHECK_THAT(rows[0].note, contains("unsupported: cuBLASLt has no algorithm"));
    CHECK(rows[1].median_us > 0);
}

TEST_CASE("cuda backend: recovering makes the chosen device current and forgets the error", "[cuda]") {
    simt::reset_devices(3);
    Backend const backend = cuda_backend(1);
    check(cudaSetDevice(2), "choosing another");
    CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
    backend.recover();
    int device = -1;
    check(cudaGetDevice(&device), "asking for the device");
    CHECK(device == 1);
    CHECK(cudaGetLastError() == cudaSuccess);
}

namespace {

std::vector<Problem> one_problem(Scope const&) { return {Problem{}}; }
Prepared breaks_the_device(Problem const&, Scope const&) {
    simt::break_machine();
    check(cudaStreamSynchronize(work_stream()), "running a kernel");
    return {};
}
constinit Bench const breaking{"breaking", "for tests", one_problem, breaks_the_device};

}  // namespace

TEST_CASE("cuda backend: an error that stays ends the run after the row of what caused it", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    std::vector<Task> tasks = various(scope);
    tasks.insert(tasks.begin() + 1, Task{&breaking, one_problem(scope)[0], {Variant{}}});
    std::vector<Row> rows;
    SessionSettings settings = settings_of(backend, scope, rows);
    settings.recover = backend.recover;
    CHECK_THROWS_WITH(run_plan({.tasks = tasks, .unavailable = {}}, settings), contains("cannot be used any more"));
    REQUIRE(rows.size() == 2);
    CHECK_FALSE(failed(rows[0]));
    CHECK(rows[1].note == "FAILED: running a kernel: an illegal memory access was encountered");
    simt::reset_devices(2);
}

TEST_CASE("nccl: a device that cannot be used takes its collectives away and nothing else", "[cuda]") {
    simt::reset_devices(3);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    simt::refuse_device(2);
    Plan const plan = plan_of({&cuda_copies, &cuda_nccl, &cuda_launch}, scope, backend.machine, {});
    REQUIRE(plan.unavailable.size() == 1);
    CHECK_THAT(plan.unavailable[0], contains("nccl: device 2 cannot be used"));
    CHECK_THAT(plan.unavailable[0], contains("CUDA_VISIBLE_DEVICES"));
    CHECK(plan.rows() > 20);
    int device = -1;
    check(cudaGetDevice(&device), "asking for the device");
    CHECK(device == 0);
}

TEST_CASE("cuda backend: a program without kernels for the device says so before anything is measured", "[cuda]") {
    simt::reset_devices(1);
    simt::refuse_kernels();
    CHECK_THROWS_WITH(cuda_backend(0), contains("no kernel image") && contains("compute capability is 9.0") &&
                                           contains("CMAKE_CUDA_ARCHITECTURES"));
    CHECK_THROWS_AS(cuda_backend(0), Unavailable);
}

TEST_CASE("cuda backend: memory that others have is worth a warning", "[cuda]") {
    simt::reset_devices(1);
    CHECK(cuda_backend(0).warning.empty());
    DeviceArray<unsigned char> const of_others(std::int64_t{3} << 30);
    CHECK_THAT(cuda_backend(0).warning, contains("of its 8.6 GB are taken"));
}

TEST_CASE("what needs a device that cannot be used is unsupported, beside what needs it not", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    Task beside = first_of(cuda_interference, scope, "gemm+all_reduce");
    beside.problem.shape.m = beside.problem.shape.n = beside.problem.shape.k = 48;
    std::vector<Task> const tasks{first_of(cuda_copies, scope, "peer"), beside,
                                  first_of(cuda_copies, scope, "device_to_device")};
    simt::refuse_device(1);
    std::vector<Row> rows;
    Outcome const outcome = run_plan({.tasks = tasks, .unavailable = {}}, settings_of(backend, scope, rows));
    CHECK(outcome.failures == 0);
    CHECK(outcome.unsupported == 2);
    REQUIRE(rows.size() == 3);
    for (std::size_t i = 0; i < 2; ++i)
        CHECK_THAT(rows[i].note, contains("unsupported: device 1 cannot be used"));
    CHECK(rows[2].median_us > 0);
}

namespace {

/// Processes on machines of two, of which this is the first; keeps what it was given to compare.
struct Processes : World {
    int processes;
    std::vector<double> compared;
    explicit Processes(int count) : processes(count) { set_world(*this); }
    ~Processes() override {
        static World alone;
        set_world(alone);
    }
    int size() const override { return processes; }
    int nodes() const override { return (processes + 1) / 2; }
    double largest(double value) override {
        compared.push_back(value);
        return value;
    }
};

}  // namespace

TEST_CASE("nccl: nodes are the machines and not the processes", "[cuda]") {
    simt::reset_devices(1);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    Processes const all(4);
    std::vector<Problem> const problems = cuda_nccl.problems(scope);
    REQUIRE_FALSE(problems.empty());
    for (Problem const& problem : problems) {
        CHECK(problem.shape.ranks == 4);
        CHECK(problem.shape.nodes == 2);
    }
}

TEST_CASE("nccl: processes with different numbers of devices are refused, not left waiting for each other", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    struct Other : Processes {  // of two processes; the other has three devices
        Other() : Processes(2) {}
        double largest(double value) override { return std::max(value, value > 0 ? 3.0 : -3.0); }
    } const both;
    CHECK_THROWS_WITH(cuda_nccl.problems(scope), contains("from 2 to 3 devices"));
    CHECK_THROWS_AS(plan_of({&cuda_nccl}, scope, backend.machine, {}), BadInput);
}

TEST_CASE("nccl: parts of all ranks are multiples of 16 bytes, and every size is listed once", "[cuda]") {
    int const devices = GENERATE(1, 3, 6, 7, 8, 72);
    simt::reset_devices(devices);
    Backend const backend = cuda_backend(0);
    Scope const scope{.effort = Effort::full, .memory_limit = backend.memory_limit};
    std::set<std::string> keys;
    for (Problem const& problem : cuda_nccl.problems(scope)) {
        CAPTURE(problem.shape.ranks, problem.shape.bytes);
        CHECK(problem.shape.bytes % (16 * problem.shape.ranks) == 0);
        CHECK(keys.insert(resume_key(blank_row(backend.machine, cuda_nccl, problem, {}))).second);
        if (problem.shape.ranks == 8) CHECK(std::has_single_bit(static_cast<std::uint64_t>(problem.shape.bytes)));
    }
}

TEST_CASE("nccl: processes meet before the clock of every sample starts", "[cuda]") {
    simt::reset_devices(1);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    Task const task = first_of(cuda_nccl, scope, "all_reduce", 1);
    Prepared const prepared = cuda_nccl.prepare(task.problem, scope);
    Processes all(1);
    prepared.measure({}, few());
    REQUIRE(all.compared.size() >= 8);
    for (std::size_t i = 0; i < all.compared.size(); ++i) {
        CAPTURE(i);
        CHECK((all.compared[i] == 0) == (i % 2 == 0));  // to meet, and the seconds of a collective
    }
}

namespace {

/// Those of whoever runs the test too.
void forget_nccl_settings() {
    std::vector<std::string> names;
    for (char** one = environ; *one != nullptr; ++one)
        if (std::string const setting = *one; setting.starts_with("NCCL_"))
            names.push_back(setting.substr(0, setting.find('=')));
    for (std::string const& name : names)
        unsetenv(name.c_str());
}

}  // namespace

TEST_CASE("nccl: rows of several devices in one process say that one thread launches on them, and what NCCL is told",
          "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    auto const note_of = [&](std::int64_t ranks) {
        return cuda_nccl.prepare(first_of(cuda_nccl, scope, "all_gather", ranks).problem, scope).note;
    };
    forget_nccl_settings();
    CHECK(note_of(1) == NcclGroup::version());
    CHECK(note_of(2) == NcclGroup::version() + "; one thread launches on 2 devices");
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    setenv("NCCL_ALGO", "Ring", 1);
    setenv("NCCL_DEBUG", "WARN", 1);
    CHECK(note_of(1) == NcclGroup::version() + "; NCCL_ALGO=Ring; NCCL_NVLS_ENABLE=0");
    forget_nccl_settings();
}

TEST_CASE("nccl: an error of its background threads ends the program, with a failed row, and is no hang", "[cuda]") {
    // Of a process of its own, which the watchdog ends. No other test has a group of five: groups are kept, and the
    // thread of one that was made before would not be in the new process.
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        alarm(60);
        simt::reset_devices(5);
        Backend const backend = cuda_backend(0);
        Scope const scope{.memory_limit = backend.memory_limit};
        std::vector<Row> rows;
        SessionSettings settings = settings_of(backend, scope, rows);
        settings.rule = {.relative_error = 0, .min_samples = 1 << 30, .max_samples = 1 << 30, .max_seconds = 50};
        settings.write = [](Row const& row) { std::fprintf(stderr, "row: %s\n", row.note.c_str()); };
        simt::fail_collectives();
        run_plan({.tasks = {first_of(cuda_nccl, scope, "all_gather", 5)}, .unavailable = {}}, settings);
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char part[256];
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
        said.append(part, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CAPTURE(said);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
    std::string const why = "all_gather of 5 ranks: remote process exited or there was a network error";
    CHECK_THAT(said, contains("row: FAILED: " + why));
    CHECK_THAT(said, contains("sextant-bench: process 0 of 1: " + why));
    CHECK_THAT(said, contains("NCCL_DEBUG=INFO"));
}

TEST_CASE("nccl: a group tells what NCCL's background threads say", "[cuda]") {
    simt::reset_devices(2);
    Backend const backend = cuda_backend(0);
    NcclGroup group(2, 0);
    CHECK(group.fault().empty());
    simt::fail_collectives();
    CHECK_THAT(group.fault(), contains("network error (of the emulated device)"));
}

TEST_CASE("nccl: groups of every size run with the largest messages that the fullest device has room for", "[cuda]") {
    simt::reset_devices(4);
    Backend const backend = cuda_backend(0);
    Scope const scope{.memory_limit = backend.memory_limit};
    simt::set_compute(false);
    for (int device = 0; device < 4; ++device)  // three groups of 8 MiB would not fit together
        leave_free(device, device == 3 ? 16 << 20 : 20 << 20);
    std::int64_t most = 0;
    std::set<std::int64_t> ranks;
    for (Problem const& problem : cuda_nccl.problems(scope))
        if (problem.kernel == "broadcast") {
            CAPTURE(problem.shape.ranks, problem.shape.bytes);
            CHECK_NOTHROW(cuda_nccl.prepare(problem, scope));
            most = std::max(most, problem.shape.bytes);
            ranks.insert(problem.shape.ranks);
        }
    CHECK(ranks.size() >= 3);
    CHECK(most <= (16 << 20) / 4 + 16);
    CHECK(most >= 4 << 20);
}

TEST_CASE("nccl: ranks begin at the chosen device and go round", "[cuda]") {
    simt::reset_devices(3);
    cuda_backend(2);
    NcclGroup group(2, 0);  // on devices 2 and 0
    simt::fail_allocation(1);
    group.set_buffers(64, 5);
    group.enqueue("send_recv");
    group.wait();
    CHECK(group.received(0, 0, 1)[0] == value_at(6, 0));
    CHECK(group.received(1, 0, 1)[0] == value_at(5, 0));
    simt::fail_allocation(0);
    CHECK_THROWS_AS(group.set_buffers(64, 5), std::runtime_error);
}

}  // namespace sextant::bench

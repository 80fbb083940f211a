#include "simulator/engine/worker.hpp"
#include "core/parallel_for.hpp"
#include "tests/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace sextant;
using How = WorkerEnd::How;

namespace {

constexpr WorkerLimits ample{.time = 60 * units::s};

/// True when this process has no child, neither running nor unreaped.
bool has_no_child() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

void never_end() {
    for (;;)
        pause();
}

}  // namespace

TEST_CASE("run_in_worker: what the work writes to shared memory arrives, and nothing else of it", "[INV-61]") {
    SharedMemory memory(2 * sizeof(double) + sizeof(int));
    auto const numbers = memory.take<double>(2);
    auto const count = memory.take<int>(1);
    int here = 1;
    WorkerEnd const end = run_in_worker(
        [&] {
            numbers[0] = 1.5;
            numbers[1] = 2.5;
            count[0] = 3;
            here = 2;
            std::puts("never seen");
            std::fflush(stdout);
        },
        ample);
    CHECK(end.how == How::done);
    CHECK(end.message.empty());
    CHECK(numbers[0] + numbers[1] == 4);
    CHECK(count[0] == 3);
    CHECK(here == 1);
    CHECK(has_no_child());
}

TEST_CASE("run_in_worker: a worker that aborts is a crash with the signal's name and what it said", "[INV-61]") {
    WorkerEnd const end = run_in_worker(
        [] {
            std::fputs("the wheels came off\nmore\n", stderr);
            std::abort();
        },
        ample);
    CHECK(end.how == How::crashed);
    CHECK(end.message == "killed by SIGABRT: the wheels came off");
    CHECK(has_no_child());
}

TEST_CASE("run_in_worker: a worker that throws is a crash with what it threw", "[INV-61]") {
    WorkerEnd const end = run_in_worker([] { throw std::runtime_error("no more"); }, ample);
    CHECK(end.how == How::crashed);
    CHECK(end.message == "no more");
    CHECK(has_no_child());
}

TEST_CASE("run_in_worker: a worker that ends early is a crash with its status", "[INV-61]") {
    CHECK(run_in_worker([] { _exit(3); }, ample).message == "ended with status 3");
}

TEST_CASE("run_in_worker: a worker that is killed, or never ends, leaves nothing behind", "[INV-61]") {
    CHECK(run_in_worker([] { std::raise(SIGKILL); }, ample).message == "killed by SIGKILL");
    CHECK(has_no_child());
    CHECK(run_in_worker(never_end, {.time = 20 * units::ms}).how == How::timed_out);
    CHECK(has_no_child());
}

TEST_CASE("run_in_worker: an interrupt ends the worker, and none starts after it", "[INV-61]") {
    std::atomic<bool> stop = false;
    SharedMemory memory(sizeof(int));
    auto const runs = memory.take<int>(1);
    WorkerLimits const limits{.time = 60 * units::s, .stop = &stop};
    std::thread interrupt([&] {  // once the worker says that it runs
        while (std::atomic_ref<int>(runs[0]).load() == 0)
            std::this_thread::yield();
        stop = true;
    });
    WorkerEnd const end = run_in_worker(
        [&] {
            std::atomic_ref<int>(runs[0]).store(1);
            never_end();
        },
        limits);
    interrupt.join();
    CHECK(end.how == How::interrupted);
    CHECK(has_no_child());
    CHECK(run_in_worker([&] { runs[0] = 2; }, limits).how == How::interrupted);
    CHECK(runs[0] == 1);
}

TEST_CASE("run_in_worker: a worker's own Ctrl-C is left to the process that started it", "[INV-61]") {
    CHECK(run_in_worker([] { std::raise(SIGINT); }, ample).how == How::done);
}

TEST_CASE("run_in_worker: no worker survives the process that started it", "[INV-61]") {
    SharedMemory memory(sizeof(pid_t));
    auto const grandchild = memory.take<pid_t>(1);
    pid_t const parent = fork();
    REQUIRE(parent >= 0);
    if (parent == 0) {
        run_in_worker(
            [&] {
                std::atomic_ref<pid_t>(grandchild[0]).store(getpid());
                never_end();
            },
            ample);
        _exit(0);
    }
    while (std::atomic_ref<pid_t>(grandchild[0]).load() == 0)
        std::this_thread::yield();
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    // Whoever adopted it reaps it, or it stays a zombie; it must not run on.
    bool runs = true;
    for (int attempt = 0; attempt < 200000 && runs; ++attempt) {
        std::ifstream file("/proc/" + std::to_string(grandchild[0]) + "/stat");
        std::string number, name, state;
        runs = file >> number >> name >> state && state != "Z" && state != "X";
        std::this_thread::yield();
    }
    CHECK_FALSE(runs);
}

TEST_CASE("run_in_worker: several at once, from different threads", "[INV-61]") {
    constexpr std::size_t threads = 8;
    constexpr std::size_t rounds = 20;
    std::vector<int> good(threads, 0);
    parallel_for(threads, worker_threads(threads), [&](std::int64_t i) {
        auto const thread = static_cast<std::size_t>(i);
        for (std::size_t round = 0; round < rounds; ++round) {
            SharedMemory memory(sizeof(std::size_t));
            auto const value = memory.take<std::size_t>(1);
            bool const crash = (thread + round) % 5 == 0;
            WorkerEnd const end = run_in_worker(
                [&] {
                    std::vector<std::size_t> const numbers(10000, thread);  // the worker may allocate
                    value[0] = numbers[round];
                    if (crash) std::abort();
                },
                ample);
            if (value[0] == thread && end.how == (crash ? How::crashed : How::done)) ++good[thread];
        }
    });
    CHECK(good == std::vector<int>(threads, rounds));
    CHECK(has_no_child());
}

TEST_CASE("run_in_worker: what a worker sends arrives whole and in order, even of one that dies", "[INV-61]") {
    std::vector<int> received;
    auto const receive = [&](std::span<std::byte const> bytes) {
        REQUIRE(bytes.size() % sizeof(int) == 0);
        std::size_t const before = received.size();
        received.resize(before + bytes.size() / sizeof(int));
        std::memcpy(received.data() + before, bytes.data(), bytes.size());
    };
    constexpr int count = 300000;  // many times what a pipe holds
    auto const send = [](WorkerLine& line) {
        for (int i = 0; i < count; ++i)
            line.send(std::as_bytes(std::span(&i, 1)));
    };
    CHECK(run_in_worker(send, ample, receive).how == How::done);
    REQUIRE(received.size() == count);
    CHECK(std::is_sorted(received.begin(), received.end()));

    received.clear();
    auto const send_and_die = [&](WorkerLine& line) {
        send(line);
        line.flush();
        std::abort();
    };
    CHECK(run_in_worker(send_and_die, ample, receive).how == How::crashed);
    CHECK(received.size() == count);
    CHECK(has_no_child());
}

TEST_CASE("run_in_worker: a worker that is asked to stop may end by itself, one that does not answer is killed",
          "[INV-61]") {
    SharedMemory memory(2 * sizeof(std::atomic<bool>) + sizeof(int));
    std::atomic<bool>& ask = memory.take<std::atomic<bool>>(1).front();
    std::atomic<bool>& begun = memory.take<std::atomic<bool>>(1).front();
    auto const count = memory.take<int>(1);
    std::atomic<bool> stop = false;
    std::thread interrupt([&] {
        while (!begun)
            std::this_thread::yield();
        stop = true;
    });
    auto const obey = [&] {
        begun = true;
        while (!ask)
            std::this_thread::yield();
        count[0] = 7;
    };
    CHECK(run_in_worker(obey, {.time = 60 * units::s, .stop = &stop, .ask = &ask}).how == How::done);
    interrupt.join();
    CHECK(count[0] == 7);
    ask = false;
    WorkerLimits const short_grace{.time = 60 * units::s, .stop = &stop, .ask = &ask, .grace = 0.02 * units::s};
    stop = false;
    begun = false;
    std::thread again([&] {
        while (!begun)
            std::this_thread::yield();
        stop = true;
    });
    auto const ignore = [&] {
        begun = true;
        never_end();
    };
    CHECK(run_in_worker(ignore, short_grace).how == How::interrupted);
    again.join();
    CHECK(ask);
}

// What it costs to have something done: a call through a pointer, a new thread, and waking a thread that waits. The
// host's counterpart of kernel launch latency.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/harness/errors.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/timer.hpp"

namespace sextant::bench {
namespace {

/// A thread that adds one each time it is told to.
class Worker {
public:
    Worker() : thread_([this] { serve(); }) {}
    ~Worker() {
        {
            std::lock_guard const lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;

    /// Returns when the worker has done it.
    void dispatch() {
        std::unique_lock lock(mutex_);
        ++asked_;
        wake_.notify_all();
        done_.wait(lock, [this] { return served_ == asked_; });
    }
    std::int64_t served() const { return served_; }

private:
    void serve() {
        std::unique_lock lock(mutex_);
        while (true) {
            wake_.wait(lock, [this] { return stop_ || served_ < asked_; });
            if (stop_) return;
            ++served_;
            done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::int64_t asked_ = 0, served_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

void add_one(std::int64_t& count) { ++count; }

std::vector<Problem> problems(Scope const&) {
    std::vector<Problem> all;
    for (char const* kernel : {"function_call", "thread_start_join", "worker_wakeup"}) {
        Problem problem;
        problem.kernel = kernel;
        problem.dtype = "none";
        problem.expected_s = 1e-5;  // assumed
        all.push_back(std::move(problem));
    }
    return all;
}

Prepared prepare(Problem const& problem, Scope const&) {
    auto count = std::make_shared<std::int64_t>(0);
    Prepared prepared;
    std::function<void()> work;
    if (problem.kernel == "function_call") {
        void (*volatile call)(std::int64_t&) = add_one;
        work = [count, call] { call(*count); };
    } else if (problem.kernel == "thread_start_join") {
        work = [count] { std::thread([&] { ++*count; }).join(); };
    } else if (problem.kernel == "worker_wakeup") {
        auto worker = std::make_shared<Worker>();
        work = [count, worker] {
            worker->dispatch();
            *count = worker->served();
        };
    } else {
        throw BadInput("no kernel \"" + problem.kernel + "\"");
    }
    work();
    work();
    prepared.max_rel_error = *count == 2 ? 0 : 1;
    prepared.tolerance = 1e-9;
    prepared.measure = [work](Variant variant, StopRule const& rule) { return time_on_host(work, variant, rule); };
    return prepared;
}

}  // namespace

extern constinit Bench const host_launch{
    .name = "launch",
    .summary = "dispatch latency: function call, thread start, waking a worker",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

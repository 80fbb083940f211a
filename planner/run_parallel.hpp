#pragma once

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sextant {

/// Runs `work(worker index)` on that many threads; an exception of any of them is thrown here.
template <class Work>
void run_parallel(unsigned count, Work&& work) {
    std::exception_ptr failure;
    std::mutex mutex;
    std::vector<std::thread> threads;
    auto const guarded = [&](unsigned i) {
        try {
            work(i);
        } catch (...) {
            std::lock_guard const lock(mutex);
            failure = std::current_exception();
        }
    };
    for (unsigned i = 1; i < count; ++i)
        threads.emplace_back(guarded, i);
    guarded(0);
    for (std::thread& thread : threads)
        thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace sextant

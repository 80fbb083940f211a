#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sextant {

/// Threads to use when `wanted` are asked for: 0 stands for as many as the machine has cores.
inline unsigned thread_count(unsigned wanted) {
    return wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

/// Runs `work(i)` for 0 <= i < count, on at most `threads` threads (0: all cores), this one among them. When one throws
/// no further ones are begun, and the first exception is thrown from here.
template <class Work>
void parallel_for(std::int64_t count, unsigned threads, Work work) {
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto const worker = [&] {
        for (std::int64_t i = next++; i < count; i = next++) {
            try {
                work(i);
            } catch (...) {
                std::lock_guard const lock(guard);
                if (!failure) failure = std::current_exception();
                next = count;
            }
        }
    };
    std::vector<std::thread> pool;
    for (std::int64_t t = 1; t < std::min<std::int64_t>(thread_count(threads), count); ++t)
        pool.emplace_back(worker);
    worker();
    for (std::thread& thread : pool)
        thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace sextant

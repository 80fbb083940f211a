#pragma once

#include "core/units.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace sextant {

/// Zeroed memory that a worker process and the one that started it both see.
class SharedMemory {
public:
    /// @throws std::bad_alloc when there is none.
    explicit SharedMemory(std::size_t bytes);
    ~SharedMemory();
    SharedMemory(SharedMemory const&) = delete;
    SharedMemory& operator=(SharedMemory const&) = delete;
    /// The next `count` numbers of type T. @pre the memory is large enough for all that is taken, and T needs no more
    /// alignment than 8 bytes.
    template <class T>
    std::span<T> take(std::size_t count) {
        std::span<T> const taken(reinterpret_cast<T*>(begin_ + taken_), count);
        taken_ += (count * sizeof(T) + 7) / 8 * 8;
        return taken;
    }

private:
    std::byte* begin_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t taken_ = 0;
};

struct WorkerLimits {
    Seconds time;                             ///< of wall-clock time
    std::atomic<bool> const* stop = nullptr;  ///< set by an interrupt
};

/// How a worker process ended.
struct WorkerEnd {
    enum class How { done, interrupted, timed_out, crashed };
    How how = How::done;
    std::string message{};  ///< of a crash: the signal's name, or what was thrown, and the first line that it printed
};

/// Runs `work` in a process of its own and waits for it. Whatever happens there, this process goes on: a crash, a
/// time-out (the worker is killed) or an interrupt (the same) is the result. The worker never outlives the thread that
/// called; it ends without running destructors or exit handlers, and what it prints goes nowhere. From any thread.
WorkerEnd run_in_worker(std::function<void()> const& work, WorkerLimits const& limits);

}  // namespace sextant

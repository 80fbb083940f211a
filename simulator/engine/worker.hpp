#pragma once

#include "core/units.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

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
    /// In shared memory: set when `stop` is, and the worker has `grace` to end by itself. Null: it is killed at once.
    std::atomic<bool>* ask = nullptr;
    Seconds grace = 10 * units::s;
};

/// What a worker sends to the process that started it, in order.
class WorkerLine {
public:
    explicit WorkerLine(int file) : file_(file) {}
    /// Waits while the other side does not read.
    void send(std::span<std::byte const> bytes);
    /// What was sent so far leaves. At the end of the work this happens by itself.
    void flush();

private:
    int file_;
    std::vector<std::byte> collected_;
};

/// How a worker process ended.
struct WorkerEnd {
    enum class How { done, interrupted, timed_out, crashed };
    How how = How::done;
    std::string message{};  ///< of a crash: the signal's name, or what was thrown, and the first line that it printed
};

/// Threads that may run workers beside each other when `wanted` are asked for (0: all cores). One under a sanitizer,
/// whose allocator is not made ready for a fork: a worker may get a copy of it that another thread had locked, and
/// waits for ever.
constexpr unsigned worker_threads([[maybe_unused]] unsigned wanted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 1;
#else
    return wanted;
#endif
}

/// Runs `work` in a process of its own and waits for it. Whatever happens there, this process goes on: a crash, a
/// time-out (the worker is killed) or an interrupt (the same) is the result. The worker never outlives the thread that
/// called; it ends without running destructors or exit handlers, and what it prints goes nowhere. From any thread
/// (`worker_threads`).
WorkerEnd run_in_worker(std::function<void()> const& work, WorkerLimits const& limits);

/// The same, and what the worker sends is handed to `receive` as it comes, in pieces of any length.
WorkerEnd run_in_worker(std::function<void(WorkerLine&)> const& work, WorkerLimits const& limits,
                        std::function<void(std::span<std::byte const>)> const& receive);

}  // namespace sextant

#include "kernels/simt/emulation.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace sextant::bench::simt {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;
constexpr unsigned warp_size = 32;

enum class State { ready, at_block_barrier, at_warp_barrier, done };

/// A copy of 16 bytes that a thread has started and not waited for.
struct PendingCopy {
    void* to;
    void const* from;  ///< null: zeros
};

struct Fiber {
    ucontext_t context{};  ///< where it begins
    jmp_buf place{};       ///< where it goes on: unlike swapcontext, a jump makes no system call
    bool begun = false;
    std::unique_ptr<unsigned char[]> stack{new unsigned char[stack_bytes]};
    Dim3 thread{0, 0, 0};
    State state = State::ready;
    unsigned turn = 0;  ///< exchanges so far, modulo 2
    std::vector<PendingCopy> copies;
    void* fake_stack = nullptr;
};

/// What a warp's lanes published, for two exchanges in turn: nobody can be two ahead of a lane that still reads.
struct WarpSlots {
    Slot lanes[2][warp_size];
};

class BlockRunner {
public:
    BlockRunner(unsigned threads, std::function<void()> const& kernel)
        : fibers_(threads), warps_((threads + warp_size - 1) / warp_size), kernel_(kernel) {
        for (unsigned i = 0; i < threads; ++i) {
            fibers_[i].thread = {i, 0, 0};
            getcontext(&fibers_[i].context);
            fibers_[i].context.uc_stack.ss_sp = fibers_[i].stack.get();
            fibers_[i].context.uc_stack.ss_size = stack_bytes;
            makecontext(&fibers_[i].context, &BlockRunner::enter, 0);
        }
    }

    void run(Order order) {
        for (Fiber& fiber : fibers_) {
            fiber.state = State::ready;
            fiber.copies.clear();
        }
        std::size_t const warps = (fibers_.size() + warp_size - 1) / warp_size;
        while (!all(State::done)) {
            bool progress = false;
            for (std::size_t i = 0; i < warps; ++i)
                progress |= run_warp(order == Order::ascending ? i : warps - 1 - i, order);
            if (!release_block() && !progress)
                throw std::logic_error("a barrier that not all threads reach (block of " +
                                       std::to_string(fibers_.size()) + " threads)");
        }
    }

    void wait(State state) {
        Fiber& fiber = *current_;
        fiber.state = state;
        leave(fiber);
    }
    Slot const* exchange(Slot const& mine) {
        Fiber& fiber = *current_;
        WarpSlots& slots = warps_[fiber.thread.x / warp_size];
        unsigned const turn = fiber.turn;
        fiber.turn ^= 1u;
        slots.lanes[turn][fiber.thread.x % warp_size] = mine;
        wait(State::at_warp_barrier);
        return slots.lanes[turn];
    }
    Fiber const& current() const { return *current_; }
    void start_copy(PendingCopy copy) { current_->copies.push_back(copy); }
    void finish_copies() {
        for (PendingCopy const& copy : current_->copies)
            copy.from == nullptr ? std::memset(copy.to, 0, 16) : std::memcpy(copy.to, copy.from, 16);
        current_->copies.clear();
    }

private:
    static void enter();

    bool all(State state) const {
        for (Fiber const& fiber : fibers_)
            if (fiber.state != state) return false;
        return true;
    }

    void resume(Fiber& fiber) {
        if (fiber.state != State::ready) return;
        current_ = &fiber;
#ifdef __SANITIZE_ADDRESS__
        void* fake_stack = nullptr;
        __sanitizer_start_switch_fiber(&fake_stack, fiber.stack.get(), stack_bytes);
#endif
        if (_setjmp(scheduler_) == 0) {
            if (std::exchange(fiber.begun, true)) _longjmp(fiber.place, 1);
            setcontext(&fiber.context);
        }
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    }

    /// From a fiber back to the scheduler.
    void leave(Fiber& fiber) {
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_start_switch_fiber(&fiber.fake_stack, scheduler_stack_, scheduler_stack_bytes_);
#endif
        if (_setjmp(fiber.place) == 0) _longjmp(scheduler_, 1);
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
    }

    /// Runs one warp as far as it gets, that is to its next block barrier: a warp that is ahead of the others is what
    /// finds a missing one. False when it did not move.
    bool run_warp(std::size_t warp, Order order) {
        std::size_t const first = warp * warp_size, last = std::min(first + warp_size, fibers_.size());
        bool moved = false;
        while (true) {
            for (std::size_t i = first; i < last; ++i) {
                Fiber& fiber = fibers_[order == Order::ascending ? i : last - 1 - (i - first)];
                moved = moved || fiber.state == State::ready;
                resume(fiber);
            }
            if (!release(first, last, State::at_warp_barrier)) return moved;
        }
    }

    bool release_block() { return release(0, fibers_.size(), State::at_block_barrier); }

    /// Lets threads [first, last) go on if all that are not done wait at this kind of barrier; false if not, or if
    /// there are none.
    bool release(std::size_t first, std::size_t last, State barrier) {
        bool some = false;
        for (std::size_t i = first; i < last; ++i) {
            if (fibers_[i].state != State::done && fibers_[i].state != barrier) return false;
            some = some || fibers_[i].state == barrier;
        }
        for (std::size_t i = first; some && i < last; ++i)
            if (fibers_[i].state == barrier) fibers_[i].state = State::ready;
        return some;
    }

    std::vector<Fiber> fibers_;
    std::vector<WarpSlots> warps_;
    std::function<void()> const& kernel_;
    jmp_buf scheduler_{};
    Fiber* current_ = nullptr;
    [[maybe_unused]] void const* scheduler_stack_ = nullptr;
    [[maybe_unused]] std::size_t scheduler_stack_bytes_ = 0;
};

BlockRunner* runner = nullptr;
Dim3 block, blocks, block_threads;
std::vector<std::uint32_t> shared_memory;

void BlockRunner::enter() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &runner->scheduler_stack_, &runner->scheduler_stack_bytes_);
#endif
    while (true) {  // the same thread of one block after another
        runner->kernel_();
        runner->current_->state = State::done;
        runner->leave(*runner->current_);
    }
}

}  // namespace

void run(Dim3 grid, unsigned threads, std::size_t shared_bytes, Order order, std::function<void()> const& kernel) {
    blocks = grid;
    block_threads = {threads, 1, 1};
    BlockRunner block_runner(threads, kernel);
    runner = &block_runner;
    for (block.z = 0; block.z < grid.z; ++block.z)
        for (block.y = 0; block.y < grid.y; ++block.y)
            for (block.x = 0; block.x < grid.x; ++block.x) {
                // NaN as float and as either half of a bf16 or fp16 pair.
                shared_memory.assign((shared_bytes + 3) / 4 + 4, 0x7FFF7FFFu);
                block_runner.run(order);
            }
    runner = nullptr;
}

Dim3 const& thread_index() { return runner->current().thread; }
Dim3 const& block_index() { return block; }
Dim3 const& block_size() { return block_threads; }
Dim3 const& grid_size() { return blocks; }
void block_barrier() { runner->wait(State::at_block_barrier); }
void warp_barrier() { runner->wait(State::at_warp_barrier); }
Slot const* exchange(Slot const& mine) { return runner->exchange(mine); }

unsigned char* dynamic_shared_memory() { return reinterpret_cast<unsigned char*>(shared_memory.data()); }

}  // namespace sextant::bench::simt

namespace sextant::bench::device {

void copy_async(void* shared, void const* global, bool there) {
    simt::runner->start_copy({shared, there ? global : nullptr});
}
void wait_for_copies() { simt::runner->finish_copies(); }

}  // namespace sextant::bench::device

#include "kernels/harness/watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "kernels/harness/stop_rule.hpp"
#include "kernels/harness/world.hpp"

namespace sextant::bench {
namespace {

constexpr int stalled_exit = 3;  ///< as where CUDA fails outside a measurement

/// That the other processes leave to the first, which alone has a file for the row of what has stalled: four of its
/// looks (kernels/cuda/nccl_group.cu).
constexpr std::chrono::seconds for_the_first{2};

struct Said {
    std::mutex guard;
    LastWords::Words words;
};
Said& said() {
    static auto* const one = new Said;  // never destroyed: a watchdog may end the program at any time
    return *one;
}

}  // namespace

Watchdog::Watchdog(double limit_s, double every_s, End end)
    : limit_s_(limit_s), every_s_(every_s), end_(std::move(end)), thread_([this] { look(); }) {}

Watchdog::~Watchdog() {
    {
        std::lock_guard const lock(guard_);
        over_ = true;
    }
    ends_.notify_all();
    thread_.join();
}

void Watchdog::look() {
    std::unique_lock lock(guard_);
    while (!over_) {
        ends_.wait_for(lock, std::chrono::duration<double>(every_s_));
        if (!watching_) continue;
        std::string why = fault_ ? fault_() : "";
        if (why.empty() && limit_s_ > 0 && steady_seconds() - since_ > limit_s_)
            why = "has not ended after " + std::to_string(static_cast<long long>(limit_s_)) + " s";
        if (why.empty()) continue;
        watching_ = false;
        end_(what_ + ": " + why);
    }
}

Watchdog::Watch::Watch(Watchdog& dog, std::string what, Fault fault) : dog_(&dog) {
    std::lock_guard const lock(dog.guard_);
    if (dog.watching_) {
        dog_ = nullptr;
        return;
    }
    dog.watching_ = true;
    dog.since_ = steady_seconds();
    dog.what_ = std::move(what);
    dog.fault_ = std::move(fault);
}

Watchdog::Watch::~Watch() {
    if (dog_ == nullptr) return;
    std::lock_guard const lock(dog_->guard_);
    dog_->watching_ = false;
    dog_->fault_ = nullptr;
}

LastWords::LastWords(Words words) {
    std::lock_guard const lock(said().guard);
    said().words = std::move(words);
}

LastWords::~LastWords() {
    std::lock_guard const lock(said().guard);
    said().words = nullptr;
}

void end_stalled_program(std::string const& why) {
    {
        std::lock_guard const lock(said().guard);
        try {
            if (said().words) said().words(why);
        } catch (std::exception const&) {  // a disk that is full: there is nothing to be done any more
        }
    }
    if (world().rank() != 0) std::this_thread::sleep_for(for_the_first);
    std::fprintf(stderr,
                 "\nsextant-bench: process %d of %d: %s (NCCL_DEBUG=INFO tells what NCCL waits for, --stall-seconds "
                 "waits longer; rows so far are whole, --resume takes this one last)\n",
                 world().rank(), world().size(), why.c_str());
    std::fflush(stderr);
    world().abort(stalled_exit);
    std::_Exit(stalled_exit);  // the thread that waits cannot be ended otherwise
}

}  // namespace sextant::bench

#pragma once

#include <atomic>

namespace sextant::cli {

/// While this lives, Ctrl-C (SIGINT) and SIGTERM set a flag instead of ending the program, so that a long search can
/// report what it has. A second signal ends the program at once.
class InterruptGuard {
public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(InterruptGuard const&) = delete;
    InterruptGuard& operator=(InterruptGuard const&) = delete;
    [[nodiscard]] std::atomic<bool> const& flag() const;
};

/// Exit code of a command that an interrupt cut short after it reported what it had (128 + SIGINT, as shells expect).
inline constexpr int interrupted_exit = 130;

}  // namespace sextant::cli

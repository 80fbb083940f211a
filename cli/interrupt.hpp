#pragma once

#include <atomic>

namespace sextant::cli {

struct CommandContext;

/// While this lives, Ctrl-C (SIGINT) and SIGTERM set a flag instead of ending the program, so that a long search can
/// report what it has. A second signal ends the program at once. Where a host says itself when to stop
/// (`CommandContext::stop`), signals are its business and the flag is the host's.
class InterruptGuard {
public:
    explicit InterruptGuard(CommandContext const& context);
    ~InterruptGuard();
    InterruptGuard(InterruptGuard const&) = delete;
    InterruptGuard& operator=(InterruptGuard const&) = delete;
    [[nodiscard]] std::atomic<bool> const& flag() const;

private:
    std::atomic<bool> const* host_;
};

/// Exit code of a command that an interrupt cut short after it reported what it had (128 + SIGINT, as shells expect).
inline constexpr int interrupted_exit = 130;

}  // namespace sextant::cli

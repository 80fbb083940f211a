#include "cli/interrupt.hpp"

#include "cli/command.hpp"

#include <csignal>

namespace sextant::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_signal(int signal) {
    interrupted.store(true, std::memory_order_relaxed);
    std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard(CommandContext const& context) : host_(context.stop) {
    if (host_ != nullptr) return;
    interrupted = false;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
    if (host_ != nullptr) return;
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

std::atomic<bool> const& InterruptGuard::flag() const { return host_ != nullptr ? *host_ : interrupted; }

}  // namespace sextant::cli

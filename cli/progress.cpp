#include "cli/progress.hpp"

#include "cli/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace sextant::cli {
namespace {

/// Between two texts: nobody reads faster, and a simulation may finish thousands of trials in a second.
constexpr std::chrono::milliseconds soonest{20};

bool is_seen(CommandContext const& context, Progress asked) {
    if (context.stop != nullptr) return context.progress != nullptr;
    bool const terminal = &context.err == &std::cerr && isatty(STDERR_FILENO) == 1;
    return asked == Progress::always || terminal;
}

}  // namespace

ProgressLine::ProgressLine(CommandContext& context, Progress asked)
    : context_(context), shown_(is_seen(context, asked)) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(std::string const& text) {
    if (!shown_) return;
    std::lock_guard const lock(guard_);
    auto const now = std::chrono::steady_clock::now();
    if (now - shown_at_ < soonest) return;
    shown_at_ = now;
    if (context_.progress) {
        context_.progress(text);
        return;
    }
    width_ = std::max(width_, text.size() + 1);
    context_.err << "\r" << text << std::string(width_ - text.size(), ' ') << std::flush;
}

void ProgressLine::clear() {
    std::lock_guard const lock(guard_);
    if (width_ > 0) context_.err << "\r" << std::string(width_, ' ') << "\r" << std::flush;
    width_ = 0;
}

void begin_step(CommandContext& context, std::string const& what) {
    if (context.stop != nullptr && *context.stop) throw Interrupted();
    if (auto const tell = progress_lines(context, Progress::always)) tell(what);
}

std::function<void(std::string const&)> progress_lines(CommandContext& context, Progress asked) {
    if (context.progress) return context.progress;
    if (!is_seen(context, asked)) return {};
    return [&context](std::string const& text) { context.err << text << "\n"; };
}

}  // namespace sextant::cli

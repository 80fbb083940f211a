#include "cli/sweep/progress.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

namespace sextant::cli {
namespace {

std::string duration(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", std::ceil(seconds));
    if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 172800) return fmt::format("{:.1f} h", seconds / 3600);
    return fmt::format("{:.1f} days", seconds / 86400);
}

}  // namespace

std::string grouped(std::int64_t count) {
    std::string text = std::to_string(count);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

SweepProgress::SweepProgress(CommandContext& context, Where where, std::int64_t points, std::int64_t done)
    : context_(context),
      where_(where),
      points_(points),
      before_(done),
      done_(done),
      started_(Clock::now()),
      shown_(started_) {}

void SweepProgress::advance(bool failed) {
    ++done_;
    failed_ += failed ? 1 : 0;
}

std::string SweepProgress::line(Clock::time_point now) const {
    double const elapsed = std::chrono::duration<double>(now - started_).count();
    double const rate = elapsed > 0 ? static_cast<double>(done_ - before_) / elapsed : 0;
    double const share = points_ > 0 ? 100 * static_cast<double>(done_) / static_cast<double>(points_) : 100;
    std::string text =
        fmt::format("sweep: {} of {} points ({:.0f} %)", grouped(done_), grouped(points_), std::floor(share));
    if (failed_ > 0) text += fmt::format(", {} failed", grouped(failed_));
    if (rate > 0) {
        text += rate < 10 ? fmt::format(", {:.2g} a second", rate)
                          : fmt::format(", {} a second", grouped(std::llround(rate)));
        if (done_ < points_)
            text += fmt::format(", {} left", duration(static_cast<double>(points_ - done_) / rate));
        else
            text += fmt::format(", {} in all", duration(elapsed));
    }
    return text;
}

void SweepProgress::show() {
    using namespace std::chrono_literals;
    if (where_ == Where::nowhere) return;
    auto const now = Clock::now();
    if (now - shown_ < (where_ == Where::log ? std::chrono::milliseconds(10s) : 200ms)) return;
    shown_ = now;
    if (where_ == Where::host)
        context_.progress(line(now));
    else if (where_ == Where::terminal)
        context_.err << "\r\x1b[K" << line(now) << std::flush;
    else
        context_.err << line(now) << std::endl;
}

void SweepProgress::finish() {
    bool const shown = shown_ != started_;
    if (where_ == Where::nowhere || !shown) return;  // it was over before anybody could have read it
    if (where_ == Where::host) return context_.progress(line(Clock::now()));
    if (where_ == Where::terminal) context_.err << "\r\x1b[K";
    context_.err << line(Clock::now()) << std::endl;
    where_ = Where::nowhere;
}

}  // namespace sextant::cli

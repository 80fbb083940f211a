#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

namespace sextant::cli {

struct CommandContext;

/// Whether `--progress` was given.
enum class Progress : std::uint8_t { on_terminals, always };

/// How far a command is, on one line of standard error that each call writes anew and that is gone in the end. Shown on
/// a terminal, when it is asked for, and to a host that listens (`CommandContext::progress`).
class ProgressLine {
public:
    ProgressLine(CommandContext& context, Progress asked);
    ~ProgressLine();
    ProgressLine(ProgressLine const&) = delete;
    ProgressLine& operator=(ProgressLine const&) = delete;

    /// Whether anybody sees it.
    [[nodiscard]] bool shown() const { return shown_; }
    /// "simulating: 3 of 16 plans". From any thread; what comes too soon after the last is left out.
    void show(std::string const& text);
    /// Takes the line away, before something else is written.
    void clear();

private:
    CommandContext& context_;
    bool shown_;
    std::size_t width_ = 0;
    std::chrono::steady_clock::time_point shown_at_{};
    std::mutex guard_;
};

/// A command that was asked to end by its host, with nothing to show for it.
class Interrupted : public std::exception {
public:
    [[nodiscard]] char const* what() const noexcept override { return "interrupted"; }
};

/// Tells what a command begins with next, in a line that stays. For commands that cannot end early otherwise. @throws
/// Interrupted when a host asked it to end (`CommandContext::stop`).
void begin_step(CommandContext& context, std::string const& what);

/// What takes lines about the progress of a command, each of which stays; nothing where nobody sees them.
std::function<void(std::string const&)> progress_lines(CommandContext& context, Progress asked);

}  // namespace sextant::cli

#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>

namespace CLI {
class App;  // CLI11's headers are large: only what adds options includes them
}

namespace sextant::cli {

/// Where a command may write: the report to `out`, warnings and progress to `err`.
struct CommandContext {
    std::ostream& out;
    std::ostream& err;
    /// Of a host that runs commands in its own process: set when the command is to end early. Without it signals say
    /// so.
    std::atomic<bool> const* stop = nullptr;
    /// Of such a host: where progress goes, from any thread. `err` is without it then.
    std::function<void(std::string const&)> progress{};
};

/// Runs the command with what was parsed and returns the exit code (see `exit_code`).
using Action = std::function<int()>;

/// One command. Each `cli/<topic>/command_<name>.cpp` defines one of these as `extern constinit CommandEntry const
/// ..._command`, and `cli/command_catalog.cpp` lists it.
struct CommandEntry {
    char const* name;
    char const* summary;  ///< one line of `sextant --help`
    /// Adds the options to `app` (and examples with `app.footer`), and returns what to do after parsing. What the
    /// options are stored in must live in the action: capture a shared_ptr to it. `app` and `context` outlive the
    /// action.
    Action (*describe)(CLI::App& app, CommandContext& context);
};

/// Every command, in the order of `sextant --help`.
std::span<CommandEntry const* const> command_catalog();

namespace exit_code {
inline constexpr int done = 0;
inline constexpr int answer_is_no = 1;  ///< nothing fits, validation failed
inline constexpr int bad_input = 2;
inline constexpr int unavailable = 3;  ///< hardware or library missing
inline constexpr int our_bug = 70;
}  // namespace exit_code

}  // namespace sextant::cli

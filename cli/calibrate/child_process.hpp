#pragma once

#include "core/units.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace sextant::cli {

/// How a child program ended: its exit code, or 128 + the signal that ended it, as shells count.
struct ChildEnd {
    int code = 0;
    bool interrupted = false;  ///< by SIGINT or SIGTERM, its own or ours
    bool late = false;         ///< it had had its time
};

/// Runs `program` with `arguments` (no shell in between) on our own standard streams and waits. When `stop` becomes
/// true, or after `limit`, the child is sent SIGTERM, and SIGKILL when that does not end it within 0.7 s; a terminal's
/// Ctrl-C reaches it by itself. When this process ends in any other way, so does the child.
/// @throws InputError when it cannot be started.
ChildEnd run_child(std::string const& program, std::vector<std::string> const& arguments, std::atomic<bool> const& stop,
                   Seconds limit = 1e18 * units::s);

/// The same with its standard output as text. @throws InputError when it cannot be started.
ChildEnd child_output(std::string const& program, std::vector<std::string> const& arguments, std::string& output);

}  // namespace sextant::cli

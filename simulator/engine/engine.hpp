#pragma once

#include "simulator/network/fabric.hpp"
#include "simulator/task_graph.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class NetworkMode : std::uint8_t {
    ideal,  ///< every communication takes the time it takes alone
    fair,   ///< transfers that share a link share its bandwidth, max-min
};
std::string_view name_of(NetworkMode mode);
/// @throws InputError with the known names.
NetworkMode network_mode_from(std::string_view name, std::string_view where);

/// A link that stops carrying anything.
struct LinkFailure {
    std::string link;  ///< pattern as in `Fabric::degrade`
    Seconds at;
};

struct EngineOptions {
    NetworkMode network = NetworkMode::fair;
    double communication_sms = 0;  ///< share of a rank's compute that a running collective takes
    double other_traffic = 0;      ///< share of every scale-out link that somebody else uses
    std::vector<LinkFailure> failures{};
    Seconds time_limit = 600 * units::s;      ///< of wall-clock time
    std::atomic<bool> const* stop = nullptr;  ///< set by an interrupt
};

struct LinkUse {
    std::string name;
    BytesPerSecond bandwidth;
    Bytes carried;
    double busy_share = 0;  ///< carried / (bandwidth x makespan)
};

/// What a simulation came to.
struct Simulation {
    enum class State : std::uint8_t { finished, stuck, interrupted, timed_out, crashed };
    State state = State::finished;
    std::string message{};         ///< for all but finished: what happened, and what is stuck on what
    TaskTimes times{};             ///< negative where a task did not start or end
    std::vector<LinkUse> links{};  ///< fair network only, in the order of the fabric
    std::int64_t activities = 0;   ///< that SimGrid ran
};

/// "finished", "stuck", "interrupted", "timed out", "crashed".
std::string_view name_of(Simulation::State state);

/// Bytes per second that other traffic leaves of each link of the fabric.
std::vector<double> usable_bandwidths(Fabric const& fabric, EngineOptions const& options);

/// @throws InputError "<where>: ..." when a share, a time or a link's name is out of range, or an ideal network is
/// asked for what only a fair one can do.
void check_engine_options(EngineOptions const& options, Fabric const& fabric, std::string_view where);

/// Simulates the graph on SimGrid in a process of its own: a crash, a hang or an interrupt there is a state of the
/// result. Same input, same result to the bit. Several may run at once, from different threads.
/// @throws InputError as `check_engine_options`.
Simulation simulate(TaskGraph const& graph, Fabric const& fabric, EngineOptions const& options);

}  // namespace sextant

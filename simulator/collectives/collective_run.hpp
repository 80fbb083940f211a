#pragma once

#include "core/spec/cluster_spec.hpp"
#include "simulator/collectives/catalog.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/network/fabric.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// One algorithm carried out on one buffer.
struct CollectiveTiming {
    Bytes bytes;
    Simulation::State state = Simulation::State::finished;
    std::string message{};  ///< for all but finished
    Seconds time;
    std::int64_t activities = 0;  ///< that were simulated: none where no two flows meet
    /// Links with the most to do, fullest first; of links alike the first by name. Fair network only.
    std::vector<LinkUse> busiest{};
};

/// One algorithm on all buffer sizes asked for, or why it cannot run.
struct CollectiveRun {
    CollectiveAlgorithm const* algorithm = nullptr;
    std::optional<std::string> reason{};  ///< that it cannot run or was not run, as a sentence
    bool takes_long = false;              ///< why it was not run: it could be
    std::int64_t rounds = 0;
    std::int64_t flows = 0;
    std::vector<std::string> phases{};
    std::vector<CollectiveTiming> timings{};
};

/// What becomes of flows that meet no other (`lone_flows`).
enum class LoneFlows : std::uint8_t {
    timed,      ///< they take their time; only the others are simulated
    simulated,  ///< all are simulated. The same result, in more time
};

/// Sum over phases of the square of the flows that may meet in one, that a simulation of ten seconds has. Its time
/// grows with that sum: 7e6 to 3e7 a second on one core of a Xeon of 2.1 GHz (all-to-all `direct` of 64 and 128 ranks
/// on switches, PCIe and tori, `pairwise` of 256 on a torus, `tree` of 2048).
inline constexpr double meetings_of_ten_seconds = 1e8;

struct CollectiveRunOptions {
    EngineOptions engine{};
    /// What takes longer, all sizes together, is left out with the reason; see `meetings_of_ten_seconds`.
    double most_meetings = std::numeric_limits<double>::infinity();
    LoneFlows lone_flows = LoneFlows::timed;
    std::vector<DegradedLink> degraded{};
    std::string_view degraded_where = "degraded link";  ///< for errors
    std::size_t busiest_links = 1;
};

/// Runs an algorithm as flows over the cluster's links. On an ideal network every flow takes the time it has alone.
/// @throws InputError when a degraded link does not exist.
CollectiveRun run_collective(ClusterSpec const& cluster, CollectiveAlgorithm const& algorithm,
                             CollectiveShape const& shape, std::span<Bytes const> sizes,
                             CollectiveRunOptions const& options);

}  // namespace sextant

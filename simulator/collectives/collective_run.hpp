#pragma once

#include "core/spec/cluster_spec.hpp"
#include "simulator/collectives/catalog.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/network/fabric.hpp"

#include <cstdint>
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
    std::optional<std::string> reason{};  ///< that it cannot run, as a sentence
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

struct CollectiveRunOptions {
    EngineOptions engine{};
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

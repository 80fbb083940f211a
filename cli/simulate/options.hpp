#pragma once

#include "cli/options/plan_options.hpp"
#include "simulator/plan_simulation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant::cli {

/// What `simulate` asks of a simulation, as text from the command line.
struct SimulateOptions {
    std::string network = "fair";
    std::string granularity;  ///< empty: op, or layer where every rank is simulated
    std::int64_t steps = 1;
    std::int64_t prefetch = 1;
    bool fold = false;
    bool unfold = false;
    double jitter = 0;
    std::vector<std::string> stragglers;  ///< RANK:FACTOR
    std::vector<std::string> slow_nodes;  ///< NODE:FACTOR
    std::vector<std::string> degraded;    ///< LINK:FACTOR
    std::vector<std::string> failed;      ///< LINK[@TIME]
    double other_traffic = 0;
    double communication_sms = 0;
    std::uint64_t seed = 1;
    std::int64_t repetitions = 1;
    std::int64_t threads = 0;
    std::string time_limit = "600 s";
};

void add_simulate_options(CLI::App& app, SimulateOptions& options);

/// @throws InputError for what cannot be read, is out of range or does not go together.
SimulationRequest simulation_request(SimulateOptions const& options, ParallelPlan const& plan,
                                     ClusterSpec const& cluster);

}  // namespace sextant::cli

#include "core/spec/hardware_catalog.hpp"
#include "perf/goal.hpp"
#include "simulator/collectives/collective_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace sextant::perf {
namespace {

/// A 1 GiB all-reduce over 1,024 GPUs on a rail-optimised fat tree: seconds from the name of the algorithm to the
/// result, best of ten.
double all_reduce_seconds(char const* algorithm, LoneFlows lone_flows, std::int64_t& flows) {
    ClusterSpec const cluster = find_cluster("h100-sxm", "perf");
    std::vector<Bytes> const sizes{1 * units::GiB};
    CollectiveRunOptions options;
    options.lone_flows = lone_flows;
    double best = 1e9;
    for (int i = 0; i < 10; ++i) {
        auto const start = Clock::now();
        CollectiveShape const shape = collective_shape(cluster, CollectiveKind::all_reduce, 1024, "perf");
        CollectiveRun const run = run_collective(cluster, find_collective(algorithm, "perf"), shape, sizes, options);
        if (run.reason || run.timings.front().state != Simulation::State::finished) std::abort();
        best = std::min(best, seconds_since(start));
        flows = run.flows;
    }
    return best;
}

}  // namespace

void collective_goals() {
    struct Case {
        char const* algorithm;
        LoneFlows lone_flows;
        double goal_ms;
    };
    for (Case const& c : {Case{"ring", LoneFlows::timed, 50},
                          {"ring", LoneFlows::simulated, 50},
                          {"hierarchical", LoneFlows::timed, 50},
                          {"halving-doubling", LoneFlows::timed, 50},
                          {"tree", LoneFlows::timed, 500}}) {
        std::int64_t flows = 0;
        double const seconds = all_reduce_seconds(c.algorithm, c.lone_flows, flows);
        std::string const what = fmt::format("1 GiB all-reduce, 1,024 GPUs, {}, {} flows{}", c.algorithm, flows,
                                             c.lone_flows == LoneFlows::simulated ? ", all simulated" : "");
        print(what.c_str(), 1e3 * seconds, "ms", c.goal_ms, "<=");
    }
}

}  // namespace sextant::perf

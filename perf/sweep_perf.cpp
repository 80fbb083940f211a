// Sweeps: points a second of the built program, start and output included.
#include "perf/goal.hpp"

#include <cstdlib>
#include <string>

namespace sextant::perf {
namespace {

/// Seconds that a sweep takes from cold.
double sweep_seconds(std::string const& arguments) {
    std::string const command =
        std::string("'") + SEXTANT_PROGRAM + "' sweep " + arguments + " --format csv >/dev/null";
    auto const start = Clock::now();
    if (std::system(command.c_str()) != 0) {
        fmt::print(stderr, "perf: sweep failed\n");
        std::exit(1);
    }
    return seconds_since(start);
}

}  // namespace

void sweep_goals() {
    // 5 x 4 x 5 x 10 x 10 = 10,000 points with an answer each.
    std::string const grid =
        "estimate --model llama-3.1-70b --cluster h100-sxm --axis gpus=64..1024x2 --axis tp=1,2,4,8 --axis "
        "pp=1,2,4,8,16 "
        "--axis inter_node_bandwidth=x0.1..1+0.1 --axis global-batch=1024..10240+1024";
    double const all = sweep_seconds(grid);
    print("sweep: 10,000 estimates, all cores", all, "s", 5, "<=");
    print("  points a second", 1e4 / all, "points/s", 2000, ">=");
    print("  one worker", 1e4 / sweep_seconds(grid + " --threads 1"), "points/s", 1000, ">=");
    double const simulated = sweep_seconds(
        "simulate --model llama-3.1-8b --cluster h100-sxm --gpus 64 --tp 8 --global-batch 64 "
        "--axis other-traffic=0..0.49+0.01 --axis pp=1,2");
    print("sweep: 100 simulated steps of 64 GPUs", 100 / simulated, "points/s", 20, ">=");
}

}  // namespace sextant::perf

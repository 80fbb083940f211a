#include "simulator/engine/simgrid/platform.hpp"
#include "simulator/engine/simgrid/serving_actors.hpp"
#include "simulator/engine/simgrid/settings.hpp"
#include "simulator/engine/simgrid/task_runner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sextant {
namespace {

/// Seconds within which events are simultaneous: some steps of a double at the end of a run that shared links make a
/// hundred times as long. Of less SimGrid's clock may pass an event by rounding, which then never comes.
double simultaneous_within(EngineRun const& run) { return std::max(1e-15, std::exp2(-43) * run.alone); }

// Nothing here is ever destroyed: the process ends without it, in less time.

void run_engine(EngineRun const& run) {
    std::array<char, 64> precision{};
    std::snprintf(precision.data(), precision.size(), "--cfg=surf/precision:%.17g", simultaneous_within(run));
    start_simgrid(std::array<char const*, 1>{precision.data()});
    auto const* platform = new Platform(run);
    auto* runner = new TaskRunner(run, *platform);
    runner->run();
}

void run_serving(ServingActorsRun const& run) {
    start_simgrid(ServingActors::settings);
    auto* actors = new ServingActors(run);
    actors->run();
}

}  // namespace
}  // namespace sextant

/// The symbols that the shared object is asked for (`EngineEntry`, `ServingEntry`).
extern "C" __attribute__((visibility("default"))) void sextant_run_engine(sextant::EngineRun const& run) {
    sextant::run_engine(run);
}
extern "C" __attribute__((visibility("default"))) void sextant_run_serving(sextant::ServingActorsRun const& run) {
    sextant::run_serving(run);
}

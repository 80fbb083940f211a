#include "simulator/engine/simgrid/platform.hpp"
#include "simulator/engine/simgrid/serving_actors.hpp"
#include "simulator/engine/simgrid/settings.hpp"
#include "simulator/engine/simgrid/task_runner.hpp"

namespace sextant {
namespace {

// Nothing here is ever destroyed: the process ends without it, in less time.

void run_engine(EngineRun const& run) {
    start_simgrid({});
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

#pragma once

#include "simulator/engine/engine_run.hpp"
#include "simulator/serving/serving_moments.hpp"

#include <string>

namespace sextant {

/// The engine, or why there is none.
struct EngineModule {
    EngineEntry run = nullptr;
    ServingEntry run_serving = nullptr;
    std::string problem{};
};

/// The part of the simulator that is linked to SimGrid, loaded when it is first asked for.
///
/// SimGrid takes some 25 ms to load, with libraries of its own, and most commands never simulate. So that part is a
/// shared object of its own, which the program carries with it: a copied program stays whole, and only a simulation
/// needs SimGrid on the machine. From any thread.
EngineModule const& engine_module();

}  // namespace sextant

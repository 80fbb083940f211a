#pragma once

#include "simulator/serving/serving_simulation.hpp"

#include <cstdint>
#include <string_view>

namespace sextant {

/// Who lets time pass in a serving simulation.
enum class ServingClock : std::uint8_t {
    loop,    ///< `simulate_serving`
    simgrid  ///< `simulate_serving_on_simgrid`
};
std::string_view name_of(ServingClock clock);
/// @throws InputError with the known names.
ServingClock serving_clock_from(std::string_view name, std::string_view where);

/// `simulate_serving` with actors on SimGrid instead of a loop over a heap
/// (`simulator/engine/simgrid/serving_actors.hpp`) and caches between replicas as its flows: an independent clock and
/// an independent sharing of links. In a process of its own, as SimGrid keeps one clock per process. Without caches on
/// shared links the outcome is the same to the last bit; with them, to rounding, where the ranks of a replica have
/// links alike.
///
/// @pre `engine_module().run_serving` is there. @throws InputError as `simulate_serving`, and for more ways of caches
/// than SimGrid has room for; std::runtime_error with the reason when the process dies.
ServingOutcome simulate_serving_on_simgrid(ServingSetup const& setup, ServiceModel const& service,
                                           RequestSource& source, ServingHooks const& hooks = {});

}  // namespace sextant

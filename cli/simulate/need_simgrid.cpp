#include "cli/simulate/need_simgrid.hpp"

#include "cli/unavailable.hpp"
#include "simulator/engine/engine_module.hpp"

#include <fmt/format.h>

namespace sextant::cli {

void need_simgrid(std::string_view where) {
    EngineModule const& engine = engine_module();
    if (engine.run == nullptr) throw UnavailableError(fmt::format("{}: {}", where, engine.problem));
}

}  // namespace sextant::cli

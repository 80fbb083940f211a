#pragma once

#include "simulator/serving/serving_moments.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace simgrid::s4u {
class Host;
}  // namespace simgrid::s4u

namespace sextant {

/// The hosts of a serving simulation: one for the router, one for each replica, and for every way of caches a source
/// whose way up is the complete list of its links, as in `Platform`.
class ServingPlatform {
public:
    /// @pre SimGrid is initialised, and this is its only platform.
    explicit ServingPlatform(ServingActorsRun const& run);

    [[nodiscard]] simgrid::s4u::Host* router() const { return router_; }
    [[nodiscard]] simgrid::s4u::Host* replica(std::int32_t number) const {
        return replicas_[static_cast<std::size_t>(number)];
    }
    /// One for each flow of a cache.
    [[nodiscard]] std::vector<simgrid::s4u::Host*> const& sources(std::int32_t from, std::int32_t to) const {
        return sources_.at({from, to});
    }
    [[nodiscard]] simgrid::s4u::Host* sink() const { return sink_; }

    /// SimGrid counts whole units. So many make a byte: caches of a millionth of a byte to 16 TiB are told apart.
    static constexpr double units_per_byte = 1 << 20;

private:
    simgrid::s4u::Host* router_ = nullptr;
    simgrid::s4u::Host* sink_ = nullptr;
    std::vector<simgrid::s4u::Host*> replicas_;
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<simgrid::s4u::Host*>> sources_;
};

}  // namespace sextant

#pragma once

#include "simulator/engine/engine_run.hpp"

#include <cstdint>
#include <vector>

namespace simgrid::s4u {
class Host;
class Link;
}  // namespace simgrid::s4u

namespace sextant {

/// The accelerators and links of a run as SimGrid knows them.
///
/// A star of one sink and a source per distinct flow, whose way up is the complete list of the flow's links: any set of
/// links can be a route, and none needs a topology that SimGrid has. Bandwidth is in the links, latency in the tasks.
class Platform {
public:
    /// A route, and how many units SimGrid counts for a byte on it.
    struct Source {
        simgrid::s4u::Host* host = nullptr;
        std::vector<std::int32_t> const* links = nullptr;  ///< of the fabric
        double rate = 0;                                   ///< bytes per second
    };

    /// @pre SimGrid is initialised, and this is its only platform.
    explicit Platform(EngineRun const& run);

    /// Speed 0 of an accelerator is its full speed, speed 1 that beside a running collective. Null where compute never
    /// runs at speed 1.
    [[nodiscard]] simgrid::s4u::Host* compute(std::int32_t rank) const {
        return compute_[static_cast<std::size_t>(rank)];
    }
    /// Operations a second at full speed: a power of two, so that times survive the conversion to the digit.
    static constexpr double speed = 1 << 30;

    /// Sources of a demand's flows; none in an ideal network.
    [[nodiscard]] std::vector<Source> const& sources(std::int32_t demand) const {
        return sources_[static_cast<std::size_t>(demand)];
    }
    [[nodiscard]] simgrid::s4u::Host* sink() const { return sink_; }
    [[nodiscard]] simgrid::s4u::Link* link(std::int32_t index) const { return links_[static_cast<std::size_t>(index)]; }
    /// SimGrid counts whole units; so many of them make a byte that sizes are right to 1e-9 and better.
    [[nodiscard]] double units_per_byte() const { return units_per_byte_; }

private:
    std::vector<simgrid::s4u::Host*> compute_;
    std::vector<std::vector<Source>> sources_;
    std::vector<simgrid::s4u::Link*> links_;
    simgrid::s4u::Host* sink_ = nullptr;
    double units_per_byte_ = 1;
};

/// Whether the task is a collective that takes compute from its members while it runs.
bool holds_compute(EngineRun const& run, Task const& task);

}  // namespace sextant

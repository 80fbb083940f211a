#pragma once

#include "core/random_stream.hpp"
#include "cost_models/goodput/failure_process.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace sextant {

/// How old the components are when the run starts. It matters for Weibull processes only.
enum class FleetAge : std::uint8_t {
    running,  ///< in service for long: the first failure has the equilibrium distribution, the rate is n / MTBF at once
    fresh,    ///< all new: with a shape below one they fail more often at first
};

/// The failures of one process in the order of time: the superposition of a renewal process per component, each new
/// again when it fails (a spare takes its place). Exponential: one clock for all. Weibull: a heap of the components'
/// next failures.
class FailureClock {
public:
    FailureClock(FailureProcess const& process, FleetAge age, RandomStream random);

    /// Time of the next failure in seconds, infinite if there is none.
    [[nodiscard]] double next() const { return next_; }
    [[nodiscard]] std::int64_t component() const { return component_; }
    /// Goes on to the failure after that.
    void pop();

private:
    struct Due {
        double at;
        std::int64_t component;
        bool operator<(Due const& other) const { return at > other.at; }  // for a heap with the earliest on top
    };
    double lifetime();
    void show_top();

    RandomStream random_;
    std::int64_t components_;
    double mtbf_;
    double shape_;
    double scale_ = 0;  ///< of the Weibull distribution
    std::vector<Due> heap_;
    double next_ = std::numeric_limits<double>::infinity();
    std::int64_t component_ = 0;
};

}  // namespace sextant

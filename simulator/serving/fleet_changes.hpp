#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace sextant {

/// What the number of replicas follows.
enum class ScaleMetric : std::uint8_t {
    waiting,   ///< requests in queues, per replica
    requests,  ///< unfinished requests, per replica
    busy       ///< share of the last interval that first stages were busy
};

/// Replicas that come and go with the load.
///
/// At even times, with r replicas up and a metric of m against a target of t:
///
///   wanted = ceil(r m / t), r when m / t is within a tenth of 1,
///
/// and the largest of the last `down_after` where that is less than there are. A replica that comes serves after its
/// cold start; one that goes gets no more requests, gives those that wait to others and ends with its last one.
/// Source: Kubernetes documentation, Horizontal Pod Autoscaling, algorithm details (interval, tolerance and
/// stabilisation window are its defaults).
struct Autoscale {
    std::int64_t least = 0;
    std::int64_t most = 0;  ///< 0: the number of replicas is fixed
    ScaleMetric metric = ScaleMetric::requests;
    double target = 1;
    Seconds every = 15 * units::s;
    Seconds down_after = 300 * units::s;
    Seconds cold_start{};
    [[nodiscard]] bool on() const { return most > 0; }
};

/// A replica that is taken out.
struct PlannedDrain {
    Seconds at{};
    std::int64_t replica = 0;
};

/// Replicas that fail, each after an exponential time in service, and such that are drained.
struct Outages {
    Seconds mtbf{};    ///< of a replica, 0: none fails
    Seconds repair{};  ///< until it serves again
    std::vector<PlannedDrain> drains{};
    Seconds drained_for{};  ///< until it serves again, 0: never
    std::uint64_t seed = 1;
};

/// Keeps the recommendations of the autoscaler.
class ScaleDecision {
public:
    explicit ScaleDecision(Autoscale const& rules) : rules_(rules) {}
    /// How many replicas there should be. @param ready that serve now @param there with those that start
    std::int64_t wanted(Seconds now, std::int64_t ready, std::int64_t there, double metric);

private:
    Autoscale rules_;
    std::deque<std::pair<Seconds, std::int64_t>> recommended_;
};

}  // namespace sextant

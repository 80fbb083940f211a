#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Whether what a run shows will go on.
enum class SteadyState : std::uint8_t {
    steady,
    unsettled,  ///< the number of requests in the system still rose, or too few arrived to tell
    overloaded  ///< the queue grows without bound
};

/// Looks for a queue that grows without bound in samples taken at even numbers of arrivals.
///
/// Of the samples so far the second half counts: A arrivals, the queue (or the number in the system) before, at three
/// quarters and at the end, W0, W1, W2. It grows when W0 < W1 < W2, W2 - W0 > 3 v sqrt(A) with v the coefficient of
/// variation of the intervals (at least 1), W2 - W0 > A / 50 and it was never empty. A queue that is stable comes
/// back to few requests within a time that does not depend on A; chance alone moves the sum of A intervals by
/// v sqrt(A). A growing queue is overload; a growing number in the system with a queue that does not is a run that has
/// not settled (batches still fill), and so is a queue that only grew by more than v sqrt(A) / 2.
class OverloadWatch {
public:
    explicit OverloadWatch(double variation) : variation_(variation) {}

    void sample(Seconds now, std::int64_t arrived, std::int64_t waiting, std::int64_t in_system);
    /// Enough requests have come to tell.
    [[nodiscard]] bool enough() const;
    [[nodiscard]] bool overloaded() const;
    /// At the last arrival.
    [[nodiscard]] SteadyState verdict() const;

    /// Since when the queue has not been empty. @pre overloaded.
    [[nodiscard]] Seconds onset() const;
    /// Requests that arrived per second, of the second half.
    [[nodiscard]] double arrived_per_second() const;

    static constexpr std::int64_t least_arrivals = 400;
    static constexpr std::size_t least_samples = 40;

private:
    struct Sample {
        Seconds at;
        std::int64_t arrived, waiting, in_system;
    };
    enum class Proof : std::uint8_t { likely, beyond_doubt };
    [[nodiscard]] bool grows(std::int64_t Sample::*what, Proof proof) const;

    double variation_;
    std::vector<Sample> samples_;
};

}  // namespace sextant

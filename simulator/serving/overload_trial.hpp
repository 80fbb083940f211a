#pragma once

#include "simulator/serving/overload_watch.hpp"
#include "simulator/serving/serving_outcome.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sextant {

/// Tells overload from a queue that grew for a while: it is believed when the queue still grows once the capacity has
/// been measured, and when fewer requests are served than arrive.
///
/// A round is as many requests as ran at a time. The first one fills the batches; what is served in the next four or
/// more is the capacity. Requests of equal length come and go in waves, so they are measured from the end of a request
/// to one at which the batches have as many tokens of unfinished answers as then: what came out is what was finished,
/// to 2 %. Where none comes in eight rounds, or before the requests run out, the last one to 5 % has to do, of a round
/// or more.
class OverloadTrial {
public:
    explicit OverloadTrial(double variation) : watch_(variation) {}

    /// The state at some number of arrivals; looks for a first sign.
    void look(ServingTotals const& totals, std::int64_t waiting, std::int64_t running);
    /// Whether there was a sign that `follow` has to decide about.
    [[nodiscard]] bool suspected() const { return sign_.has_value(); }
    enum class Queue : std::uint8_t { goes_on, ended };
    /// True: overload. @param now called for the totals when requests have finished
    template <class Snapshot>
    bool follow(std::int64_t finished, std::int64_t running, Queue queue, Snapshot const& now) {
        most_running_ = std::max(most_running_, running);
        if (finished != seen_ && finished >= next_snapshot()) measure(now());
        seen_ = finished;
        return over(queue) && believed();
    }
    /// Requests served a second as measured, where it was for a round at least.
    [[nodiscard]] std::optional<double> capacity() const;
    /// Totals of that time.
    [[nodiscard]] std::optional<ServingTotals> measured() const;
    /// What was measured last served all that came.
    [[nodiscard]] bool refuted() const { return refuted_; }
    [[nodiscard]] OverloadWatch const& watch() const { return watch_; }

private:
    static constexpr std::int64_t rounds = 4;
    static constexpr std::int64_t most_rounds = 8;
    static constexpr std::int64_t least_round = 20;
    static constexpr double balanced = 0.02;
    static constexpr double nearly_balanced = 0.05;
    /// Requests that have finished by then: a round after the sign, and after the beginning.
    [[nodiscard]] std::int64_t next_snapshot() const;
    void measure(ServingTotals const& totals);
    /// Enough has been measured, or no more can be.
    [[nodiscard]] bool over(Queue queue) const;
    /// Without arrivals to look at, the last look stands. Where it is not believed the next sign begins anew.
    bool believed();

    OverloadWatch watch_;
    std::int64_t most_running_ = 0;
    std::int64_t seen_ = -1;            ///< requests finished
    std::optional<std::int64_t> sign_;  ///< requests finished then
    std::optional<ServingTotals> start_;
    ServingTotals end_;
    double imbalance_ = 0;  ///< there: share of the tokens that came out
    std::int64_t round_ = 0;
    bool refuted_ = false;
};

}  // namespace sextant

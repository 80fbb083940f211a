#pragma once

#include "simulator/serving/overload_watch.hpp"
#include "simulator/serving/serving_outcome.hpp"

#include <cstdint>
#include <optional>

namespace sextant {

/// Tells overload from a queue that grew for a while: it is believed when the queue still grows after the requests in
/// the batches at its first sign have been served five times over; what is served in the last four rounds is the
/// capacity. Whole rounds: requests of equal length come and go in waves.
class OverloadTrial {
public:
    explicit OverloadTrial(double variation) : watch_(variation) {}

    /// The state at some number of arrivals; looks for a first sign.
    void look(ServingTotals const& totals, std::int64_t waiting, std::int64_t running);
    /// Whether there was a sign that `follow` has to decide about.
    [[nodiscard]] bool suspected() const { return rounds_.has_value(); }
    enum class Queue : std::uint8_t { goes_on, ended };
    /// True: overload. @param now called for the totals when the measured rounds begin
    template <class Snapshot>
    bool follow(std::int64_t finished, Queue queue, Snapshot const& now) {
        if (!rounds_->measuring && finished >= rounds_->from && queue == Queue::goes_on) {
            rounds_->measuring = true;
            rounds_->start = now();
            return false;
        }
        if (finished < rounds_->until && queue == Queue::goes_on) return false;
        // Without arrivals to look at, the last look stands.
        if (watch_.overloaded()) return true;
        rounds_.reset();
        return false;
    }
    /// Totals at the beginning of the measured rounds, if they began.
    [[nodiscard]] ServingTotals const* measured_from() const {
        return rounds_ && rounds_->measuring ? &rounds_->start : nullptr;
    }
    [[nodiscard]] OverloadWatch const& watch() const { return watch_; }

private:
    struct Rounds {
        std::int64_t from, until;  ///< requests finished, of the rounds measured
        ServingTotals start{};
        bool measuring = false;
    };
    OverloadWatch watch_;
    std::optional<Rounds> rounds_;
};

}  // namespace sextant

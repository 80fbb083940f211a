#pragma once

#include "simulator/serving/fleet_keeper.hpp"
#include "simulator/serving/latency_record.hpp"
#include "simulator/serving/overload_trial.hpp"
#include "simulator/serving/request_paths.hpp"
#include "simulator/serving/request_source.hpp"
#include "simulator/serving/sample_series.hpp"
#include "simulator/serving/serving_simulation.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

/// What happens in a serving simulation, moment by moment. Who lets time pass is not known here: events wait in the
/// queue
/// (`simulate_serving`), or are handed out to somebody who brings them back when they are due.
class ServingRun {
public:
    /// All but `carrier` must outlive this.
    ServingRun(ServingSetup const& setup, ServiceModel const& service, RequestSource& source, ServingHooks const& hooks,
               Carrier carrier);

    /// Time zero.
    void begin();
    /// There is more to come, and no reason to stop.
    [[nodiscard]] bool goes_on() const { return !stopped_ && (has_work() || (open() && next_)); }
    /// Everything that happens at the next time of all that is here. @pre `next_at` is a time.
    void advance();
    /// Of the events that are here and the next arrival; never without one.
    [[nodiscard]] Seconds next_at() const;

    /// Events that are planned; the arrivals of an open loop are not among them.
    [[nodiscard]] EventQueue& events() { return events_; }
    /// Caches that somebody else is to move.
    [[nodiscard]] std::vector<CacheToCarry>& to_carry() { return paths_.to_carry(); }
    /// Of an open loop, if one is to come.
    [[nodiscard]] std::optional<Seconds> next_arrival() const;
    /// Of the last moment.
    [[nodiscard]] Seconds now() const { return totals_.at; }
    ServingOutcome conclude();

private:
    /// A request between its arrival and the queue of a replica.
    struct Arrived {
        ServingRequest request;
        std::int64_t number;
    };
    [[nodiscard]] bool open() const { return setup_.concurrency == 0; }
    [[nodiscard]] bool has_work() const {
        return events_.size() > keeper_.background() || totals_.arrived > totals_.finished;
    }
    void pass_time(Seconds now);
    void arrive(Seconds now);
    void look();
    void follow_overload();
    void happen(ServingEvent const& event);
    void finish_iteration(std::size_t replica, std::size_t lane);
    [[nodiscard]] ServingTotals snapshot() const;
    [[nodiscard]] double cache_use() const;  ///< now, of the replicas that serve
    [[nodiscard]] SteadyState verdict() const;
    void set_window(ServingOutcome& out);
    /// When as many requests are in the system as will go on to be: once answers come as fast as requests, and where
    /// that leaves arrivals to measure. Nothing where it does not.
    [[nodiscard]] ServingTotals const* filled(ServingOutcome const& out) const;
    void conclude_overload(ServingOutcome& out);

    ServingSetup const& setup_;
    ServiceModel const& service_;
    RequestSource& source_;
    ServingHooks const& hooks_;
    Fleet fleet_;
    FleetKeeper keeper_;
    EventQueue events_;
    std::optional<ServingRequest> next_;
    OnTheWay<Arrived> arrived_;
    std::int64_t most_waiting_ = 0;
    double most_cache_use_ = 0;
    ServingTotals totals_, from_, last_arrival_;
    Seconds first_arrival_{};
    std::vector<ServingTotals> starts_;  ///< at some measured arrivals
    RequestPaths paths_;
    OverloadTrial overload_;  ///< of a fleet that grows no more
    OverloadWatch scaled_;    ///< of one that comes and goes, from the first request on
    std::int64_t first_measured_, watch_every_, since_last_arrival_ = 0;
    bool stopped_ = false, interrupted_ = false, overloaded_ = false;
    std::vector<FinishedRequest> done_;
    std::vector<TokenGap> gaps_;
    LatencyRecord record_;
    SampleSeries series_;
};

}  // namespace sextant

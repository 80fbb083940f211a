#include "simulator/serving/fleet_keeper.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

using Kind = ServingEvent::Kind;
using State = Fleet::State;
constexpr std::uint64_t of_failures = 107;

FailureProcess process_of(ServingSetup const& setup) {
    Seconds const never = std::numeric_limits<double>::infinity() * units::s;
    return {.name = "replica",
            .components = setup.replicas,
            .mtbf = setup.outages.mtbf > Seconds{} ? setup.outages.mtbf : never};
}

}  // namespace

FleetKeeper::FleetKeeper(ServingSetup const& setup, Fleet& fleet)
    : setup_(setup),
      fleet_(fleet),
      clock_(process_of(setup), FleetAge::running, RandomStream(setup.outages.seed, 0, of_failures)),
      decision_(setup.autoscale),
      planned_(static_cast<std::size_t>(setup.replicas), 0) {}

void FleetKeeper::plan(Seconds at, Kind kind, std::int32_t index, EventQueue& events, std::int32_t life) {
    ++background_;
    events.plan(at, kind, index, 0, life);
}

void FleetKeeper::begin(EventQueue& events) {
    Autoscale const& scaling = setup_.autoscale;
    for (std::int64_t i = 0; i < setup_.replicas; ++i)
        fleet_.set_state(static_cast<std::size_t>(i), !scaling.on() || i < scaling.least ? State::up : State::off);
    if (scaling.on()) plan(scaling.every, Kind::scale, 0, events);
    if (std::isfinite(clock_.next())) plan(clock_.next() * units::s, Kind::failure, 0, events);
    for (PlannedDrain const& planned : setup_.outages.drains)
        plan(planned.at, Kind::drain, static_cast<std::int32_t>(planned.replica), events);
}

std::vector<FinishedRequest> FleetKeeper::happen(ServingEvent const& event, EventQueue& events) {
    --background_;
    auto const replica = static_cast<std::size_t>(event.index);
    switch (event.kind) {
        case Kind::failure: {
            auto const failing = static_cast<std::size_t>(clock_.component());
            clock_.pop();
            plan(clock_.next() * units::s, Kind::failure, 0, events);
            return fail(failing, event.at, events);
        }
        case Kind::drain:
            if (fleet_.state(replica) != State::up) break;
            ++drains_;
            planned_[replica] = 1;
            return drain(replica, event.at, events);
        case Kind::serves:
            --coming_;
            if (event.life == fleet_.life(replica)) fleet_.set_state(replica, State::up);
            break;
        default: break;
    }
    return {};
}

std::vector<FinishedRequest> FleetKeeper::fail(std::size_t replica, Seconds now, EventQueue& events) {
    // Replicas that are not in service do not fail: exponential times in service know no age.
    bool const stops = fleet_.state(replica) == State::draining && planned_[replica] == 0;
    if (fleet_.state(replica) != State::up && fleet_.state(replica) != State::draining) return {};
    ++failures_;
    planned_[replica] = 0;
    std::vector<FinishedRequest> lost = fleet_.fail(replica);
    if (stops) {
        fleet_.set_state(replica, State::off);
        return lost;
    }
    fleet_.set_state(replica, State::down);
    ++coming_;
    plan(now + setup_.outages.repair, Kind::serves, static_cast<std::int32_t>(replica), events, fleet_.life(replica));
    return lost;
}

std::vector<FinishedRequest> FleetKeeper::drain(std::size_t replica, Seconds now, EventQueue& events) {
    fleet_.set_state(replica, State::draining);
    std::vector<FinishedRequest> waiting = fleet_.change(replica).give_away_waiting();
    settle(replica, now, events);
    return waiting;
}

void FleetKeeper::settle(std::size_t replica, Seconds now, EventQueue& events) {
    Replica const& drained = fleet_.replicas()[replica];
    if (fleet_.state(replica) != State::draining || drained.outstanding() > 0 || drained.holds_any()) return;
    bool const planned = planned_[replica] != 0;
    planned_[replica] = 0;
    if (!planned) {
        fleet_.set_state(replica, State::off);
        return;
    }
    bool const back = setup_.outages.drained_for > Seconds{};
    fleet_.set_state(replica, back || !setup_.autoscale.on() ? State::down : State::off);
    if (!back) return;
    ++coming_;
    plan(now + setup_.outages.drained_for, Kind::serves, static_cast<std::int32_t>(replica), events,
         fleet_.life(replica));
}

double FleetKeeper::metric(Seconds now, std::int64_t unfinished) {
    auto const ready = static_cast<double>(std::max<std::int64_t>(1, fleet_.up()));
    Seconds const busy = fleet_.counters().busy;
    double const busy_share = (busy - busy_) / (now - looked_) / ready;
    busy_ = busy;
    looked_ = now;
    switch (setup_.autoscale.metric) {
        case ScaleMetric::waiting: return static_cast<double>(fleet_.waiting()) / ready;
        case ScaleMetric::requests: return static_cast<double>(unfinished) / ready;
        case ScaleMetric::busy: break;
    }
    return busy_share;
}

std::vector<FinishedRequest> FleetKeeper::scale(Seconds now, std::int64_t unfinished, EventQueue& events) {
    --background_;
    plan(now + setup_.autoscale.every, Kind::scale, 0, events);
    std::int64_t const there = fleet_.up() + coming_;
    std::int64_t const wanted = decision_.wanted(now, fleet_.up(), there, metric(now, unfinished));
    if (wanted < there) return remove(there - wanted, now, events);
    add(wanted - there, now, events);
    return {};
}

void FleetKeeper::add(std::int64_t count, Seconds now, EventQueue& events) {
    for (std::size_t i = 0; i < fleet_.replicas().size() && count > 0; ++i) {
        if (fleet_.state(i) != State::off) continue;
        fleet_.set_state(i, State::starting);
        ++coming_;
        ++started_;
        --count;
        plan(now + setup_.autoscale.cold_start, Kind::serves, static_cast<std::int32_t>(i), events, fleet_.life(i));
    }
}

std::vector<FinishedRequest> FleetKeeper::remove(std::int64_t count, Seconds now, EventQueue& events) {
    std::vector<FinishedRequest> moved;
    for (; count > 0 && fleet_.up() > setup_.autoscale.least; --count) {
        std::size_t best = fleet_.replicas().size();
        for (std::size_t i = fleet_.replicas().size(); i-- > 0;) {
            if (fleet_.state(i) != State::up) continue;
            if (best == fleet_.replicas().size() ||
                fleet_.replicas()[i].outstanding() < fleet_.replicas()[best].outstanding())
                best = i;
        }
        ++stopped_;
        std::vector<FinishedRequest> const waiting = drain(best, now, events);
        moved.insert(moved.end(), waiting.begin(), waiting.end());
    }
    return moved;
}

bool FleetKeeper::at_full_size() const {
    return coming_ == 0 && (!setup_.autoscale.on() || fleet_.up() == setup_.autoscale.most);
}

void FleetKeeper::conclude(ServingOutcome& out) const {
    out.failures = failures_;
    out.drains = drains_;
    out.started = started_;
    out.stopped = stopped_;
}

}  // namespace sextant

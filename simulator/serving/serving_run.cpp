#include "simulator/serving/serving_run.hpp"

#include <algorithm>
#include <limits>

namespace sextant {
namespace {

constexpr std::int64_t watch_points = 200;
using Kind = ServingEvent::Kind;

}  // namespace

ServingRun::ServingRun(ServingSetup const& setup, ServiceModel const& service, RequestSource& source,
                       ServingHooks const& hooks, Carrier carrier)
    : setup_(setup),
      service_(service),
      source_(source),
      hooks_(hooks),
      fleet_(setup, service),
      keeper_(setup, fleet_),
      paths_(setup, service, fleet_, events_, totals_, carrier),
      overload_(setup.interval_variation),
      scaled_(setup.interval_variation),
      first_measured_(static_cast<std::int64_t>(setup.warmup_share * static_cast<double>(source.count()))),
      watch_every_(std::max<std::int64_t>(1, source.count() / watch_points)),
      record_(setup.objective, first_measured_, setup.tenants) {}

void ServingRun::begin() {
    next_ = source_.next();
    for (std::int64_t i = 0; i < setup_.concurrency && next_; ++i)
        arrive(Seconds{});
    keeper_.begin(events_);
}

Seconds ServingRun::next_at() const {
    Seconds const event = events_.empty() ? std::numeric_limits<double>::infinity() * units::s : events_.next_at();
    return open() && next_ ? std::min(next_->arrival, event) : event;
}

std::optional<Seconds> ServingRun::next_arrival() const {
    if (!open() || !next_) return std::nullopt;
    return next_->arrival;
}

void ServingRun::advance() {
    Seconds const now = next_at();
    pass_time(now);
    while (open() && next_ && next_->arrival == now)
        arrive(now);
    while (!events_.empty() && events_.next_at() == now)
        happen(events_.pop());
    fleet_.start_touched(now, events_);
    for (std::size_t const replica : fleet_.take_relieved())
        keeper_.settle(replica, now, events_);
    if (overload_.suspected() && keeper_.at_full_size()) follow_overload();
    most_waiting_ = std::max(most_waiting_, fleet_.waiting());
    most_cache_use_ = std::max(most_cache_use_, cache_use());
    if (series_.wants(now))
        series_.add({now, fleet_.waiting(), fleet_.running(), cache_use(), fleet_.counters().tokens_out,
                     fleet_.serving(), fleet_.held(), fleet_.counters().busy});
}

void ServingRun::pass_time(Seconds now) {
    double const span = (now - totals_.at).base();
    totals_.in_system += span * static_cast<double>(totals_.arrived - totals_.finished);
    totals_.waiting += span * static_cast<double>(fleet_.waiting());
    totals_.running += span * static_cast<double>(fleet_.running());
    totals_.blocks += span * static_cast<double>(fleet_.blocks());
    totals_.room += span * static_cast<double>(fleet_.room());
    totals_.up += span * static_cast<double>(fleet_.serving());
    totals_.down += span * static_cast<double>(fleet_.down());
    totals_.held += span * static_cast<double>(fleet_.held());
    totals_.at = now;
}

void ServingRun::arrive(Seconds now) {
    ServingRequest request = *next_;
    if (!open()) request.arrival = now;
    std::int64_t const number = totals_.arrived++;
    next_ = source_.next();
    if (number == 0) first_arrival_ = now;
    if (number == first_measured_) from_ = snapshot();
    if (!next_) last_arrival_ = snapshot();
    events_.plan(now + service_.before_queue(request.prompt), Kind::enter, arrived_.put({request, number}));
    if (totals_.arrived % watch_every_ == 0) look();
}

void ServingRun::look() {
    if (hooks_.progress) hooks_.progress(totals_.arrived);
    if (hooks_.stop != nullptr && hooks_.stop->load(std::memory_order_relaxed)) interrupted_ = stopped_ = true;
    if (!open()) return;
    if (next_ && totals_.arrived > first_measured_) starts_.push_back(snapshot());
    if (setup_.autoscale.on())
        scaled_.sample(totals_.at, totals_.arrived, fleet_.waiting(), totals_.arrived - totals_.finished);
    if (keeper_.at_full_size())
        overload_.look(totals_, fleet_.waiting(), fleet_.running());
    else if (setup_.autoscale.on())
        overload_ = OverloadTrial(setup_.interval_variation);
}

void ServingRun::follow_overload() {
    auto const queue = !next_ && fleet_.waiting() == 0 ? OverloadTrial::Queue::ended : OverloadTrial::Queue::goes_on;
    if (overload_.follow(totals_.finished, fleet_.running(), queue, [this] { return snapshot(); }))
        overloaded_ = stopped_ = true;
}

void ServingRun::happen(ServingEvent const& event) {
    auto const replica = static_cast<std::size_t>(event.index);
    switch (event.kind) {
        case Kind::enter: {
            Arrived const request = arrived_.take(event.index);
            paths_.enter(request.request, request.number);
            break;
        }
        case Kind::departed: paths_.departed(event); break;
        case Kind::transferred: paths_.transferred(event); break;
        case Kind::wake:
            if (event.life == fleet_.life(replica)) fleet_.wake(replica);
            break;
        case Kind::iteration:
            if (event.life == fleet_.life(replica)) finish_iteration(replica, static_cast<std::size_t>(event.lane));
            break;
        case Kind::failure:
        case Kind::drain: paths_.again(keeper_.happen(event, events_)); break;
        case Kind::serves:
            paths_.again(keeper_.happen(event, events_));
            paths_.resume();
            break;
        case Kind::scale: paths_.again(keeper_.scale(event.at, totals_.arrived - totals_.finished, events_)); break;
    }
}

void ServingRun::finish_iteration(std::size_t replica, std::size_t lane) {
    done_.clear();
    gaps_.clear();
    fleet_.change(replica).finish(lane, totals_.at, done_, gaps_);
    if (totals_.arrived > first_measured_)
        record_.add(gaps_, next_ ? LatencyRecord::Part::arriving : LatencyRecord::Part::emptying);
    std::int64_t left = 0;
    for (FinishedRequest& request : done_) {
        request.replica = static_cast<std::int32_t>(replica);
        if (request.replica < setup_.prefill_replicas && request.tokens < request.request.output) {
            paths_.send(request);
            continue;
        }
        ++totals_.finished;
        totals_.finished_tokens += request.request.output;
        record_.add(request);
        if (hooks_.finished) hooks_.finished(request);
        ++left;
    }
    if (!open())
        for (; left > 0 && next_; --left)
            arrive(totals_.at);
    if (!next_ && ++since_last_arrival_ % 4096 == 0 && hooks_.stop != nullptr && *hooks_.stop)
        interrupted_ = stopped_ = true;
    if (fleet_.state(replica) == Fleet::State::draining) keeper_.settle(replica, totals_.at, events_);
}

ServingTotals ServingRun::snapshot() const {
    ServingTotals out = totals_;
    out.counters = fleet_.counters();
    out.prefill_busy = fleet_.prefill_busy();
    return out;
}

double ServingRun::cache_use() const {
    return fleet_.room() > 0 ? static_cast<double>(fleet_.blocks()) / static_cast<double>(fleet_.room()) : 0;
}

ServingTotals const* ServingRun::filled(ServingOutcome const& out) const {
    Seconds const full = first_arrival_ + out.e2e.p90;
    if (from_.at >= full) return &from_;
    auto const start =
        std::find_if(starts_.begin(), starts_.end(), [&](ServingTotals const& s) { return s.at >= full; });
    return start != starts_.end() && last_arrival_.at - start->at >= out.e2e.mean ? &*start : nullptr;
}

/// The window begins when the system has filled and ends with the last arrival, when it holds at least one answer's
/// time of arrivals. Of overload it is the rounds measured.
void ServingRun::set_window(ServingOutcome& out) {
    if (out.capacity) {
        out.window = *overload_.measured();
        return;
    }
    if (totals_.arrived <= first_measured_) {  // cut short in the warm-up
        out.window = out.whole;
        return;
    }
    bool const cut = overloaded_ || interrupted_;
    ServingTotals const end = cut || next_ ? out.whole : last_arrival_;
    if (open() && !cut) {
        ServingTotals const* const start = filled(out);
        if (start != nullptr) from_ = *start;
        if (start == nullptr && out.state == SteadyState::steady) out.state = SteadyState::unsettled;
    }
    out.window = end - from_;
    if (!cut && (out.window.at < out.e2e.mean || out.window.counters.tokens_out == 0)) {
        out.window = out.whole - from_;
        out.window_to_end = true;
    }
}

/// While there may be more replicas a queue that grows is no overload, and one that does not is as steady as any.
SteadyState ServingRun::verdict() const {
    if (!setup_.autoscale.on() || overload_.watch().enough()) return overload_.watch().verdict();
    return scaled_.verdict() == SteadyState::steady ? SteadyState::steady : SteadyState::unsettled;
}

void ServingRun::conclude_overload(ServingOutcome& out) {
    overloaded_ = true;
    out.onset = overload_.watch().onset();
    out.offered = overload_.watch().arrived_per_second();
    out.capacity = overload_.capacity();
}

ServingOutcome ServingRun::conclude() {
    ServingOutcome out;
    out.interrupted = interrupted_;
    out.cut_requests = source_.cut();
    out.whole = snapshot();
    if (open()) out.state = overloaded_ ? SteadyState::overloaded : verdict();
    if (!overloaded_ && out.state == SteadyState::overloaded && overload_.refuted()) out.state = SteadyState::unsettled;
    if (out.state == SteadyState::overloaded) conclude_overload(out);
    record_.conclude(out);
    set_window(out);
    record_.conclude_gaps(out);
    out.most_waiting = most_waiting_;
    out.most_cache_use = most_cache_use_;
    fleet_.conclude(out);
    keeper_.conclude(out);
    paths_.conclude(out);
    out.series = series_.samples();
    return out;
}

}  // namespace sextant

#include "simulator/serving/serving_simulation.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "simulator/serving/sample_series.hpp"

#include <algorithm>
#include <array>
#include <queue>

namespace sextant {
namespace {

constexpr std::array routers{Router::round_robin, Router::least_loaded};
constexpr std::int64_t watch_points = 200;

struct Event {
    enum class Kind : std::uint8_t { enter, iteration, wake, transferred };
    Seconds at;
    std::uint64_t order;  ///< events of one time happen in the order in which they were planned
    Kind kind;
    std::int32_t index;  ///< of the request on its way, or of the replica
    std::int32_t lane;
    bool operator>(Event const& other) const { return at != other.at ? at > other.at : order > other.order; }
};

/// Things that are on the way, by a number that is used again.
template <class T>
class OnTheWay {
public:
    std::int32_t put(T const& thing) {
        if (free_.empty()) {
            things_.push_back(thing);
            return static_cast<std::int32_t>(things_.size() - 1);
        }
        std::int32_t const place = free_.back();
        free_.pop_back();
        things_[static_cast<std::size_t>(place)] = thing;
        return place;
    }
    T take(std::int32_t place) {
        free_.push_back(place);
        return things_[static_cast<std::size_t>(place)];
    }

private:
    std::vector<T> things_;
    std::vector<std::int32_t> free_;
};

/// A request between its arrival and the queue of a replica.
struct Arrived {
    ServingRequest request;
    std::int64_t number;
};

void check(ServingSetup const& setup) {
    ReplicaLimits const& limits = setup.limits;
    if (setup.prefill_replicas < 0 || (setup.prefill_replicas > 0 && setup.prefill_replicas >= setup.replicas))
        throw InputError("--prefill-replicas: {} of {} replicas (at least one has to decode)", setup.prefill_replicas,
                         setup.replicas);
    if (setup.replicas < 1 || setup.replicas > 65536)
        throw InputError("--replicas: {} is out of range (1 to 65536)", setup.replicas);
    if (limits.max_batch < 1) throw InputError("--max-batch: {} (at least 1)", limits.max_batch);
    Speculation const& speculation = limits.speculation;
    if (speculation.tokens < 0 || speculation.tokens > 64)
        throw InputError("--speculate: {} is out of range (0 to 64 tokens)", speculation.tokens);
    if (!(speculation.acceptance >= 0 && speculation.acceptance <= 1))
        throw InputError("--acceptance: {} is out of range (0 to 1)", speculation.acceptance);
    if (!(speculation.draft_share >= 0 && speculation.draft_share <= 10))
        throw InputError("--draft-cost: {} is out of range (0 to 10 decode iterations)", speculation.draft_share);
    if (limits.max_batched_tokens < limits.max_batch * (1 + speculation.tokens))
        throw InputError("--max-batched-tokens: {} are fewer than the {} sequences of a batch take ({} each)",
                         limits.max_batched_tokens, limits.max_batch, 1 + speculation.tokens);
    if (limits.blocks < 1) throw InputError("the cache of a replica holds no block");
    if (!(setup.warmup_share >= 0 && setup.warmup_share <= 0.9))
        throw InputError("--warmup: {} is out of range (0 to 0.9 of the requests)", setup.warmup_share);
}

/// Chooses among some of the replicas.
class Routing {
public:
    Routing(std::size_t first, std::size_t count) : first_(first), count_(count) {}
    std::size_t route(std::vector<Replica> const& replicas, Router router) {
        std::size_t best = turn_;
        if (router == Router::least_loaded)
            for (std::size_t i = 1; i < count_; ++i) {
                std::size_t const other = (turn_ + i) % count_;
                if (replicas[first_ + other].outstanding() < replicas[first_ + best].outstanding()) best = other;
            }
        turn_ = (best + 1) % count_;
        return first_ + best;
    }

private:
    std::size_t first_, count_, turn_ = 0;
};

/// One run.
class Simulation {
public:
    Simulation(ServingSetup const& setup, ServiceModel const& service, RequestSource& source, ServingHooks const& hooks)
        : setup_(setup),
          service_(service),
          source_(source),
          hooks_(hooks),
          watch_(setup.interval_variation),
          to_prompts_(0,
                      static_cast<std::size_t>(setup.prefill_replicas > 0 ? setup.prefill_replicas : setup.replicas)),
          to_decodes_(static_cast<std::size_t>(setup.prefill_replicas),
                      static_cast<std::size_t>(setup.replicas - setup.prefill_replicas)),
          first_measured_(static_cast<std::int64_t>(setup.warmup_share * static_cast<double>(source.count()))),
          watch_every_(std::max<std::int64_t>(1, source.count() / watch_points)) {
        replicas_.reserve(static_cast<std::size_t>(setup.replicas));
        std::int64_t const prefills = setup.prefill_replicas;
        for (std::int64_t i = 0; i < setup.replicas; ++i) {
            ReplicaLimits limits = setup.limits;
            if (prefills > 0) limits.role = i < prefills ? ReplicaRole::prefill : ReplicaRole::decode;
            replicas_.emplace_back(limits, service, static_cast<std::uint64_t>(i));
        }
        sender_free_.assign(replicas_.size(), {});
        dirty_.assign(replicas_.size(), 0);
        wake_planned_.assign(replicas_.size(), 0);
        before_.assign(replicas_.size(), {});
    }

    ServingOutcome run() {
        next_ = source_.next();
        for (std::int64_t i = 0; i < setup_.concurrency && next_; ++i)
            arrive(Seconds{});
        while (!stopped_ && (!events_.empty() || (open() && next_)))
            advance();
        return conclude();
    }

private:
    [[nodiscard]] bool open() const { return setup_.concurrency == 0; }

    void plan(Seconds at, Event::Kind kind, std::int32_t index, std::int32_t lane = 0) {
        events_.push({at, order_++, kind, index, lane});
    }

    /// Everything that happens at the next time.
    void advance() {
        bool const arrival_next = open() && next_ && (events_.empty() || next_->arrival <= events_.top().at);
        Seconds const now = arrival_next ? next_->arrival : events_.top().at;
        pass_time(now);
        while (open() && next_ && next_->arrival == now)
            arrive(now);
        while (!events_.empty() && events_.top().at == now) {
            Event const event = events_.top();
            events_.pop();
            happen(event);
        }
        for (std::size_t const replica : touched_)
            start(replica);
        touched_.clear();
        if (overload_) follow_overload();
        most_waiting_ = std::max(most_waiting_, waiting_);
        most_blocks_ = std::max(most_blocks_, blocks_);
        if (series_.wants(now)) series_.add({now, waiting_, running_, cache_use(blocks_), counters().tokens_out});
    }

    void pass_time(Seconds now) {
        double const span = (now - totals_.at).base();
        totals_.in_system += span * static_cast<double>(totals_.arrived - totals_.finished);
        totals_.waiting += span * static_cast<double>(waiting_);
        totals_.running += span * static_cast<double>(running_);
        totals_.blocks += span * static_cast<double>(blocks_);
        totals_.at = now;
    }

    void arrive(Seconds now) {
        ServingRequest request = *next_;
        if (!open()) request.arrival = now;
        std::int64_t const number = totals_.arrived++;
        next_ = source_.next();
        if (number == first_measured_) from_ = snapshot();
        if (!next_) last_arrival_ = snapshot();
        plan(now + service_.before_queue(request.prompt), Event::Kind::enter, arrived_.put({request, number}));
        if (totals_.arrived % watch_every_ == 0) look(now);
    }

    void look(Seconds now) {
        watch_.sample(now, totals_.arrived, waiting_, totals_.arrived - totals_.finished);
        if (hooks_.progress) hooks_.progress(totals_.arrived);
        if (hooks_.stop != nullptr && hooks_.stop->load(std::memory_order_relaxed)) interrupted_ = stopped_ = true;
        if (open() && !overload_) overload_ = first_sign();
    }

    /// Overload is believed when the queue still grows after the requests in the batches at its first sign have been
    /// served five times over; what is served in the last four rounds is the capacity. Whole rounds: requests of equal
    /// length come and go in waves.
    struct Overload {
        std::int64_t from, until;  ///< requests finished, of the rounds measured
        ServingTotals start{};
        bool measuring = false;
    };
    [[nodiscard]] std::optional<Overload> first_sign() const {
        if (!watch_.overloaded()) return std::nullopt;
        std::int64_t const round = std::max<std::int64_t>(running_, 20);
        return Overload{.from = totals_.finished + round, .until = totals_.finished + 5 * round};
    }
    void follow_overload() {
        bool const queue_ended = !next_ && waiting_ == 0;
        if (!overload_->measuring && totals_.finished >= overload_->from && !queue_ended) {
            overload_->measuring = true;
            overload_->start = snapshot();
            return;
        }
        if (totals_.finished < overload_->until && !queue_ended) return;
        // Without arrivals to look at, the last look stands.
        if (watch_.overloaded())
            overloaded_ = stopped_ = true;
        else
            overload_.reset();
    }

    void happen(Event const& event) {
        if (event.kind == Event::Kind::enter) {
            Arrived const request = arrived_.take(event.index);
            std::size_t const replica = to_prompts_.route(replicas_, setup_.router);
            replicas_[replica].enter(request.request, request.number);
            touch(replica);
            return;
        }
        if (event.kind == Event::Kind::transferred) {
            std::size_t const replica = to_decodes_.route(replicas_, setup_.router);
            replicas_[replica].enter_prefilled(transferred_.take(event.index));
            touch(replica);
            return;
        }
        auto const replica = static_cast<std::size_t>(event.index);
        touch(replica);
        if (event.kind == Event::Kind::wake) {
            wake_planned_[replica] = 0;
            return;
        }
        done_.clear();
        gaps_.clear();
        replicas_[replica].finish(static_cast<std::size_t>(event.lane), event.at, done_, gaps_);
        if (totals_.arrived > first_measured_ && next_)
            for (TokenGap const& gap : gaps_)
                itl_.add(gap.gap, gap.count);
        else if (totals_.arrived > first_measured_)
            for (TokenGap const& gap : gaps_)
                late_itl_.add(gap.gap, gap.count);
        std::int64_t left = 0;
        for (FinishedRequest& request : done_) {
            request.replica = event.index;
            if (event.index < setup_.prefill_replicas && request.request.output > 1) {
                send(request);
                continue;
            }
            record(request);
            ++left;
        }
        if (!open())
            for (; left > 0 && next_; --left)
                arrive(event.at);
        if (!next_ && ++since_last_arrival_ % 4096 == 0 && hooks_.stop != nullptr && *hooks_.stop)
            interrupted_ = stopped_ = true;
    }

    /// The cache of a processed prompt goes to a replica that decodes, after those that this one sent before.
    void send(FinishedRequest const& request) {
        Seconds& free = sender_free_[static_cast<std::size_t>(request.replica)];
        Seconds const time = service_.transfer(request.request.prompt);
        free = std::max(free, request.finished) + time;
        totals_.transferring += time;
        ++totals_.transfers;
        plan(free, Event::Kind::transferred, transferred_.put(request));
    }

    void touch(std::size_t replica) {
        if (dirty_[replica] != 0) return;
        dirty_[replica] = 1;
        touched_.push_back(replica);
    }

    /// Begins what the replica can begin, and takes account of what has changed.
    void start(std::size_t index) {
        Replica& replica = replicas_[index];
        while (auto const started = replica.start(totals_.at))
            plan(started->ends, Event::Kind::iteration, static_cast<std::int32_t>(index),
                 static_cast<std::int32_t>(started->lane));
        bool const blocked = totals_.at < replica.stage_free() && replica.has_idle_lane() && replica.outstanding() > 0;
        if (blocked && wake_planned_[index] == 0) {
            wake_planned_[index] = 1;
            plan(replica.stage_free(), Event::Kind::wake, static_cast<std::int32_t>(index));
        }
        Load const now{replica.waiting(), replica.running(), replica.blocks().in_use()};
        waiting_ += now.waiting - before_[index].waiting;
        running_ += now.running - before_[index].running;
        blocks_ += now.blocks - before_[index].blocks;
        before_[index] = now;
        dirty_[index] = 0;
    }

    void record(FinishedRequest const& request) {
        ++totals_.finished;
        e2e_sum_ += request.e2e();
        asked_ += request.request.output;
        if (hooks_.finished) hooks_.finished(request);
        if (request.number < first_measured_) return;
        ttft_.push_back(request.ttft().base());
        e2e_.push_back(request.e2e().base());
        queue_.push_back((request.scheduled - request.request.arrival).base());
        if (request.request.output > 1) tpot_.push_back(request.tpot().base());
        if (setup_.objective.met_by(request)) ++good_;
    }

    [[nodiscard]] ReplicaCounters counters() const {
        ReplicaCounters sum;
        for (Replica const& replica : replicas_)
            sum += replica.counters();
        return sum;
    }
    [[nodiscard]] ServingTotals snapshot() const {
        ServingTotals out = totals_;
        out.counters = counters();
        for (std::int64_t i = 0; i < setup_.prefill_replicas; ++i)
            out.prefill_busy += replicas_[static_cast<std::size_t>(i)].counters().busy;
        return out;
    }
    [[nodiscard]] double cache_use(std::int64_t blocks) const {
        return static_cast<double>(blocks) / static_cast<double>(setup_.limits.blocks * setup_.replicas);
    }

    /// The window ends with the last arrival, when it holds at least one answer's time of arrivals.
    void set_window(ServingOutcome& out) {
        if (totals_.arrived <= first_measured_) {  // cut short in the warm-up
            out.window = out.whole;
            return;
        }
        bool const cut = overloaded_ || interrupted_;
        ServingTotals const end = cut || next_ ? out.whole : last_arrival_;
        out.window = end - from_;
        if (!cut && (out.window.at < out.e2e.mean || out.window.counters.tokens_out == 0)) {
            out.window = out.whole - from_;
            out.window_to_end = true;
        }
    }

    ServingOutcome conclude() {
        ServingOutcome out;
        out.interrupted = interrupted_;
        out.whole = snapshot();
        if (open()) out.state = overloaded_ ? SteadyState::overloaded : watch_.verdict();
        if (out.state == SteadyState::overloaded) {
            overloaded_ = true;
            if (overload_ && overload_->measuring) from_ = overload_->start;
            ServingTotals const served = out.whole - from_;
            out.onset = watch_.onset();
            out.capacity = served.at > Seconds{} ? static_cast<double>(served.finished) / served.at.base() : 0;
            out.offered = watch_.arrived_per_second();
        }
        out.measured = static_cast<std::int64_t>(e2e_.size());
        out.good = good_;
        out.ttft = spread_of(ttft_);
        out.tpot = spread_of(tpot_);
        out.e2e = spread_of(e2e_);
        out.queue = spread_of(queue_);
        set_window(out);
        // Gaps after the last arrival count only where the window goes on.
        if (out.window_to_end || itl_.count() == 0) itl_.add(late_itl_);
        out.itl = spread_of(itl_);
        out.most_waiting = most_waiting_;
        out.most_cache_use = cache_use(most_blocks_);
        out.e2e_sum = e2e_sum_;
        out.asked_tokens = asked_;
        for (Replica& replica : replicas_) {
            replica.blocks().drop_idle();
            out.blocks_taken += replica.blocks().taken();
            out.blocks_given += replica.blocks().given();
            out.blocks_total += replica.blocks().total();
        }
        out.series = series_.samples();
        return out;
    }

    struct Load {
        std::int64_t waiting = 0, running = 0, blocks = 0;
    };

    ServingSetup const& setup_;
    ServiceModel const& service_;
    RequestSource& source_;
    ServingHooks const& hooks_;
    std::vector<Replica> replicas_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    std::optional<ServingRequest> next_;
    OnTheWay<Arrived> arrived_;
    OnTheWay<FinishedRequest> transferred_;
    std::vector<char> dirty_, wake_planned_;
    std::vector<std::size_t> touched_;
    std::vector<Load> before_;
    std::int64_t waiting_ = 0, running_ = 0, blocks_ = 0, most_waiting_ = 0, most_blocks_ = 0;
    ServingTotals totals_, from_, last_arrival_;
    OverloadWatch watch_;
    Routing to_prompts_, to_decodes_;
    std::vector<Seconds> sender_free_;
    std::optional<Overload> overload_;
    std::int64_t first_measured_, watch_every_, since_last_arrival_ = 0;
    bool stopped_ = false, interrupted_ = false, overloaded_ = false;
    std::vector<FinishedRequest> done_;
    std::vector<TokenGap> gaps_;
    std::vector<double> ttft_, tpot_, e2e_, queue_;
    GapHistogram itl_, late_itl_;
    std::int64_t good_ = 0, asked_ = 0;
    Seconds e2e_sum_{};
    SampleSeries series_;
};

}  // namespace

std::string_view name_of(Router router) { return router == Router::round_robin ? "round-robin" : "least-loaded"; }

Router router_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (Router const router : routers) {
        if (name == name_of(router)) return router;
        known.emplace_back(name_of(router));
    }
    throw InputError("{}: unknown router '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

bool LatencyObjective::met_by(FinishedRequest const& request) const {
    if (ttft && request.ttft() > *ttft) return false;
    return !tpot || request.request.output <= 1 || request.tpot() <= *tpot;
}

ServingOutcome simulate_serving(ServingSetup const& setup, ServiceModel const& service, RequestSource& source,
                                ServingHooks const& hooks) {
    check(setup);
    return Simulation(setup, service, source, hooks).run();
}

}  // namespace sextant

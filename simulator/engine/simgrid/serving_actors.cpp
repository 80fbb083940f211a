#include "simulator/engine/simgrid/serving_actors.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

namespace s4u = simgrid::s4u;

constexpr unsigned router_stack = 4096;  // KiB: all of the simulation runs on it

}  // namespace

ServingActors::ServingActors(ServingActorsRun const& run)
    : run_(run), platform_(run), mailbox_(s4u::Mailbox::by_name("caches")) {}

void ServingActors::run() {
    router_ = s4u::Actor::init("router", platform_.router());
    router_->set_stacksize(router_stack);
    router_->start([this] {
        try {
            route();
        } catch (simgrid::ForcefulKillException const&) {
            throw;
        } catch (...) {
            failure_ = std::current_exception();
        }
    });
    if (!run_.routes.empty()) {
        // Caches begin to flow when they are sent, whether somebody waits for them or not.
        s4u::ActorPtr const receiver = s4u::Actor::create("receiver", platform_.sink(), [this] {
            mailbox_->set_receiver(s4u::Actor::self());
            for (;;)
                mailbox_->get<ServingActors>();
        });
        receiver->daemonize();
    }
    s4u::Engine::get_instance()->run();
    if (failure_) std::rethrow_exception(failure_);
}

/// The router's life: what is due happens, what is planned is given to those who wait for it.
void ServingActors::route() {
    bool goes_on = run_.moments.happen(Seconds{}, {});
    std::vector<ServingEvent> due;
    while (goes_on) {
        hand_out();
        if (!due_at_) {
            router_sleeps_ = true;
            s4u::this_actor::suspend();
        }
        Seconds const now = due_at_.value();
        due_at_.reset();
        due.swap(due_);
        goes_on = run_.moments.happen(now, due);
        due.clear();
    }
}

void ServingActors::hand_out() {
    std::vector<ServingEvent>& events = run_.moments.events();
    for (ServingEvent const& event : events)
        give(event.kind == ServingEvent::Kind::iteration ? batch(event) : free_waiter(),
             {.at = event.at, .event = event});
    events.clear();
    std::vector<CacheToCarry>& caches = run_.moments.caches();
    for (CacheToCarry const& cache : caches)
        carry(cache);
    caches.clear();
    std::optional<Seconds> const next = run_.moments.next_arrival();
    if (!next || next == next_arrival_) return;
    next_arrival_ = next;
    if (!clients_.actor) start(clients_, "clients", platform_.router());
    give(clients_, {.at = *next});
}

void ServingActors::give(Waiter& waiter, Errand const& errand) {
    ++run_.activities;
    waiter.errand = errand;
    if (!waiter.asleep) return;
    waiter.asleep = false;
    waiter.actor->resume();
}

/// Its flows, each an actor at its source.
void ServingActors::carry(CacheToCarry const& cache) {
    if (free_carried_.empty()) free_carried_.push_back(&carried_.emplace_back());
    Carried* const carried = free_carried_.back();
    free_carried_.pop_back();
    std::vector<s4u::Host*> const& sources = platform_.sources(cache.from, cache.to);
    *carried = {cache.arrival, sources.size()};
    for (s4u::Host* const source : sources)
        give(free_waiter(), {.at = cache.departs,
                             .source = source,
                             .units = std::round(cache.bytes.base() * ServingPlatform::units_per_byte),
                             .rate = cache.rate.base() * ServingPlatform::units_per_byte,
                             .cache = carried});
}

ServingActors::Waiter& ServingActors::free_waiter() {
    if (free_.empty()) {
        Waiter& made = waiters_.emplace_back();
        made.pooled = true;
        start(made, "errand", platform_.router());
        return made;
    }
    Waiter& waiter = *free_.back();
    free_.pop_back();
    return waiter;
}

/// The actor of a batch. Of a replica that has failed it may still wait for what will be no more: then another one
/// follows it.
ServingActors::Waiter& ServingActors::batch(ServingEvent const& iteration) {
    Waiter*& waiter = batches_[{iteration.index, iteration.lane}];
    if (waiter == nullptr || waiter->errand) {
        if (waiter != nullptr) waiter->pooled = true;
        waiter = &waiters_.emplace_back();
        start(*waiter, "replica" + std::to_string(iteration.index) + "." + std::to_string(iteration.lane),
              platform_.replica(iteration.index));
    }
    return *waiter;
}

void ServingActors::start(Waiter& waiter, std::string const& name, s4u::Host* host) {
    waiter.actor = s4u::Actor::create(name, host, [this, &waiter] { wait_for_errands(waiter); });
    waiter.actor->daemonize();
}

void ServingActors::wait_for_errands(Waiter& self) {
    for (;;) {
        while (!self.errand) {
            self.asleep = true;
            s4u::this_actor::suspend();
        }
        s4u::this_actor::sleep_until(self.errand->at.base());
        if (self.errand->source != nullptr) move(*self.errand);
        Errand const done = *self.errand;
        self.errand.reset();
        if (self.pooled) free_.push_back(&self);
        deliver(done);
    }
}

void ServingActors::move(Errand const& flow) {
    s4u::this_actor::set_host(flow.source);
    ++run_.activities;
    mailbox_->put_init(this, static_cast<std::uint64_t>(flow.units))->set_rate(flow.rate)->wait();
}

void ServingActors::deliver(Errand const& errand) {
    if (errand.cache != nullptr) {
        if (--errand.cache->flows_left > 0) return;
        ServingEvent arrival = errand.cache->arrival;
        free_carried_.push_back(errand.cache);
        arrival.at = s4u::Engine::get_clock() * units::s;
        due_.push_back(arrival);
        due_at_ = std::max(due_at_.value_or(arrival.at), arrival.at);
    } else {
        if (errand.event) due_.push_back(*errand.event);
        due_at_ = std::max(due_at_.value_or(errand.at), errand.at);
    }
    if (!router_sleeps_) return;
    router_sleeps_ = false;
    router_->resume();
}

}  // namespace sextant

#include "simulator/serving/serving_on_simgrid.hpp"

#include "core/error.hpp"
#include "simulator/engine/engine_module.hpp"
#include "simulator/engine/worker.hpp"
#include "simulator/serving/outcome_bytes.hpp"
#include "simulator/serving/serving_run.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sextant {
namespace {

constexpr std::int64_t most_routes = 1 << 16;  // some 2 kB each

/// What the worker says.
enum class Word : std::uint32_t { finished, arrived, outcome, wrong_input };
struct Head {
    Word word;
    std::uint32_t bytes;
};

void say(WorkerLine& line, Word word, std::span<std::byte const> bytes) {
    Head const head{word, static_cast<std::uint32_t>(bytes.size())};
    line.send(std::as_bytes(std::span(&head, 1)));
    line.send(bytes);
}

/// A run whose time is SimGrid's.
class Moments : public ServingMoments {
public:
    explicit Moments(ServingRun& run) : run_(run) { run_.begin(); }
    bool happen(Seconds now, std::span<ServingEvent const> due) override {
        for (ServingEvent event : due) {
            event.at = std::max(event.at, run_.now());  // by a rounding, after months
            run_.events().take_back(event);
        }
        while (run_.goes_on() && run_.next_at() <= now)
            run_.advance();
        run_.events().hand_out(events_);
        return run_.goes_on();
    }
    std::vector<ServingEvent>& events() override { return events_; }
    std::vector<CacheToCarry>& caches() override { return run_.to_carry(); }
    [[nodiscard]] std::optional<Seconds> next_arrival() const override { return run_.next_arrival(); }

private:
    ServingRun& run_;
    std::vector<ServingEvent> events_;
};

std::vector<CacheRoute> routes_of(ServingSetup const& setup, ServiceModel const& service) {
    std::vector<CacheRoute> routes;
    if (setup.prefill_replicas == 0 || setup.network == NetworkMode::ideal) return routes;
    std::int64_t const from_groups = setup.limits_for_prompts().groups;
    std::int64_t const to_groups = setup.limits.groups;
    std::int64_t const senders = setup.groups_before(setup.prefill_replicas);
    std::int64_t const receivers = setup.groups_before(setup.replicas) - senders;
    std::int64_t const count = senders * receivers;
    if (count > most_routes)
        throw InputError("--prefill-replicas: {} ways from {} {} to {} are too many for SimGrid ({} at most)", count,
                         senders, from_groups > 1 || to_groups > 1 ? "groups" : "replicas", receivers, most_routes);
    for (std::int64_t from = 0; from < senders; ++from)
        for (std::int64_t to = 0; to < receivers; ++to)
            if (CacheTransfer const way = service.transfer(1, {from / from_groups, from % from_groups},
                                                           {setup.prefill_replicas + to / to_groups, to % to_groups});
                !way.links.empty())
                routes.push_back(
                    {static_cast<std::int32_t>(from), static_cast<std::int32_t>(senders + to), way.disjoint_flows()});
    return routes;
}

/// In the worker.
void run(ServingSetup const& setup, ServiceModel const& service, RequestSource& source,
         std::vector<CacheRoute> const& routes, ServingHooks const& hooks, WorkerLine& line) {
    ServingHooks sending{.stop = hooks.stop};
    if (hooks.finished)
        sending.finished = [&](FinishedRequest const& request) {
            say(line, Word::finished, std::as_bytes(std::span(&request, 1)));
        };
    if (hooks.progress)
        sending.progress = [&](std::int64_t arrived) {
            say(line, Word::arrived, std::as_bytes(std::span(&arrived, 1)));
            line.flush();
        };
    ServingRun run(setup, service, source, sending, Carrier::elsewhere);
    Moments moments(run);
    std::vector<double> bandwidths;
    if (!routes.empty())
        for (FabricLink const& link : service.links())
            bandwidths.push_back(link.bandwidth.base());
    std::int64_t activities = 0;
    engine_module().run_serving({.moments = moments,
                                 .replicas = setup.replicas,
                                 .bandwidths = bandwidths,
                                 .routes = routes,
                                 .activities = activities});
    if (run.goes_on()) throw std::runtime_error("SimGrid stopped before the simulation was over");
    say(line, Word::outcome, bytes_of(run.conclude()));
}

/// Puts the words of the worker together.
class Listener {
public:
    explicit Listener(ServingHooks const& hooks) : hooks_(hooks) {}
    void receive(std::span<std::byte const> bytes) {
        pending_.insert(pending_.end(), bytes.begin(), bytes.end());
        std::size_t at = 0;
        for (Head head{}; pending_.size() - at >= sizeof(head); at += sizeof(head) + head.bytes) {
            std::memcpy(&head, pending_.data() + at, sizeof(head));
            if (pending_.size() - at < sizeof(head) + head.bytes) break;
            hear(head.word, std::span(pending_).subspan(at + sizeof(head), head.bytes));
        }
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::optional<ServingOutcome> outcome;
    std::string wrong_input;

private:
    template <class T>
    static T read(std::span<std::byte const> bytes) {
        T value;
        std::memcpy(&value, bytes.data(), sizeof(T));
        return value;
    }
    void hear(Word word, std::span<std::byte const> bytes) {
        switch (word) {
            case Word::finished: hooks_.finished(read<FinishedRequest>(bytes)); break;
            case Word::arrived: hooks_.progress(read<std::int64_t>(bytes)); break;
            case Word::outcome: outcome = outcome_from(bytes); break;
            case Word::wrong_input:
                wrong_input.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
                break;
        }
    }
    ServingHooks const& hooks_;
    std::vector<std::byte> pending_;
};

}  // namespace

std::string_view name_of(ServingClock clock) { return clock == ServingClock::loop ? "loop" : "simgrid"; }

ServingClock serving_clock_from(std::string_view name, std::string_view where) {
    for (ServingClock const clock : {ServingClock::loop, ServingClock::simgrid})
        if (name == name_of(clock)) return clock;
    throw InputError("{}: '{}' orders no events (allowed: loop, simgrid)", where, name);
}

ServingOutcome simulate_serving_on_simgrid(ServingSetup const& setup, ServiceModel const& service,
                                           RequestSource& source, ServingHooks const& hooks) {
    check_serving_setup(setup);
    if (engine_module().run_serving == nullptr) throw std::runtime_error(engine_module().problem);
    std::vector<CacheRoute> const routes = routes_of(setup, service);
    SharedMemory memory(sizeof(std::atomic<bool>));
    std::atomic<bool>& stop = memory.take<std::atomic<bool>>(1).front();
    ServingHooks inside = hooks;
    if (hooks.stop != nullptr) inside.stop = &stop;
    auto const work = [&](WorkerLine& line) {
        try {
            run(setup, service, source, routes, inside, line);
        } catch (InputError const& error) {
            say(line, Word::wrong_input, std::as_bytes(std::span(std::string_view(error.what()))));
        }
    };
    Listener listener(hooks);
    constexpr Seconds no_limit = 1e9 * units::s;
    WorkerEnd const end = run_in_worker(work, {.time = no_limit, .stop = hooks.stop, .ask = &stop},
                                        [&](std::span<std::byte const> bytes) { listener.receive(bytes); });
    if (!listener.wrong_input.empty()) throw InputError("{}", listener.wrong_input);
    if (listener.outcome) return std::move(*listener.outcome);
    if (end.how == WorkerEnd::How::interrupted) {  // it did not answer: nothing is known but that
        ServingOutcome nothing;
        nothing.interrupted = true;
        return nothing;
    }
    throw std::runtime_error("the simulation on SimGrid crashed: " + end.message);
}

}  // namespace sextant

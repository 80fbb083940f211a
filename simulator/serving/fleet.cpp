#include "simulator/serving/fleet.hpp"

#include <algorithm>

namespace sextant {

Fleet::Fleet(ServingSetup const& setup, ServiceModel const& service) : prefill_replicas_(setup.prefill_replicas) {
    replicas_.reserve(static_cast<std::size_t>(setup.replicas));
    for (std::int64_t i = 0; i < setup.replicas; ++i) {
        bool const for_prompts = i < prefill_replicas_;
        ReplicaLimits limits = setup.limits_of(i);
        if (prefill_replicas_ > 0) limits.role = for_prompts ? ReplicaRole::prefill : ReplicaRole::decode;
        replicas_.emplace_back(limits, for_prompts ? service.of_prompts() : service, static_cast<std::uint64_t>(i));
        room_ += limits.all_blocks();
    }
    states_.assign(replicas_.size(), State::up);
    counts_[static_cast<std::size_t>(State::up)] = setup.replicas;
    lives_.assign(replicas_.size(), 0);
    takes_.assign(replicas_.size(), 1);
    dirty_.assign(replicas_.size(), 0);
    wake_planned_.assign(replicas_.size(), 0);
    before_.assign(replicas_.size(), {});
}

void Fleet::set_state(std::size_t replica, State state) {
    std::int64_t const blocks = replicas_[replica].all_blocks();
    room_ -= serves(states_[replica]) ? blocks : 0;
    room_ += serves(state) ? blocks : 0;
    --counts_[static_cast<std::size_t>(states_[replica])];
    ++counts_[static_cast<std::size_t>(state)];
    states_[replica] = state;
    takes_[replica] = state == State::up ? 1 : 0;
}

std::vector<FinishedRequest> Fleet::fail(std::size_t replica) {
    ++lives_[replica];
    wake_planned_[replica] = 0;
    return change(replica).fail();
}

void Fleet::start_touched(Seconds now, EventQueue& events) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {  // what is let go touches others
        std::size_t const replica = touched_[i];
        start(replica, now, events);
        for (FetchedCache const& cache : replicas_[replica].take_fetched())
            let_go(static_cast<std::size_t>(cache.from), cache.number);
    }
    touched_.clear();
}

void Fleet::start(std::size_t index, Seconds now, EventQueue& events) {
    Replica& replica = replicas_[index];
    auto const number = static_cast<std::int32_t>(index);
    while (auto const started = replica.start(now))
        events.plan(started->ends, ServingEvent::Kind::iteration, number, static_cast<std::int32_t>(started->lane),
                    lives_[index]);
    bool const blocked = now < replica.stage_free() && replica.has_idle_lane() && replica.outstanding() > 0;
    if (blocked && wake_planned_[index] == 0) {
        wake_planned_[index] = 1;
        events.plan(replica.stage_free(), ServingEvent::Kind::wake, number, 0, lives_[index]);
    }
    Load const load{replica.waiting(), replica.running(), replica.blocks_in_use()};
    waiting_ += load.waiting - before_[index].waiting;
    running_ += load.running - before_[index].running;
    blocks_ += load.blocks - before_[index].blocks;
    before_[index] = load;
    dirty_[index] = 0;
}

ReplicaCounters Fleet::counters() const {
    ReplicaCounters sum;
    for (Replica const& replica : replicas_)
        sum += replica.counters();
    return sum;
}

Seconds Fleet::prefill_busy() const {
    Seconds sum{};
    for (std::int64_t i = 0; i < prefill_replicas_; ++i)
        sum += replicas_[static_cast<std::size_t>(i)].counters().busy;
    return sum;
}

void Fleet::conclude(ServingOutcome& out) {
    for (Replica& replica : replicas_) {
        for (BlockPool& pool : replica.blocks()) {
            pool.drop_idle();
            out.blocks_taken += pool.taken();
            out.blocks_given += pool.given();
            out.blocks_total += pool.total();
        }
        for (BlockPool const& pool : replica.host_blocks()) {
            out.host_blocks_taken += pool.taken();
            out.host_blocks_given += pool.given();
        }
        ReplicaPeaks const& peaks = replica.peaks();
        out.most_batch = std::max(out.most_batch, peaks.batch);
        out.most_batched_tokens = std::max(out.most_batched_tokens, peaks.tokens);
        out.short_of_cache = out.short_of_cache || peaks.short_of_cache;
    }
}

}  // namespace sextant

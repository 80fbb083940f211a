// How requests come from the queue of a replica into its batches.
#include "simulator/serving/replica.hpp"

#include <algorithm>

namespace sextant {

bool Replica::adapter_fits(Sequence const& sequence) const {
    return limits_.adapter_slots == 0 || sequence.request.adapter < 0 || adapters_.can_hold(sequence.request.adapter);
}

void Replica::hold_adapter(Sequence const& sequence) {
    if (limits_.adapter_slots == 0 || sequence.request.adapter < 0) return;
    ++counters_.adapters_wanted;
    if (adapters_.hold(sequence.request.adapter) == AdapterSlots::Held::resident) return;
    ++counters_.adapters_loaded;
    copies_ += service_.adapter_load();
}

bool Replica::may_admit(Lane const& lane) const {
    // Lanes are filled evenly: one that is above the mean leaves the request to the next.
    return !waiting_.empty() && running_ < limits_.max_batch && lane.running * limits_.lanes <= running_;
}

void Replica::link(Lane& lane, std::int32_t slot) {
    waiting_.pop();
    ++running_;
    ++lane.running;
    peaks_.batch = std::max(peaks_.batch, running_);
    at(slot).before = lane.newest;
    if (lane.newest >= 0) at(lane.newest).after = slot;
    lane.newest = slot;
    hold_adapter(at(slot));
    for (std::int32_t const passed : passed_)
        ++at(passed).overtaken;
}

bool Replica::pass_over_front() {
    std::int32_t const slot = waiting_.front();
    if (passed_.size() == adapter_lookahead || at(slot).overtaken >= adapter_lookahead) return false;
    passed_.push_back(slot);
    waiting_.pass_over();
    return true;
}

void Replica::return_passed() {
    for (; !passed_.empty(); passed_.pop_back()) {
        Sequence const& sequence = at(passed_.back());
        waiting_.put_back({passed_.back(), sequence.request.priority, sequence.request.tenant, sequence.number});
    }
}

void Replica::join(Lane& lane, std::int32_t slot, Seconds last_token) {
    Sequence& sequence = at(slot);
    sequence.decodes = true;
    if (limits_.adapter_slots > 0) lane.decoding_adapters.add(sequence.request.adapter);
    lane.decoding->join(slot, sequence.target, sequence.request.output - sequence.generated);
    if (!lane.cohorts.empty() && lane.cohorts.back().last_token == last_token)
        ++lane.cohorts.back().count;
    else
        lane.cohorts.push_back({last_token, 1});
}

std::int64_t Replica::room_to_return(Lane const& lane, Sequence const& sequence) const {
    if (!sequence.swapped) return blocks_of(sequence.target);
    // Besides what the next step wants: or it would be the first to go again.
    std::int64_t const next =
        std::min<std::int64_t>(sequence.request.output - sequence.generated, 1 + limits_.speculation.tokens);
    return blocks_of(sequence.target + next) + lane.decoding->blocks_wanted();
}

void Replica::swap_in(Sequence& sequence) {
    host_.give_back(blocks_of(sequence.target));
    copies_ += service_.host_copy(static_cast<double>(sequence.target));
    sequence.swapped = false;
}

void Replica::admit_computed(Lane& lane) {
    while (may_admit(lane) && (at(waiting_.front()).prefilled || at(waiting_.front()).swapped)) {
        std::int32_t const slot = waiting_.front();
        Sequence& sequence = at(slot);
        std::int64_t const kept = running_ == 0 ? 0 : limits_.watermark_blocks;
        if (!adapter_fits(sequence)) {
            if (pass_over_front()) continue;
            break;
        }
        if (room_to_return(lane, sequence) + kept > pool_.available()) break;
        pool_.take(blocks_of(sequence.target));
        link(lane, slot);
        if (sequence.swapped) swap_in(sequence);
        sequence.prefilled = false;
        join(lane, slot, sequence.last_token);
    }
    return_passed();
}

void Replica::admit(Lane& lane, Seconds now, std::int64_t budget, IterationLoad& load) {
    bool const chunked = limits_.scheduler.batch == BatchPolicy::chunked;
    while (budget > 0 && may_admit(lane)) {
        std::int32_t const slot = waiting_.front();
        Sequence& sequence = at(slot);
        if (!adapter_fits(sequence)) {
            if (pass_over_front()) continue;
            break;
        }
        if (sequence.prefilled || sequence.swapped) break;
        // A prompt beyond the limit is processed whole, as the first of its iteration.
        bool const first = load.prefill_tokens <= 0;
        if (!chunked && sequence.target > budget && !(first && sequence.target > limits_.max_batched_tokens)) break;
        if (!reserve(sequence)) break;
        link(lane, slot);
        bool const first_time = !sequence.begun;
        if (first_time) {
            sequence.begun = true;
            sequence.scheduled = now;
            sequence.cached = sequence.computed;
            counters_.cached_tokens += sequence.computed;
            counters_.wanted_tokens += sequence.target;
        }
        std::int64_t const left = sequence.target - sequence.computed;
        std::int64_t const chunk = chunked ? std::min(budget, left) : left;
        waiting_.charge(sequence.request.tenant, first_time ? sequence.request.prompt : 0);
        add_chunk(lane, slot, chunk, load);
        if (chunk < left) lane.prefilling.push_back(slot);
        budget -= chunk;
    }
    return_passed();
}

bool Replica::reserve(Sequence& sequence) {
    bool const caching = limits_.prefix_caching == PrefixCaching::on && sequence.request.prefix >= 0;
    std::int64_t const held = caching ? pool_.hold(sequence.request.prefix) : 0;
    std::int64_t const own = blocks_of(sequence.target) - held;
    std::int64_t const kept = running_ == 0 ? 0 : limits_.watermark_blocks;
    if (own + kept > pool_.available()) {
        peaks_.short_of_cache = true;
        if (held > 0) pool_.release(sequence.request.prefix);
        return false;
    }
    pool_.take(own);
    sequence.shared_blocks = static_cast<std::int32_t>(held);
    sequence.holds_prefix = held > 0;
    // One token at least is computed: its output is wanted.
    std::int64_t const size = limits_.shape.block_tokens;
    std::int64_t const cached = held > 0 ? sequence.request.prefix_tokens / size * size : 0;
    sequence.computed = static_cast<std::int32_t>(std::min<std::int64_t>(cached, sequence.target - 1));
    return true;
}

}  // namespace sextant

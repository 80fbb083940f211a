// How requests come from the queue of a replica into its batches.
#include "simulator/serving/replica.hpp"

#include <algorithm>

namespace sextant {

bool Replica::adapter_fits(Sequence const& sequence, std::size_t group) const {
    return limits_.adapter_slots == 0 || sequence.request.adapter < 0 ||
           adapters_[group].can_hold(sequence.request.adapter);
}

void Replica::hold_adapter(Sequence const& sequence) {
    if (limits_.adapter_slots == 0 || sequence.request.adapter < 0) return;
    auto const group = static_cast<std::size_t>(sequence.group);
    ++counters_.adapters_wanted;
    if (adapters_[group].hold(sequence.request.adapter) == AdapterSlots::Held::resident) return;
    ++counters_.adapters_loaded;
    copies_[group] += service_.adapter_load();
}

bool Replica::may_admit(Lane const& lane) const {
    // Lanes are filled evenly: one that is above the mean leaves the request to the next.
    return !waiting_.empty() && running_ < limits_.max_batch && lane.running * limits_.lanes <= running_;
}

Replica::Batch* Replica::emptiest(Lane& lane, Sequence const* wanted) {
    std::int64_t const most = (limits_.max_batch + limits_.groups - 1) / limits_.groups;
    // Prompts of the iteration being put together have not begun: such requests count four times.
    // Source: vLLM 0.11, v1/engine/core_client.py (DPLBAsyncMPClient).
    auto const score = [&](Batch const& batch) {
        return in_group_[batch.group] + 3 * static_cast<std::int64_t>(batch.completing.size());
    };
    Batch* found = nullptr;
    for (Batch& batch : lane.batches)
        if (batch.room > 0 && in_group_[batch.group] < most && (found == nullptr || score(batch) < score(*found)) &&
            (wanted == nullptr || adapter_fits(*wanted, batch.group)))
            found = &batch;
    return found;
}

void Replica::link(Lane& lane, Batch& batch, std::int32_t slot) {
    waiting_.pop();
    ++running_;
    ++lane.running;
    ++batch.running;
    peaks_.batch = std::max(peaks_.batch, ++in_group_[batch.group] * limits_.groups);
    at(slot).before = batch.newest;
    if (batch.newest >= 0) at(batch.newest).after = slot;
    batch.newest = slot;
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

void Replica::join(Batch& batch, std::int32_t slot, Seconds last_token) {
    Sequence& sequence = at(slot);
    sequence.decodes = true;
    if (sequence.generated == 0) {
        batch.unanswered.push_back(slot);
        last_token = sequence.last_token = FinishedRequest::never;
    }
    if (limits_.adapter_slots > 0) batch.decoding_adapters.add(sequence.request.adapter);
    batch.decoding->join(slot, sequence.target, sequence.request.output - sequence.generated);
    if (!batch.cohorts.empty() && batch.cohorts.back().last_token == last_token)
        ++batch.cohorts.back().count;
    else
        batch.cohorts.push_back({last_token, 1});
}

std::int64_t Replica::promised_to(Sequence const& sequence, std::int64_t blocks) const {
    if (limits_.admission == Admission::prompt || limits_.role == ReplicaRole::prefill) return 0;
    std::int64_t const longest = sequence.request.prompt + sequence.request.output + limits_.speculation.tokens;
    return std::min(blocks_of(longest), limits_.blocks) - blocks;
}

std::int64_t Replica::room_to_return(Batch const& batch, Sequence const& sequence) const {
    if (!sequence.swapped) return blocks_of(sequence.target);
    // Besides what the next step wants: or it would be the first to go again.
    std::int64_t const next =
        std::min<std::int64_t>(sequence.request.output - sequence.generated, 1 + limits_.speculation.tokens);
    return blocks_of(sequence.target + next) + batch.decoding->blocks_wanted();
}

void Replica::swap_in(Sequence& sequence) {
    host_of(sequence).give_back(blocks_of(sequence.target));
    copies_[static_cast<std::size_t>(sequence.group)] += service_.host_copy(static_cast<double>(sequence.target));
    sequence.swapped = false;
}

void Replica::take_over(Sequence& sequence, Seconds now) {
    sequence.prefilled = false;
    fetched_.push_back({sequence.from, sequence.number});
    if (limits_.hand_over == HandOver::cache_alone) return;
    ++counters_.tokens_out;
    if (sequence.generated == 0)
        sequence.first_token = now;
    else
        handed_gaps_.push_back({now - sequence.last_token, 1});
    sequence.last_token = now;
    ++sequence.generated;
}

void Replica::admit_computed(Lane& lane, Seconds now) {
    while (may_admit(lane) && (at(waiting_.front()).prefilled || at(waiting_.front()).swapped)) {
        std::int32_t const slot = waiting_.front();
        Sequence& sequence = at(slot);
        // What went to host memory comes back where it was.
        Batch* batch = sequence.swapped ? &lane.batches[static_cast<std::size_t>(sequence.group)] : emptiest(lane);
        if (batch == nullptr) break;
        if (!adapter_fits(sequence, batch->group)) batch = sequence.swapped ? nullptr : emptiest(lane, &sequence);
        if (batch == nullptr) {
            if (pass_over_front()) continue;
            break;
        }
        BlockPool& pool = pools_[batch->group];
        std::int64_t const promised = promised_to(sequence, blocks_of(sequence.target));
        if (room_to_return(*batch, sequence) + promised + kept_free(batch->group) > pool.available()) break;
        pool.take(blocks_of(sequence.target));
        promised_[batch->group] += promised;
        sequence.group = static_cast<std::int32_t>(batch->group);
        link(lane, *batch, slot);
        if (sequence.swapped) swap_in(sequence);
        if (sequence.prefilled) take_over(sequence, now);
        join(*batch, slot, sequence.last_token);
    }
    return_passed();
}

void Replica::admit(Lane& lane, Seconds now) {
    while (may_admit(lane)) {
        Batch* batch = emptiest(lane);
        if (batch == nullptr) break;
        Sequence const& sequence = at(waiting_.front());
        if (!adapter_fits(sequence, batch->group)) batch = emptiest(lane, &sequence);
        if (batch == nullptr) {
            if (pass_over_front()) continue;
            break;
        }
        if (sequence.prefilled || sequence.swapped) break;
        if (!admit_to(lane, *batch, now)) batch->room = 0;
    }
    return_passed();
}

bool Replica::admit_to(Lane& lane, Batch& batch, Seconds now) {
    bool const chunked = limits_.scheduler.batch == BatchPolicy::chunked;
    std::int32_t const slot = waiting_.front();
    Sequence& sequence = at(slot);
    // A prompt beyond the limit is processed whole, as the first of its iteration.
    bool const first = batch.load.prefill_tokens <= 0;
    if (!chunked && sequence.target > batch.room && !(first && sequence.target > limits_.max_batched_tokens))
        return false;
    sequence.group = static_cast<std::int32_t>(batch.group);
    if (!reserve(sequence)) return false;
    link(lane, batch, slot);
    bool const first_time = !sequence.begun;
    if (first_time) {
        sequence.begun = true;
        sequence.scheduled = now;
        sequence.cached = sequence.computed;
        counters_.cached_tokens += sequence.computed;
        counters_.wanted_tokens += sequence.target;
    }
    std::int64_t const left = sequence.target - sequence.computed;
    std::int64_t const chunk = chunked ? std::min(batch.room, left) : left;
    waiting_.charge(sequence.request.tenant, first_time ? sequence.request.prompt : 0);
    add_chunk(batch, slot, chunk);
    if (chunk < left) batch.prefilling.push_back(slot);
    return true;
}

bool Replica::reserve(Sequence& sequence) {
    bool const caching = limits_.prefix_caching == PrefixCaching::on && sequence.request.prefix >= 0;
    BlockPool& pool = pool_of(sequence);
    auto const group = static_cast<std::size_t>(sequence.group);
    HostPrefixes& host = host_prefixes_[group];
    std::int64_t const held = caching ? pool.hold(sequence.request.prefix) : 0;
    std::int64_t const loaded = caching && held == 0 ? host.find(sequence.request.prefix) : 0;
    std::int64_t const own = blocks_of(sequence.target) - held;
    std::int64_t const promised = promised_to(sequence, blocks_of(sequence.target));
    if (own + promised + kept_free(group) > pool.available()) {
        peaks_.short_of_cache = true;
        if (held > 0) pool.release(sequence.request.prefix);
        return false;
    }
    pool.take(own);
    promised_[group] += promised;
    if (loaded > 0) pool.share(sequence.request.prefix, loaded);
    sequence.shared_blocks = static_cast<std::int32_t>(held + loaded);
    sequence.holds_prefix = held + loaded > 0;
    if (sequence.holds_prefix) host.keep(sequence.request.prefix, held + loaded);
    // One token at least is computed: its output is wanted.
    std::int64_t const size = limits_.shape.block_tokens;
    std::int64_t const cached = sequence.holds_prefix ? sequence.request.prefix_tokens / size * size : 0;
    if (loaded > 0) {
        loads_[group] += service_.host_copy(static_cast<double>(cached));
        counters_.loaded_tokens += cached;
    }
    sequence.computed = static_cast<std::int32_t>(std::min<std::int64_t>(cached, sequence.target - 1));
    return true;
}

}  // namespace sextant

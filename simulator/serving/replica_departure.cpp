// How sequences leave the batches of a replica before they are done: preemption, failure, drains.
#include "simulator/serving/replica.hpp"

#include <algorithm>

namespace sextant {

void Replica::stop_decoding(Batch& batch, std::int32_t slot, std::int64_t& context) {
    Sequence& sequence = at(slot);
    Decodes::Progress const progress = batch.decoding->leave(slot);
    release_blocks(sequence, progress.blocks);
    // The batch's last decode, or the prefill after which it has not decoded yet.
    if (progress.tokens > 0) sequence.last_token = batch.cohorts.front().last_token;
    if (sequence.generated == 0 && progress.tokens == 0) std::erase(batch.unanswered, slot);
    sequence.generated += static_cast<std::int32_t>(progress.tokens);
    leave_cohort(batch, sequence.last_token);
    context = sequence.target + progress.tokens;
}

void Replica::unlink(Lane& lane, Batch& batch, std::int32_t slot) {
    Sequence& sequence = at(slot);
    if (sequence.before >= 0) at(sequence.before).after = sequence.after;
    if (sequence.after >= 0)
        at(sequence.after).before = sequence.before;
    else
        batch.newest = sequence.before;
    sequence.before = sequence.after = -1;
    if (limits_.adapter_slots > 0 && sequence.request.adapter >= 0) {
        adapters_[batch.group].release(sequence.request.adapter);
        if (sequence.decodes) batch.decoding_adapters.remove(sequence.request.adapter);
    }
    --in_group_[batch.group];
    --batch.running;
    --lane.running;
    --running_;
}

void Replica::release_blocks(Sequence& sequence, std::int64_t blocks) {
    promised_[static_cast<std::size_t>(sequence.group)] -= promised_to(sequence, blocks);
    pool_of(sequence).give_back(blocks - sequence.shared_blocks);
    if (sequence.holds_prefix) pool_of(sequence).release(sequence.request.prefix);
    sequence.shared_blocks = 0;
    sequence.holds_prefix = false;
}

void Replica::leave_cohort(Batch& batch, Seconds last_token) {
    for (Cohort& cohort : batch.cohorts)
        if (cohort.last_token == last_token) {
            --cohort.count;
            return;
        }
}

FinishedRequest Replica::state_of(Sequence const& sequence) const {
    return {.number = sequence.number,
            .request = sequence.request,
            .replica = 0,
            .group = sequence.group,
            .preemptions = sequence.preemptions,
            .restarts = sequence.restarts,
            .tokens = sequence.generated,
            .cached_tokens = sequence.cached,
            .scheduled = sequence.begun ? sequence.scheduled : FinishedRequest::never,
            .first_token = sequence.first_token,
            .finished = sequence.last_token};
}

bool Replica::make_room(Lane& lane, Batch& batch) {
    bool all_stayed = true;
    while (batch.decoding->count() > 0 && batch.decoding->blocks_wanted() > pools_[batch.group].available()) {
        preempt(lane, batch, victim(batch));
        peaks_.short_of_cache = true;
        all_stayed = false;
    }
    return all_stayed;
}

std::int32_t Replica::victim(Batch const& batch) const {
    std::int32_t worst = batch.newest;
    if (limits_.scheduler.queue != QueueOrder::priority) return worst;
    for (std::int32_t slot = at(worst).before; slot >= 0; slot = at(slot).before)
        if (at(slot).request.priority > at(worst).request.priority) worst = slot;
    return worst;
}

bool Replica::swap_out(Sequence& sequence, std::int64_t context) {
    std::int64_t const blocks = blocks_of(context);
    if (limits_.preemption != PreemptionPolicy::swap || blocks > host_of(sequence).available()) return false;
    host_of(sequence).take(blocks);
    copies_[static_cast<std::size_t>(sequence.group)] += service_.host_copy(static_cast<double>(context));
    ++counters_.swaps;
    counters_.swapped_tokens += context;
    sequence.target = sequence.computed = static_cast<std::int32_t>(context);
    sequence.swapped = true;
    return true;
}

void Replica::preempt(Lane& lane, Batch& batch, std::int32_t slot) {
    Sequence& sequence = at(slot);
    if (sequence.decodes) {
        std::int64_t context = 0;
        stop_decoding(batch, slot, context);
        if (!swap_out(sequence, context)) counters_.recomputed_tokens += context;
    } else {
        release_blocks(sequence, blocks_of(sequence.target));
        counters_.recomputed_tokens += sequence.computed;
        batch.prefilling.erase(std::find(batch.prefilling.begin(), batch.prefilling.end(), slot));
    }
    unlink(lane, batch, slot);
    if (!sequence.swapped) {
        sequence.target = sequence.request.prompt + sequence.generated;
        sequence.computed = 0;
    }
    sequence.decodes = false;
    ++sequence.preemptions;
    ++counters_.preemptions;
    waiting_.put_back({slot, sequence.request.priority, sequence.request.tenant, sequence.number});
}

std::vector<FinishedRequest> Replica::give_away_waiting() {
    std::vector<FinishedRequest> out;
    see_unseen();
    while (!waiting_.empty()) {
        std::int32_t const slot = waiting_.front();
        waiting_.pop();
        if (at(slot).swapped) host_of(at(slot)).give_back(blocks_of(at(slot).target));
        if (at(slot).prefilled) fetched_.push_back({at(slot).from, at(slot).number});
        out.push_back(state_of(at(slot)));
        free_slots_.push_back(slot);
    }
    return out;
}

void Replica::empty(Lane& lane, Batch& batch, std::vector<FinishedRequest>& out) {
    // Blocks for the step in flight were taken before it.
    if (lane.in_flight && batch.steps) {
        std::int64_t const taken = batch.decoding->blocks_wanted();
        pools_[batch.group].give_back(taken);
        if (limits_.admission == Admission::whole) promised_[batch.group] += taken;
    }
    while (batch.newest >= 0) {
        std::int32_t const slot = batch.newest;
        std::int64_t context = 0;
        if (at(slot).decodes)
            stop_decoding(batch, slot, context);
        else
            release_blocks(at(slot), blocks_of(at(slot).target));
        unlink(lane, batch, slot);
        out.push_back(state_of(at(slot)));
        free_slots_.push_back(slot);
    }
    batch.prefilling.clear();
    batch.completing.clear();
    batch.cohorts.clear();
    batch.unanswered.clear();
    batch.steps = false;
}

void Replica::let_go(std::int64_t number) {
    auto const found = handed_over_.find(number);
    if (found == handed_over_.end()) return;
    Sequence& sequence = at(found->second);
    release_blocks(sequence, blocks_of(sequence.target));
    free_slots_.push_back(found->second);
    handed_over_.erase(found);
}

std::vector<FinishedRequest> Replica::fail() {
    std::vector<FinishedRequest> out;
    for (Lane& lane : lanes_) {
        for (Batch& batch : lane.batches)
            empty(lane, batch, out);
        lane.in_flight = false;
    }
    while (!handed_over_.empty())
        let_go(handed_over_.begin()->first);
    std::reverse(out.begin(), out.end());
    std::vector<FinishedRequest> const waiting = give_away_waiting();
    out.insert(out.end(), waiting.begin(), waiting.end());
    for (BlockPool& pool : pools_)
        pool.drop_idle();
    for (AdapterSlots& slots : adapters_)
        slots.clear();
    expected_ = 0;
    for (HostPrefixes& prefixes : host_prefixes_)
        prefixes.clear();
    std::fill(copies_.begin(), copies_.end(), Seconds{});
    std::fill(loads_.begin(), loads_.end(), Seconds{});
    stage_free_ = last_end_ = {};
    next_lane_ = 0;
    return out;
}

}  // namespace sextant

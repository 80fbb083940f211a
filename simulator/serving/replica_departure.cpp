// How sequences leave the batches of a replica before they are done: preemption, failure, drains.
#include "simulator/serving/replica.hpp"

#include <algorithm>

namespace sextant {

void Replica::stop_decoding(Lane& lane, std::int32_t slot, std::int64_t& context) {
    Sequence& sequence = at(slot);
    Decodes::Progress const progress = lane.decoding->leave(slot);
    release_blocks(sequence, progress.blocks);
    // The lane's last decode, or the prefill after which it has not decoded yet.
    if (progress.tokens > 0) sequence.last_token = lane.cohorts.front().last_token;
    sequence.generated += static_cast<std::int32_t>(progress.tokens);
    leave_cohort(lane, sequence.last_token);
    context = sequence.target + progress.tokens;
}

void Replica::unlink(Lane& lane, std::int32_t slot) {
    Sequence& sequence = at(slot);
    if (sequence.before >= 0) at(sequence.before).after = sequence.after;
    if (sequence.after >= 0)
        at(sequence.after).before = sequence.before;
    else
        lane.newest = sequence.before;
    sequence.before = sequence.after = -1;
    if (limits_.adapter_slots > 0 && sequence.request.adapter >= 0) {
        adapters_.release(sequence.request.adapter);
        if (sequence.decodes) lane.decoding_adapters.remove(sequence.request.adapter);
    }
    --lane.running;
    --running_;
}

void Replica::release_blocks(Sequence& sequence, std::int64_t blocks) {
    pool_.give_back(blocks - sequence.shared_blocks);
    if (sequence.holds_prefix) pool_.release(sequence.request.prefix);
    sequence.shared_blocks = 0;
    sequence.holds_prefix = false;
}

void Replica::leave_cohort(Lane& lane, Seconds last_token) {
    for (Cohort& cohort : lane.cohorts)
        if (cohort.last_token == last_token) {
            --cohort.count;
            return;
        }
}

FinishedRequest Replica::state_of(Sequence const& sequence) const {
    return {.number = sequence.number,
            .request = sequence.request,
            .replica = 0,
            .preemptions = sequence.preemptions,
            .restarts = sequence.restarts,
            .tokens = sequence.generated,
            .cached_tokens = sequence.cached,
            .scheduled = sequence.begun ? sequence.scheduled : FinishedRequest::never,
            .first_token = sequence.first_token,
            .finished = sequence.last_token};
}

bool Replica::make_room(Lane& lane) {
    bool all_stayed = true;
    while (lane.decoding->count() > 0 && lane.decoding->blocks_wanted() > pool_.available()) {
        preempt(lane, victim(lane));
        peaks_.short_of_cache = true;
        all_stayed = false;
    }
    return all_stayed;
}

std::int32_t Replica::victim(Lane const& lane) const {
    std::int32_t worst = lane.newest;
    if (limits_.scheduler.queue != QueueOrder::priority) return worst;
    for (std::int32_t slot = at(worst).before; slot >= 0; slot = at(slot).before)
        if (at(slot).request.priority > at(worst).request.priority) worst = slot;
    return worst;
}

bool Replica::swap_out(Sequence& sequence, std::int64_t context) {
    std::int64_t const blocks = blocks_of(context);
    if (limits_.preemption != PreemptionPolicy::swap || blocks > host_.available()) return false;
    host_.take(blocks);
    copies_ += service_.host_copy(static_cast<double>(context));
    ++counters_.swaps;
    counters_.swapped_tokens += context;
    sequence.target = sequence.computed = static_cast<std::int32_t>(context);
    sequence.swapped = true;
    return true;
}

void Replica::preempt(Lane& lane, std::int32_t slot) {
    Sequence& sequence = at(slot);
    if (sequence.decodes) {
        std::int64_t context = 0;
        stop_decoding(lane, slot, context);
        if (!swap_out(sequence, context)) counters_.recomputed_tokens += context;
    } else {
        release_blocks(sequence, blocks_of(sequence.target));
        counters_.recomputed_tokens += sequence.computed;
        lane.prefilling.erase(std::find(lane.prefilling.begin(), lane.prefilling.end(), slot));
    }
    unlink(lane, slot);
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
        if (at(slot).swapped) host_.give_back(blocks_of(at(slot).target));
        out.push_back(state_of(at(slot)));
        free_slots_.push_back(slot);
    }
    return out;
}

std::vector<FinishedRequest> Replica::fail() {
    std::vector<FinishedRequest> out;
    for (Lane& lane : lanes_) {
        // Blocks for the step in flight were taken before it.
        if (lane.in_flight && lane.steps) pool_.give_back(lane.decoding->blocks_wanted());
        while (lane.newest >= 0) {
            std::int32_t const slot = lane.newest;
            std::int64_t context = 0;
            if (at(slot).decodes)
                stop_decoding(lane, slot, context);
            else
                release_blocks(at(slot), blocks_of(at(slot).target));
            unlink(lane, slot);
            out.push_back(state_of(at(slot)));
            free_slots_.push_back(slot);
        }
        lane.prefilling.clear();
        lane.completing.clear();
        lane.cohorts.clear();
        lane.in_flight = lane.steps = false;
    }
    std::reverse(out.begin(), out.end());
    std::vector<FinishedRequest> const waiting = give_away_waiting();
    out.insert(out.end(), waiting.begin(), waiting.end());
    pool_.drop_idle();
    adapters_.clear();
    expected_ = 0;
    copies_ = {};
    stage_free_ = {};
    return out;
}

}  // namespace sextant

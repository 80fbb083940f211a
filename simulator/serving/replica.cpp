#include "simulator/serving/replica.hpp"

#include "simulator/serving/even_decodes.hpp"
#include "simulator/serving/speculative_decodes.hpp"

#include <algorithm>

namespace sextant {
Replica::Replica(ReplicaLimits const& limits, ServiceModel const& service, std::uint64_t number)
    : limits_(limits),
      service_(service),
      pools_(static_cast<std::size_t>(limits.groups), BlockPool(limits.blocks)),
      hosts_(static_cast<std::size_t>(limits.groups), BlockPool(limits.host_blocks)),
      host_prefixes_(static_cast<std::size_t>(limits.groups), HostPrefixes(limits.host_prefix_blocks)),
      in_group_(static_cast<std::size_t>(limits.groups), 0),
      promised_(static_cast<std::size_t>(limits.groups), 0),
      adapters_(static_cast<std::size_t>(limits.groups), AdapterSlots(limits.adapter_slots)),
      copies_(static_cast<std::size_t>(limits.groups)),
      loads_(static_cast<std::size_t>(limits.groups)),
      waiting_(limits.scheduler.queue),
      lanes_(static_cast<std::size_t>(limits.lanes)) {
    std::uint64_t stream = number << 16U;
    for (Lane& lane : lanes_)
        for (std::size_t group = 0; group < pools_.size(); ++group) {
            Batch& batch = lane.batches.emplace_back();
            batch.group = group;
            if (limits.speculation.tokens > 0)
                batch.decoding = std::make_unique<SpeculativeDecodes>(limits.shape, limits.speculation, stream++);
            else
                batch.decoding = std::make_unique<EvenDecodes>(limits.shape);
        }
}

std::int32_t Replica::new_slot() {
    if (free_slots_.empty()) {
        sequences_.emplace_back();
        return static_cast<std::int32_t>(sequences_.size() - 1);
    }
    std::int32_t const slot = free_slots_.back();
    free_slots_.pop_back();
    at(slot) = Sequence{};
    return slot;
}

void Replica::queue(WaitingQueue::Entry const& entry) {
    bool const late = limits_.planning == IterationPlanning::ahead &&
                      std::any_of(lanes_.begin(), lanes_.end(), [](Lane const& lane) { return lane.in_flight; });
    if (late)
        unseen_.push_back(entry);
    else
        waiting_.push(entry);
}

bool Replica::see_unseen() {
    if (unseen_.empty()) return false;
    for (WaitingQueue::Entry const& entry : unseen_)
        waiting_.push(entry);
    unseen_.clear();
    return true;
}

void Replica::enter(ServingRequest const& request, std::int64_t number) {
    std::int32_t const slot = new_slot();
    at(slot).request = request;
    at(slot).number = number;
    at(slot).target = request.prompt;
    queue({slot, request.priority, request.tenant, number});
}

void Replica::enter_prefilled(FinishedRequest const& prefilled) {
    std::int32_t const slot = new_slot();
    Sequence& sequence = at(slot);
    sequence.request = prefilled.request;
    sequence.number = prefilled.number;
    std::int32_t const again = limits_.hand_over == HandOver::cache_alone ? 1 : 0;
    sequence.target = sequence.computed = std::max(1, prefilled.request.prompt + prefilled.tokens - again);
    sequence.generated = prefilled.tokens;
    sequence.from = prefilled.replica;
    sequence.restarts = prefilled.restarts;
    sequence.begun = true;
    sequence.cached = prefilled.cached_tokens;
    sequence.preemptions = prefilled.preemptions;
    sequence.scheduled = prefilled.scheduled;
    sequence.first_token = prefilled.first_token;
    sequence.last_token = prefilled.finished;
    sequence.prefilled = true;
    --expected_;
    queue({slot, sequence.request.priority, sequence.request.tenant, sequence.number});
}

std::int64_t Replica::blocks_in_use() const {
    std::int64_t sum = 0;
    for (BlockPool const& pool : pools_)
        sum += pool.in_use();
    return sum;
}

bool Replica::has_idle_lane() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](Lane const& lane) { return !lane.in_flight; });
}

namespace {

/// Groups step together: the one that copies longest holds up all. None is left.
Seconds longest_taken(std::vector<Seconds>& of_groups) {
    Seconds const longest = *std::max_element(of_groups.begin(), of_groups.end());
    std::fill(of_groups.begin(), of_groups.end(), Seconds{});
    return longest;
}

}  // namespace

std::optional<Replica::Started> Replica::start(Seconds now) {
    if (now < stage_free_) return std::nullopt;
    for (std::size_t turn = 0; turn < lanes_.size(); ++turn) {
        std::size_t const i = (next_lane_ + turn) % lanes_.size();
        Lane& lane = lanes_[i];
        if (lane.in_flight) continue;
        bool const planned = plan(lane, now);
        if (!(see_unseen() && !planned ? plan(lane, now) : planned)) continue;
        ServiceModel::Times times = times_of(lane);
        Seconds const loading = longest_taken(loads_);
        Seconds const copying = longest_taken(copies_);
        times.latency = std::max(times.latency, loading) + copying;
        times.interval = std::max(times.interval, loading) + copying;
        counters_.copying += copying;
        lane.in_flight = true;
        next_lane_ = i + 1;
        stage_free_ = now + times.interval;
        counters_.busy += times.interval;
        ++counters_.iterations;
        for (Batch const& batch : lane.batches) {
            counters_.prompt_tokens += static_cast<std::int64_t>(batch.load.prefill_tokens);
            peaks_.tokens = std::max(peaks_.tokens, static_cast<std::int64_t>(tokens_of(batch.load)));
        }
        last_end_ = std::max(now + times.latency, last_end_ + times.interval);
        return Started{i, last_end_};
    }
    return std::nullopt;
}

bool Replica::plan(Lane& lane, Seconds now) {
    for (Batch& batch : lane.batches) {
        batch.completing.clear();
        batch.steps = false;
        batch.load = {};
        batch.room = limits_.max_batched_tokens;
        if (limits_.adapter_slots > 0) {
            batch.prompt_adapters = {};
            batch.prompt_adapter_tokens = 0;
        }
    }
    admit_computed(lane, now);
    bool const prefill_first = limits_.scheduler.batch == BatchPolicy::prefill_first;
    if (prefill_first) admit(lane, now);
    for (Batch& batch : lane.batches) {
        if (batch.load.prefill_tokens > 0) continue;
        bool const all_stayed = make_room(lane, batch);
        plan_decodes(batch);
        if (prefill_first) continue;
        batch.room -= batch.decoding->count() * (1 + limits_.speculation.tokens);
        add_prefills(batch);
        // Whoever was just preempted is not admitted again at once.
        if (!all_stayed) batch.room = 0;
    }
    if (!prefill_first) admit(lane, now);
    return std::any_of(lane.batches.begin(), lane.batches.end(),
                       [](Batch const& batch) { return batch.load.decodes > 0 || batch.load.prefill_tokens > 0; });
}

void Replica::plan_decodes(Batch& batch) {
    std::int64_t const decodes = batch.decoding->count();
    if (decodes == 0) return;
    std::int64_t const taken = batch.decoding->blocks_wanted();
    pools_[batch.group].take(taken);
    if (limits_.admission == Admission::whole) promised_[batch.group] -= taken;
    batch.decoding->take_blocks();
    batch.steps = true;
    batch.load.decodes = static_cast<double>(decodes);
    batch.load.decode_context = static_cast<double>(batch.decoding->context() + decodes);
    batch.load.samples = batch.load.decodes;
}

void Replica::add_prefills(Batch& batch) {
    for (std::size_t i = 0; i < batch.prefilling.size() && batch.room > 0; ++i) {
        std::int32_t const slot = batch.prefilling[i];
        add_chunk(batch, slot, std::min<std::int64_t>(batch.room, at(slot).target - at(slot).computed));
    }
    for (std::int32_t const slot : batch.completing)
        batch.prefilling.erase(std::find(batch.prefilling.begin(), batch.prefilling.end(), slot));
}

void Replica::add_chunk(Batch& batch, std::int32_t slot, std::int64_t tokens) {
    Sequence& sequence = at(slot);
    batch.room -= tokens;
    batch.load.prefill_tokens += static_cast<double>(tokens);
    batch.load.prefill_attention += service_.prefill_attention(sequence.computed, static_cast<double>(tokens));
    sequence.computed += static_cast<std::int32_t>(tokens);
    if (limits_.adapter_slots > 0 && sequence.request.adapter >= 0) {
        batch.prompt_adapters.add(sequence.request.adapter);
        batch.prompt_adapter_tokens += tokens;
    }
    if (sequence.computed < sequence.target) return;
    batch.load.samples += 1;
    batch.completing.push_back(slot);
}

void Replica::enter_again(FinishedRequest const& lost) {
    std::int32_t const slot = new_slot();
    Sequence& sequence = at(slot);
    sequence.request = lost.request;
    sequence.number = lost.number;
    sequence.generated = lost.tokens;
    sequence.target = lost.request.prompt + lost.tokens;
    sequence.cached = lost.cached_tokens;
    sequence.preemptions = lost.preemptions;
    sequence.restarts = lost.restarts;
    sequence.begun = lost.begun();
    sequence.scheduled = lost.scheduled;
    sequence.first_token = lost.first_token;
    sequence.last_token = lost.finished;
    queue({slot, sequence.request.priority, sequence.request.tenant, sequence.number});
}

void Replica::emit_first(Lane& lane, Batch& batch, std::int32_t slot, Seconds now, std::vector<FinishedRequest>& done,
                         std::vector<TokenGap>& gaps) {
    Sequence& sequence = at(slot);
    if (limits_.prefix_caching == PrefixCaching::on && sequence.request.prefix >= 0 && !sequence.holds_prefix) {
        std::int64_t const size = limits_.shape.block_tokens;
        std::int64_t const blocks = blocks_of(sequence.request.prefix_tokens / size * size);
        if (blocks > 0 && pool_of(sequence).share(sequence.request.prefix, blocks)) {
            sequence.shared_blocks = static_cast<std::int32_t>(blocks);
            sequence.holds_prefix = true;
            host_prefixes_[batch.group].keep(sequence.request.prefix, blocks);
        }
    }
    if (limits_.role == ReplicaRole::prefill && sequence.generated + 1 < sequence.request.output)
        return hand_over(lane, batch, slot, done);
    ++counters_.tokens_out;
    if (sequence.generated == 0)
        sequence.first_token = now;
    else
        gaps.push_back({now - sequence.last_token, 1});
    sequence.last_token = now;
    ++sequence.generated;
    if (sequence.generated == sequence.request.output)
        complete(lane, batch, slot, blocks_of(sequence.target), now, done);
    else
        join(batch, slot, now);
}

void Replica::hand_over(Lane& lane, Batch& batch, std::int32_t slot, std::vector<FinishedRequest>& done) {
    Sequence const& sequence = at(slot);
    unlink(lane, batch, slot);
    waiting_.charge(sequence.request.tenant, sequence.request.output);
    handed_over_.emplace(sequence.number, slot);
    done.push_back(state_of(sequence));
}

void Replica::complete(Lane& lane, Batch& batch, std::int32_t slot, std::int64_t blocks, Seconds now,
                       std::vector<FinishedRequest>& done) {
    Sequence& sequence = at(slot);
    release_blocks(sequence, blocks);
    unlink(lane, batch, slot);
    waiting_.charge(sequence.request.tenant, sequence.request.output);
    free_slots_.push_back(slot);
    done.push_back(state_of(sequence));
    done.back().finished = now;
    done.back().tokens = sequence.request.output;
}

void Replica::finish(std::size_t lane_number, Seconds now, std::vector<FinishedRequest>& done,
                     std::vector<TokenGap>& gaps) {
    Lane& lane = lanes_[lane_number];
    lane.in_flight = false;
    gaps.insert(gaps.end(), handed_gaps_.begin(), handed_gaps_.end());
    handed_gaps_.clear();
    for (Batch& batch : lane.batches)
        finish(lane, batch, now, done, gaps);
}

void Replica::finish(Lane& lane, Batch& batch, Seconds now, std::vector<FinishedRequest>& done,
                     std::vector<TokenGap>& gaps) {
    if (batch.steps) {
        std::int64_t const decodes = batch.decoding->count();
        for (Cohort const& cohort : batch.cohorts)
            if (cohort.count > 0 && cohort.last_token >= Seconds{})
                gaps.push_back({now - cohort.last_token, cohort.count});
        for (std::int32_t const slot : batch.unanswered)
            at(slot).first_token = now;
        batch.unanswered.clear();
        ended_.clear();
        std::int64_t const tokens = batch.decoding->step(ended_);
        counters_.tokens_out += tokens;
        counters_.decode_tokens += tokens;
        counters_.decode_steps += decodes;
        for (Decodes::Progress const& sequence : ended_)
            complete(lane, batch, sequence.slot, sequence.blocks, now, done);
        batch.cohorts.assign(1, {now, batch.decoding->count()});
    }
    for (std::int32_t const slot : batch.completing)
        emit_first(lane, batch, slot, now, done, gaps);
    batch.completing.clear();
}

}  // namespace sextant

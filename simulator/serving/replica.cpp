#include "simulator/serving/replica.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "simulator/serving/even_decodes.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace sextant {
namespace {

constexpr std::array schedulers{
    Scheduler{"fcfs", BatchPolicy::whole_prompts, QueueOrder::arrival},
    Scheduler{"prefill-first", BatchPolicy::prefill_first, QueueOrder::arrival},
    Scheduler{"chunked", BatchPolicy::chunked, QueueOrder::arrival},
    Scheduler{"priority", BatchPolicy::chunked, QueueOrder::priority},
    Scheduler{"fair", BatchPolicy::chunked, QueueOrder::tenant},
};

}  // namespace

Scheduler scheduler_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (Scheduler const& scheduler : schedulers) {
        if (name == scheduler.name) return scheduler;
        known.emplace_back(scheduler.name);
    }
    throw InputError("{}: unknown scheduler '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

std::string_view name_of(PreemptionPolicy policy) {
    return policy == PreemptionPolicy::recompute ? "recompute" : "swap";
}

PreemptionPolicy preemption_policy_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (PreemptionPolicy const policy : {PreemptionPolicy::recompute, PreemptionPolicy::swap}) {
        if (name == name_of(policy)) return policy;
        known.emplace_back(name_of(policy));
    }
    throw InputError("{}: unknown policy '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

Replica::Replica(ReplicaLimits const& limits, ServiceModel const& service, std::uint64_t number)
    : limits_(limits),
      service_(service),
      pool_(limits.blocks),
      host_(limits.host_blocks),
      adapters_(limits.adapter_slots),
      waiting_(limits.scheduler.queue),
      lanes_(static_cast<std::size_t>(limits.lanes)) {
    std::uint64_t stream = number << 16U;
    for (Lane& lane : lanes_) {
        if (limits.speculation.tokens > 0)
            lane.decoding = std::make_unique<SpeculativeDecodes>(limits.block_tokens, limits.speculation, stream++);
        else
            lane.decoding = std::make_unique<EvenDecodes>(limits.block_tokens);
    }
}

std::int64_t Replica::blocks_of(std::int64_t tokens) const {
    return (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
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

void Replica::enter(ServingRequest const& request, std::int64_t number) {
    std::int32_t const slot = new_slot();
    at(slot).request = request;
    at(slot).number = number;
    at(slot).target = request.prompt;
    waiting_.push({slot, request.priority, request.tenant, number});
}

void Replica::enter_prefilled(FinishedRequest const& prefilled) {
    std::int32_t const slot = new_slot();
    Sequence& sequence = at(slot);
    sequence.request = prefilled.request;
    sequence.number = prefilled.number;
    sequence.target = sequence.computed = prefilled.request.prompt + prefilled.tokens - 1;
    sequence.generated = prefilled.tokens;
    sequence.restarts = prefilled.restarts;
    sequence.begun = true;
    sequence.cached = prefilled.cached_tokens;
    sequence.preemptions = prefilled.preemptions;
    sequence.scheduled = prefilled.scheduled;
    sequence.first_token = prefilled.first_token;
    sequence.last_token = prefilled.finished;
    sequence.prefilled = true;
    --expected_;
    waiting_.push({slot, sequence.request.priority, sequence.request.tenant, sequence.number});
}

bool Replica::has_idle_lane() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](Lane const& lane) { return !lane.in_flight; });
}

std::optional<Replica::Started> Replica::start(Seconds now) {
    if (now < stage_free_) return std::nullopt;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        if (lane.in_flight) continue;
        IterationLoad load;
        if (!plan(lane, now, load)) continue;
        ServiceModel::Times times = times_of(load);
        if (limits_.adapter_slots > 0) {
            ServiceModel::Times const more = adapter_times(lane);
            times.latency += more.latency;
            times.interval += more.interval;
        }
        times.latency += copies_;
        times.interval += copies_;
        counters_.copying += copies_;
        copies_ = {};
        lane.in_flight = true;
        stage_free_ = now + times.interval;
        counters_.busy += times.interval;
        ++counters_.iterations;
        counters_.prompt_tokens += static_cast<std::int64_t>(load.prefill_tokens);
        return Started{i, now + times.latency};
    }
    return std::nullopt;
}

ServiceModel::Times Replica::times_of(IterationLoad const& load) const {
    Speculation const& speculation = limits_.speculation;
    if (speculation.tokens == 0 || load.decodes <= 0) return service_.iteration(load);
    // The guesses are checked like prompt tokens, except that the cache is read once for all of a sequence.
    auto const guesses = static_cast<double>(speculation.tokens);
    IterationLoad checking = load;
    checking.prefill_tokens += guesses * load.decodes;
    checking.samples += guesses * load.decodes;
    ServiceModel::Times times = service_.iteration(checking);
    ServiceModel::Times const plain =
        service_.iteration({.decodes = load.decodes, .decode_context = load.decode_context, .samples = load.decodes});
    times.latency += plain.latency * (guesses * speculation.draft_share);
    times.interval += plain.interval * (guesses * speculation.draft_share);
    return times;
}

ServiceModel::Times Replica::adapter_times(Lane const& lane) const {
    std::int64_t different = lane.prompt_adapters.distinct();
    std::int64_t tokens = lane.prompt_adapter_tokens;
    if (lane.steps) {
        different += lane.decoding_adapters.distinct() - lane.prompt_adapters.shared_with(lane.decoding_adapters);
        tokens += lane.decoding_adapters.sequences() * (1 + limits_.speculation.tokens);
    }
    if (different == 0) return {};
    return service_.adapters(static_cast<double>(different), static_cast<double>(tokens));
}

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

bool Replica::plan(Lane& lane, Seconds now, IterationLoad& load) {
    lane.completing.clear();
    lane.steps = false;
    if (limits_.adapter_slots > 0) {
        lane.prompt_adapters = {};
        lane.prompt_adapter_tokens = 0;
    }
    std::int64_t const budget = limits_.max_batched_tokens;
    admit_computed(lane);
    bool const prefill_first = limits_.scheduler.batch == BatchPolicy::prefill_first;
    if (prefill_first) {
        admit(lane, now, budget, load);
        if (load.prefill_tokens > 0) return true;
    }
    bool const all_stayed = make_room(lane);
    if (std::int64_t const decodes = lane.decoding->count(); decodes > 0) {
        pool_.take(lane.decoding->blocks_wanted());
        lane.decoding->take_blocks();
        lane.steps = true;
        load.decodes = static_cast<double>(decodes);
        load.decode_context = static_cast<double>(lane.decoding->context() + decodes);
        load.samples = load.decodes;
    }
    if (!prefill_first) {
        std::int64_t const left = budget - lane.decoding->count() * (1 + limits_.speculation.tokens);
        add_prefills(lane, left, load);
        // Whoever was just preempted is not admitted again at once.
        if (all_stayed) admit(lane, now, left - static_cast<std::int64_t>(load.prefill_tokens), load);
    }
    return load.decodes > 0 || load.prefill_tokens > 0;
}

void Replica::add_prefills(Lane& lane, std::int64_t budget, IterationLoad& load) {
    for (std::size_t i = 0; i < lane.prefilling.size() && budget > 0; ++i) {
        std::int32_t const slot = lane.prefilling[i];
        std::int64_t const chunk = std::min<std::int64_t>(budget, at(slot).target - at(slot).computed);
        add_chunk(lane, slot, chunk, load);
        budget -= chunk;
    }
    for (std::int32_t const slot : lane.completing)
        lane.prefilling.erase(std::find(lane.prefilling.begin(), lane.prefilling.end(), slot));
}

bool Replica::may_admit(Lane const& lane) const {
    // Lanes are filled evenly: one that is above the mean leaves the request to the next.
    return !waiting_.empty() && running_ < limits_.max_batch && lane.running * limits_.lanes <= running_;
}

void Replica::link(Lane& lane, std::int32_t slot) {
    waiting_.pop();
    ++running_;
    ++lane.running;
    at(slot).before = lane.newest;
    if (lane.newest >= 0) at(lane.newest).after = slot;
    lane.newest = slot;
    hold_adapter(at(slot));
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
        if (!adapter_fits(sequence) || room_to_return(lane, sequence) + kept > pool_.available()) return;
        pool_.take(blocks_of(sequence.target));
        link(lane, slot);
        if (sequence.swapped) swap_in(sequence);
        sequence.prefilled = false;
        join(lane, slot, sequence.last_token);
    }
}

void Replica::admit(Lane& lane, Seconds now, std::int64_t budget, IterationLoad& load) {
    bool const chunked = limits_.scheduler.batch == BatchPolicy::chunked;
    while (budget > 0 && may_admit(lane)) {
        std::int32_t const slot = waiting_.front();
        if (at(slot).prefilled || at(slot).swapped) return;
        Sequence& sequence = at(slot);
        // A prompt beyond the limit is processed whole, as the first of its iteration.
        bool const first = load.prefill_tokens <= 0;
        if (!chunked && sequence.target > budget && !(first && sequence.target > limits_.max_batched_tokens)) return;
        if (!adapter_fits(sequence) || !reserve(sequence)) return;
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
}

bool Replica::reserve(Sequence& sequence) {
    bool const caching = limits_.prefix_caching == PrefixCaching::on && sequence.request.prefix >= 0;
    std::int64_t const held = caching ? pool_.hold(sequence.request.prefix) : 0;
    std::int64_t const own = blocks_of(sequence.target) - held;
    std::int64_t const kept = running_ == 0 ? 0 : limits_.watermark_blocks;
    if (own + kept > pool_.available()) {
        if (held > 0) pool_.release(sequence.request.prefix);
        return false;
    }
    pool_.take(own);
    sequence.shared_blocks = static_cast<std::int32_t>(held);
    sequence.holds_prefix = held > 0;
    // One token at least is computed: its output is wanted.
    sequence.computed =
        static_cast<std::int32_t>(std::min<std::int64_t>(held * limits_.block_tokens, sequence.target - 1));
    return true;
}

void Replica::add_chunk(Lane& lane, std::int32_t slot, std::int64_t tokens, IterationLoad& load) {
    Sequence& sequence = at(slot);
    load.prefill_tokens += static_cast<double>(tokens);
    load.prefill_attention += service_.prefill_attention(sequence.computed, static_cast<double>(tokens));
    sequence.computed += static_cast<std::int32_t>(tokens);
    if (limits_.adapter_slots > 0 && sequence.request.adapter >= 0) {
        lane.prompt_adapters.add(sequence.request.adapter);
        lane.prompt_adapter_tokens += tokens;
    }
    if (sequence.computed < sequence.target) return;
    load.samples += 1;
    lane.completing.push_back(slot);
}

bool Replica::make_room(Lane& lane) {
    bool all_stayed = true;
    while (lane.decoding->count() > 0 && lane.decoding->blocks_wanted() > pool_.available()) {
        preempt(lane, victim(lane));
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
    waiting_.push({slot, sequence.request.priority, sequence.request.tenant, sequence.number});
}

std::vector<FinishedRequest> Replica::give_away_waiting() {
    std::vector<FinishedRequest> out;
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

void Replica::emit_first(Lane& lane, std::int32_t slot, Seconds now, std::vector<FinishedRequest>& done,
                         std::vector<TokenGap>& gaps) {
    Sequence& sequence = at(slot);
    if (limits_.prefix_caching == PrefixCaching::on && sequence.request.prefix >= 0 && !sequence.holds_prefix) {
        std::int64_t const blocks = sequence.request.prefix_tokens / limits_.block_tokens;
        if (blocks > 0 && pool_.share(sequence.request.prefix, blocks)) {
            sequence.shared_blocks = static_cast<std::int32_t>(blocks);
            sequence.holds_prefix = true;
        }
    }
    ++counters_.tokens_out;
    if (sequence.generated == 0)
        sequence.first_token = now;
    else
        gaps.push_back({now - sequence.last_token, 1});
    sequence.last_token = now;
    ++sequence.generated;
    if (sequence.generated == sequence.request.output || limits_.role == ReplicaRole::prefill)
        complete(lane, slot, blocks_of(sequence.target), now, done);
    else
        join(lane, slot, now);
}

void Replica::complete(Lane& lane, std::int32_t slot, std::int64_t blocks, Seconds now,
                       std::vector<FinishedRequest>& done) {
    Sequence& sequence = at(slot);
    release_blocks(sequence, blocks);
    unlink(lane, slot);
    waiting_.charge(sequence.request.tenant, sequence.request.output);
    free_slots_.push_back(slot);
    done.push_back(state_of(sequence));
    done.back().finished = now;
    if (limits_.role != ReplicaRole::prefill) done.back().tokens = sequence.request.output;
}

void Replica::finish(std::size_t lane_number, Seconds now, std::vector<FinishedRequest>& done,
                     std::vector<TokenGap>& gaps) {
    Lane& lane = lanes_[lane_number];
    lane.in_flight = false;
    if (lane.steps) {
        std::int64_t const decodes = lane.decoding->count();
        for (Cohort const& cohort : lane.cohorts)
            if (cohort.count > 0) gaps.push_back({now - cohort.last_token, cohort.count});
        ended_.clear();
        std::int64_t const tokens = lane.decoding->step(ended_);
        counters_.tokens_out += tokens;
        counters_.decode_tokens += tokens;
        counters_.decode_steps += decodes;
        for (Decodes::Progress const& sequence : ended_)
            complete(lane, sequence.slot, sequence.blocks, now, done);
        lane.cohorts.assign(1, {now, lane.decoding->count()});
    }
    for (std::int32_t const slot : lane.completing)
        emit_first(lane, slot, now, done, gaps);
    lane.completing.clear();
}

}  // namespace sextant

#pragma once

#include "simulator/serving/adapter_slots.hpp"
#include "simulator/serving/block_pool.hpp"
#include "simulator/serving/decodes.hpp"
#include "simulator/serving/host_prefixes.hpp"
#include "simulator/serving/replica_limits.hpp"
#include "simulator/serving/service_model.hpp"
#include "simulator/serving/serving_request.hpp"
#include "simulator/serving/waiting_queue.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sextant {

/// Tokens and blocks of one replica, counted where they are made.
struct ReplicaCounters {
    std::int64_t tokens_out = 0;
    std::int64_t prompt_tokens = 0;  ///< processed, those of recomputed sequences included
    std::int64_t cached_tokens = 0;  ///< of prompts, found in the prefix cache
    std::int64_t wanted_tokens = 0;  ///< of prompts, when first admitted
    std::int64_t preemptions = 0;
    std::int64_t recomputed_tokens = 0;  ///< in the cache when preempted, and dropped
    std::int64_t swaps = 0;              ///< preemptions that went to host memory
    std::int64_t swapped_tokens = 0;     ///< copied there; as many come back
    std::int64_t adapters_wanted = 0;    ///< admissions of requests with one
    std::int64_t adapters_loaded = 0;    ///< that were not resident then
    std::int64_t iterations = 0;
    std::int64_t decode_steps = 0;   ///< of sequences: one token each, or more with speculation
    std::int64_t decode_tokens = 0;  ///< that they brought
    std::int64_t loaded_tokens = 0;  ///< of prefixes, read from host memory
    Seconds busy{};                  ///< of the first stage
    Seconds copying{};               ///< to and from host memory, while iterations wait
};

/// What a replica came to at most, which says whether its limits ever mattered.
struct ReplicaPeaks {
    std::int64_t batch = 0;       ///< requests that ran at a time
    std::int64_t tokens = 0;      ///< of one iteration
    bool short_of_cache = false;  ///< a request waited for blocks, or gave its own away
};

/// A request whose cache a replica has, or no longer wants, and the replica that still holds it too.
struct FetchedCache {
    std::int32_t from;
    std::int64_t number;
};

/// A group of tokens that sequences got at once, `gap` after their last.
struct TokenGap {
    Seconds gap;
    std::int64_t count;
};

/// Requests that are set aside for want of an adapter slot at a time, and those that may overtake each (assumed:
/// engines look through the whole queue, and starve rare adapters).
inline constexpr std::int32_t adapter_lookahead = 64;

/// One replica: continuous batching over a paged cache, one lane (iteration in flight) per pipeline stage. Knows no
/// clock; the simulation tells it when an iteration is over.
///
/// With attention data parallelism a sequence belongs to one group, which has a cache and a limit of tokens of its own:
/// the one with the fewest sequences of those that have room for it. All groups of a lane step together, as experts
/// have the tokens of all of them in each layer: an iteration takes as long as the group that takes longest.
///
/// A request is admitted when the blocks of its whole prompt are there (and the watermark besides, unless the replica
/// is empty), or those of all its tokens (`Admission::whole`), beside what those that run are promised; a decode takes
/// a block when its last one is full. Where none is left the sequence of the batch that was admitted last gives all of
/// its blocks back and waits at the front to be computed again (with priorities: the one of the lowest priority), or
/// goes to host memory and joins the decodes again when there is room. Copies stop the iteration that needs them.
/// Prefixes that have given way may come back from host memory, beside the iteration that begins behind them.
/// Adapters have slots in each group. A request whose adapter has none lets those behind it pass: `adapter_lookahead`
/// of them are looked at, and as many may overtake it before it holds up the queue. All decodes of a lane take part in
/// every iteration that decodes (`Decodes`). Where iterations are put together ahead, a request that comes while one
/// runs is not in the next, unless that would be empty. A replica for prompts holds the blocks of each until the other
/// has it among its decodes.
class Replica {
public:
    /// @param number of the replica: of its random stream.
    Replica(ReplicaLimits const& limits, ServiceModel const& service, std::uint64_t number = 0);

    Replica(Replica&&) = default;
    Replica(Replica const&) = delete;
    Replica& operator=(Replica const&) = delete;
    ~Replica() = default;

    void enter(ServingRequest const& request, std::int64_t number);

    /// The cache of a request is on its way.
    void expect() { ++expected_; }
    /// It is lost.
    void expect_no_more() { --expected_; }

    /// A request whose prompt another replica has processed, cache included.
    void enter_prefilled(FinishedRequest const& prefilled);
    /// Requests of `enter_prefilled` that have joined the decodes, or went, since the last call.
    [[nodiscard]] std::vector<FetchedCache> take_fetched() { return std::exchange(fetched_, {}); }
    /// Blocks of a processed prompt stay until the replica that decodes has taken them over.
    [[nodiscard]] bool holds(std::int64_t number) const { return handed_over_.contains(number); }
    [[nodiscard]] bool holds_any() const { return !handed_over_.empty(); }
    /// It has, or the request is lost: they are free. Nothing happens where they are so already.
    void let_go(std::int64_t number);

    /// A request that another replica has lost: its prompt and the tokens that are out are computed again.
    void enter_again(FinishedRequest const& lost);
    /// Those that wait go, in order.
    [[nodiscard]] std::vector<FinishedRequest> give_away_waiting();
    /// Everything goes, what runs first: caches, tokens of the iterations in flight, prefixes, adapters.
    [[nodiscard]] std::vector<FinishedRequest> fail();

    struct Started {
        std::size_t lane;
        Seconds ends;
    };
    /// Begins an iteration of an idle lane, if one has anything to do and the first stage is free.
    std::optional<Started> start(Seconds now);
    /// When the first stage is free for an iteration.
    [[nodiscard]] Seconds stage_free() const { return stage_free_; }
    [[nodiscard]] bool has_idle_lane() const;

    /// Ends the iteration of a lane: tokens are out. Appends the requests that are done and the gaps between tokens.
    void finish(std::size_t lane, Seconds now, std::vector<FinishedRequest>& done, std::vector<TokenGap>& gaps);

    [[nodiscard]] std::int64_t waiting() const { return waiting_.size() + static_cast<std::int64_t>(unseen_.size()); }
    [[nodiscard]] std::int64_t running() const { return running_; }
    /// Requests that are not done, those included whose caches are on their way.
    [[nodiscard]] std::int64_t outstanding() const { return running_ + waiting() + expected_; }
    [[nodiscard]] ReplicaCounters const& counters() const { return counters_; }
    [[nodiscard]] ReplicaPeaks const& peaks() const { return peaks_; }
    /// Of each attention data-parallel group.
    [[nodiscard]] std::vector<BlockPool>& blocks() { return pools_; }
    [[nodiscard]] std::int64_t all_blocks() const { return limits_.all_blocks(); }
    /// In use, of all groups.
    [[nodiscard]] std::int64_t blocks_in_use() const;
    /// Blocks in host memory, of each group; it drops nothing, so it is empty when no sequence waits.
    [[nodiscard]] std::vector<BlockPool> const& host_blocks() const { return hosts_; }

private:
    struct Sequence {
        ServingRequest request;
        std::int64_t number = 0;
        Seconds scheduled{};
        Seconds first_token{};
        Seconds last_token{};
        std::int32_t target = 0;     ///< tokens that prefill has to bring into the cache
        std::int32_t computed = 0;   ///< of these, cached ones included
        std::int32_t generated = 0;  ///< that the client has
        std::int32_t cached = 0;
        std::int32_t preemptions = 0;
        std::int32_t shared_blocks = 0;  ///< of the prefix it holds
        std::int32_t before = -1;        ///< neighbours in order of admission
        std::int32_t after = -1;
        std::int32_t restarts = 0;
        std::int32_t group = 0;      ///< of attention data parallelism, from its admission on
        std::int32_t overtaken = 0;  ///< by requests admitted while it waited for an adapter slot
        bool begun = false;          ///< it was scheduled once
        bool decodes = false;
        bool holds_prefix = false;
        std::int32_t from = -1;  ///< replica that has processed its prompt
        bool prefilled = false;  ///< there: joins the decodes when there is room
        bool swapped = false;    ///< to host memory: the same
    };
    /// Sequences that got their last token at the same time and decode next.
    struct Cohort {
        Seconds last_token;
        std::int64_t count;
    };
    /// Sequences of one attention data-parallel group in a lane.
    struct Batch {
        std::size_t group = 0;
        std::unique_ptr<Decodes> decoding;
        std::vector<std::int32_t> prefilling;  ///< in order of admission
        std::vector<Cohort> cohorts;
        std::int32_t newest = -1;
        std::int64_t running = 0;
        std::int64_t room = 0;                 ///< tokens that the iteration being put together has left for prompts
        bool steps = false;                    ///< the iteration in flight decodes
        IterationLoad load;                    ///< of the iteration
        std::vector<std::int32_t> completing;  ///< their prefill ends with it
        std::vector<std::int32_t> unanswered;  ///< that decode, their first token still to come
        AdapterUse decoding_adapters;
        AdapterUse prompt_adapters;  ///< of the chunks of the iteration
        std::int64_t prompt_adapter_tokens = 0;
    };
    struct Lane {
        std::vector<Batch> batches;  ///< of each group
        std::int64_t running = 0;
        bool in_flight = false;
    };

    void queue(WaitingQueue::Entry const& entry);
    bool see_unseen();
    /// Of an iteration, those that a draft proposes included.
    [[nodiscard]] double tokens_of(IterationLoad const& load) const;
    [[nodiscard]] ServiceModel::Times times_of(IterationLoad const& load) const;
    [[nodiscard]] ServiceModel::Times adapter_times(Batch const& batch) const;
    [[nodiscard]] ServiceModel::Times times_of(Lane const& lane) const;
    [[nodiscard]] bool adapter_fits(Sequence const& sequence, std::size_t group) const;
    void hold_adapter(Sequence const& sequence);
    bool plan(Lane& lane, Seconds now);
    void plan_decodes(Batch& batch);
    void add_prefills(Batch& batch);
    void admit_computed(Lane& lane, Seconds now);
    void take_over(Sequence& sequence, Seconds now);
    [[nodiscard]] std::int64_t room_to_return(Batch const& batch, Sequence const& sequence) const;
    bool swap_out(Sequence& sequence, std::int64_t context);
    void swap_in(Sequence& sequence);
    void link(Lane& lane, Batch& batch, std::int32_t slot);
    void join(Batch& batch, std::int32_t slot, Seconds last_token);
    [[nodiscard]] std::int32_t new_slot();
    [[nodiscard]] FinishedRequest state_of(Sequence const& sequence) const;
    void stop_decoding(Batch& batch, std::int32_t slot, std::int64_t& context);
    void admit(Lane& lane, Seconds now);
    bool admit_to(Lane& lane, Batch& batch, Seconds now);
    [[nodiscard]] bool may_admit(Lane const& lane) const;
    /// With room for prompts; nullptr where none has any.
    /// @param wanted of these those that have its adapter or a slot for it, if given
    [[nodiscard]] Batch* emptiest(Lane& lane, Sequence const* wanted = nullptr);
    /// Blocks that an admission leaves to those that run.
    [[nodiscard]] std::int64_t kept_free(std::size_t group) const {
        return in_group_[group] == 0 ? 0 : promised_[group] + limits_.watermark_blocks;
    }
    /// Blocks that a sequence which has so many may still take by its promise, where there are any.
    [[nodiscard]] std::int64_t promised_to(Sequence const& sequence, std::int64_t blocks) const;
    bool pass_over_front();
    void return_passed();
    bool reserve(Sequence& sequence);
    void add_chunk(Batch& batch, std::int32_t slot, std::int64_t tokens);
    bool make_room(Lane& lane, Batch& batch);
    [[nodiscard]] std::int32_t victim(Batch const& batch) const;
    void preempt(Lane& lane, Batch& batch, std::int32_t slot);
    void unlink(Lane& lane, Batch& batch, std::int32_t slot);
    /// @param blocks of the sequence, those of a prefix that it shares included
    void release_blocks(Sequence& sequence, std::int64_t blocks);
    void finish(Lane& lane, Batch& batch, Seconds now, std::vector<FinishedRequest>& done, std::vector<TokenGap>& gaps);
    void emit_first(Lane& lane, Batch& batch, std::int32_t slot, Seconds now, std::vector<FinishedRequest>& done,
                    std::vector<TokenGap>& gaps);
    void hand_over(Lane& lane, Batch& batch, std::int32_t slot, std::vector<FinishedRequest>& done);
    void complete(Lane& lane, Batch& batch, std::int32_t slot, std::int64_t blocks, Seconds now,
                  std::vector<FinishedRequest>& done);
    void empty(Lane& lane, Batch& batch, std::vector<FinishedRequest>& out);
    void leave_cohort(Batch& batch, Seconds last_token);
    [[nodiscard]] BlockPool& pool_of(Sequence const& s) { return pools_[static_cast<std::size_t>(s.group)]; }
    [[nodiscard]] BlockPool& host_of(Sequence const& s) { return hosts_[static_cast<std::size_t>(s.group)]; }
    [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const { return limits_.shape.blocks(tokens); }
    [[nodiscard]] Sequence& at(std::int32_t slot) { return sequences_[static_cast<std::size_t>(slot)]; }
    [[nodiscard]] Sequence const& at(std::int32_t slot) const { return sequences_[static_cast<std::size_t>(slot)]; }

    ReplicaLimits limits_;
    ServiceModel const& service_;
    std::vector<BlockPool> pools_;  ///< of each group
    std::vector<BlockPool> hosts_;
    std::vector<HostPrefixes> host_prefixes_;
    std::vector<std::int64_t> in_group_;  ///< sequences that run
    std::vector<std::int64_t> promised_;  ///< blocks of each group that those may still take
    std::vector<AdapterSlots> adapters_;  ///< of each group: every rank has its own
    std::vector<Seconds>
        copies_;                  ///< of each group, over the links of its own ranks: the next iteration waits for them
    std::vector<Seconds> loads_;  ///< of prefixes, the same: the next iteration runs beside them, and is no shorter
    WaitingQueue waiting_;
    std::vector<WaitingQueue::Entry> unseen_;           ///< that came after the next iteration was put together
    std::vector<std::int32_t> passed_;                  ///< slots of `waiting_` set aside while it is looked through
    std::map<std::int64_t, std::int32_t> handed_over_;  ///< slots, by number of the request
    std::vector<FetchedCache> fetched_;
    std::vector<TokenGap> handed_gaps_;  ///< of tokens that came with a cache, after others
    std::vector<Sequence> sequences_;
    std::vector<std::int32_t> free_slots_;
    std::vector<Lane> lanes_;
    std::int64_t running_ = 0;
    std::int64_t expected_ = 0;
    Seconds stage_free_{};
    std::size_t next_lane_ = 0;  ///< whose turn it is: none waits while another goes twice
    Seconds last_end_{};         ///< of the iterations begun so far: in a pipeline none overtakes another
    ReplicaPeaks peaks_;
    ReplicaCounters counters_;
    std::vector<Decodes::Progress> ended_;
};

}  // namespace sextant

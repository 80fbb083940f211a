#pragma once

#include "cost_models/serving/serving_memory.hpp"
#include "simulator/serving/speculative_decodes.hpp"
#include "simulator/serving/waiting_queue.hpp"

#include <cstdint>
#include <string_view>

namespace sextant {

/// What an iteration is made of.
enum class BatchPolicy : std::uint8_t {
    whole_prompts,  ///< every decode, and whole prompts in order while they fit the token limit
    prefill_first,  ///< whole prompts alone while one can be admitted, else every decode
    chunked         ///< every decode, then prompts in chunks up to the token limit
};

/// A scheduler by name: "fcfs", "prefill-first", "chunked", "priority", "fair".
struct Scheduler {
    std::string_view name;
    BatchPolicy batch;
    QueueOrder queue;
};
/// @throws InputError with the known names and the nearest one.
Scheduler scheduler_from(std::string_view name, std::string_view where);

enum class PrefixCaching : std::uint8_t { on, off };

/// What becomes of the cache of a sequence that has to make room.
enum class PreemptionPolicy : std::uint8_t {
    recompute,  ///< dropped, and computed again
    swap        ///< copied to host memory, and back; dropped when there is no room there
};
std::string_view name_of(PreemptionPolicy policy);
/// @throws InputError with the known names and the nearest one.
PreemptionPolicy preemption_policy_from(std::string_view name, std::string_view where);

/// What a replica does of a request.
enum class ReplicaRole : std::uint8_t {
    whole,
    prefill,  ///< its prompt; a token that follows is not out yet, unless it is the only one
    decode    ///< the rest; its cache comes from elsewhere
};

/// What a replica that decodes makes of a cache that comes from elsewhere. No token goes to the client before that is
/// there.
enum class HandOver : std::uint8_t {
    with_token,  ///< the token that follows the prompt comes with it, and is out when the sequence joins the decodes
    cache_alone  ///< the last token of the prompt is computed again: its step makes the token that follows
};

/// Limits of one replica.
struct ReplicaLimits {
    Scheduler scheduler{"chunked", BatchPolicy::chunked, QueueOrder::arrival};
    std::int64_t max_batch = 256;
    std::int64_t groups = 1;                 ///< of attention data parallelism, each with a cache of its own
    std::int64_t max_batched_tokens = 8192;  ///< of a group
    CacheShape shape{};                      ///< of a sequence in the cache
    std::int64_t blocks = 1;                 ///< of the cache of a group, each of one group of layers
    std::int64_t watermark_blocks = 0;       ///< of these, kept free when a request is admitted
    Admission admission = Admission::prompt;
    std::int64_t lanes = 1;  ///< iterations in flight: pipeline stages
    IterationPlanning planning = IterationPlanning::in_turn;
    PrefixCaching prefix_caching = PrefixCaching::on;
    PreemptionPolicy preemption = PreemptionPolicy::recompute;
    std::int64_t host_blocks = 0;         ///< of the cache of a group in host memory
    std::int64_t host_prefix_blocks = 0;  ///< the same for prefixes that give way in the cache
    std::int64_t adapter_slots = 0;       ///< resident at a time; 0: the adapters of requests do not matter
    Speculation speculation{};
    ReplicaRole role = ReplicaRole::whole;
    HandOver hand_over = HandOver::with_token;
    /// Of all groups.
    [[nodiscard]] std::int64_t all_blocks() const { return blocks * groups; }
    /// Tokens that the caches of all groups hold of sequences within every window.
    [[nodiscard]] std::int64_t cache_tokens() const { return all_blocks() / shape.groups() * shape.block_tokens; }
};

/// What an engine does when nobody names a scheduler: "prefill-first" where its prompts have iterations of their own,
/// else "chunked".
Scheduler scheduler_of(EngineProfile const& engine);

/// Limits of a replica of the plan, its scheduler and admission those of the engine; a hundredth of the cache kept free
/// where requests are admitted by their prompts. vLLM's
/// connectors bring the cache alone: its proxy asks the first engine for one token and drops it, and
/// `_update_waiting_for_remote_kv` (v1/core/sched/scheduler.py) leaves the last token of the prompt to the second.
/// SGLang (disaggregation/decode.py) and TensorRT-LLM (`first_gen_tokens` of its DisaggregatedParams) send the token.
/// @param memory of a rank; less than `serving_memory` where something else is kept there.
ReplicaLimits replica_limits(ServingCase const& what, ServingMemory const& memory);

}  // namespace sextant

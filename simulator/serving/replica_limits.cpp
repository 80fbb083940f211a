#include "simulator/serving/replica_limits.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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

Scheduler scheduler_of(EngineProfile const& engine) {
    return scheduler_from(engine.prompts == PromptOrder::first ? "prefill-first" : "chunked", "prompts");
}

ReplicaLimits replica_limits(ServingCase const& what, ServingMemory const& memory) {
    ServingPlan const& plan = what.plan;
    ReplicaLimits limits;
    limits.scheduler = scheduler_of(what.engine);
    limits.max_batch = plan.max_batch;
    limits.groups = plan.attention_dp;
    if (memory.state_places > 0) limits.max_batch = std::min(limits.max_batch, memory.state_places * limits.groups);
    limits.max_batched_tokens = plan.max_batched_tokens;
    limits.shape = memory.shape;
    limits.blocks = limits.shape.groups() * (static_cast<std::int64_t>(memory.cache_tokens) / plan.block_tokens);
    limits.admission = what.engine.admission;
    limits.watermark_blocks = limits.admission == Admission::prompt ? limits.blocks / 100 : 0;
    limits.lanes = plan.pp;
    limits.planning = what.engine.planning;
    if (is_vllm(what.engine.program)) limits.hand_over = HandOver::cache_alone;
    return limits;
}

}  // namespace sextant

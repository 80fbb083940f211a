#pragma once

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/rl/rl_split.hpp"

/// 32 prompts with eight responses each of a small model, on a node of H100.
inline sextant::RlQuestion small_question() {
    using namespace sextant;
    RlQuestion q;
    q.policy = find_model("qwen2.5-1.5b");
    q.prompts = 32;
    q.group = 8;
    q.prompt_tokens = 200;
    q.lengths = {.kind = LengthKind::lognormal, .mean = 600, .variation = 0.7, .maximum = 3000};
    q.update_batch = 128;
    q.accelerators = 8;
    q.machine.cluster = find_cluster("h100-sxm", "test");
    q.machine.framework = find_framework("megatron", "test");
    q.machine.limit = default_memory_limit(q.machine.cluster, q.machine.framework);
    q.machine.threads = 1;
    q.engine = find_engine("vllm", "test");
    q.rollout.memory_utilisation = 0.9;
    return q;
}

inline sextant::ServingCase small_engine(std::int64_t max_batch = 256) {
    sextant::RlQuestion const q = small_question();
    sextant::ServingCase what{.model = q.policy, .cluster = q.machine.cluster, .plan = q.rollout, .engine = q.engine};
    what.plan.max_batch = max_batch;
    return what;
}

#pragma once

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/scaling/published_laws.hpp"
#include "planner/run_plan/run_plan.hpp"

namespace sextant::run_fixture {

/// Nothing fails, standard searches, one thread.
inline RunSetting setting(char const* cluster = "h100-sxm") {
    RunSetting s;
    s.cluster = find_cluster(cluster, "test");
    s.framework = find_framework("megatron", "test");
    s.limit = default_memory_limit(s.cluster, s.framework);
    s.threads = 1;
    return s;
}

/// The same with failures as of Llama 3's record.
inline RunSetting failing_setting(char const* cluster = "h100-sxm") {
    RunSetting s = setting(cluster);
    s.failures = &failure_catalog().front();
    return s;
}

inline RunQuestion question() {
    RunQuestion q;
    q.law = find_scaling_law(default_scaling_law, "test");
    return q;
}

inline RunQuestion budget(Budget::Kind kind, double amount, std::optional<std::int64_t> accelerators) {
    RunQuestion q = question();
    q.budget = Budget{kind, amount};
    q.accelerators = accelerators;
    return q;
}

}  // namespace sextant::run_fixture

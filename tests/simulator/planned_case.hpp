#pragma once

#include "core/spec/framework_profile.hpp"
#include "core/spec/schedule_traits.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <random>

/// Plans made at random, of a few ranks, that cover what a framework can do.
namespace sextant::fixtures {

/// A framework that hides and waits like a real one.
inline FrameworkProfile busy_framework(std::mt19937_64& random) {
    FrameworkProfile framework = neutral_framework();
    FrameworkTiming& t = framework.timing.front();
    for (auto const overlap :
         {&FrameworkTiming::tp_overlap, &FrameworkTiming::ep_overlap, &FrameworkTiming::cp_overlap,
          &FrameworkTiming::pp_overlap, &FrameworkTiming::dp_overlap, &FrameworkTiming::fsdp_overlap})
        t.*overlap = known(pick(random, {0.0, 0.3, 0.8, 1.0}));
    t.all_reduces_gradients = known(t.dp_overlap.value == 0.3 ? 1.0 : 0.0);  // no draw
    t.gathers_after_step = known(t.dp_overlap.value == 0.8 ? 1.0 : 0.0);
    t.kernel_gap = known(uniform(random, 0, 3) * units::us);
    t.host_floor_forward = known(uniform(random, 0, 300) * units::us);
    t.host_floor_backward = known(uniform(random, 0, 600) * units::us);
    t.fixed_per_step = known(uniform(random, 0, 30) * units::ms);
    return framework;
}

struct PlannedCase {
    ModelSpec model;
    ParallelPlan plan;
    Workload workload;
};

inline ActivationGroups draw_activations(std::mt19937_64& random, ActivationGroups of) {
    ActivationGroups drawn;
    for (int group = 0; group <= static_cast<int>(ActivationGroup::other); ++group)
        if (of.has(static_cast<ActivationGroup>(group)) && pick(random, {0, 1}) == 1)
            drawn.add(static_cast<ActivationGroup>(group));
    return drawn;
}

/// A plan on at most 64 ranks. @param replicas whether there may be data parallelism.
inline PlannedCase draw_plan(std::mt19937_64& random, bool replicas) {
    PlannedCase c;
    switch (pick(random, {0, 1, 2, 3, 4, 5})) {
        case 0: c.model = hybrid(pick(random, {StateRule::decay, StateRule::delta}), 1024, 16); break;
        case 1:
        case 2: c.model = mixture(1024, 16, 8, 2, 1024); break;
        default: c.model = llama(2048, 16, 8, 16, 5504);
    }
    c.plan.tp = pick<std::int64_t>(random, {1, 2, 4});
    c.plan.sequence_parallel = c.plan.tp > 1 ? Switch::on : Switch::off;
    c.plan.pp = pick<std::int64_t>(random, {1, 2, 4});
    c.model.tied_embeddings = c.plan.tp == 2;
    if (replicas) {
        c.plan.dp = pick<std::int64_t>(random, {1, 2, 4});
        c.plan.cp = c.model.recurrent ? 1 : pick<std::int64_t>(random, {1, 2});
        c.plan.zero = static_cast<int>(pick<std::int64_t>(random, {0, 1, 2, 3}));
        if (c.plan.pp > 1) c.plan.zero = std::min(c.plan.zero, 1);
    }
    // Without replicas of experts either, where none are wanted.
    if (c.model.moe && !replicas) c.plan.ep = c.plan.tp;
    if (c.model.moe && replicas && c.plan.dp * c.plan.cp * c.plan.tp % 2 == 0) c.plan.ep = 2;
    c.plan.recompute = pick(random, {Recompute::none, Recompute::selective, Recompute::full});
    if (c.plan.recompute == Recompute::full) c.plan.recompute_layers = pick<std::int64_t>(random, {0, 1, 2, 3});
    if (c.plan.recompute == Recompute::selective && pick(random, {0, 1}) == 1) {
        c.plan.recompute_modules = {};
        for (RecomputeModule const module :
             {RecomputeModule::core_attn, RecomputeModule::layernorm, RecomputeModule::mlp, RecomputeModule::moe,
              RecomputeModule::moe_act, RecomputeModule::mlp_act})
            if (modules_of(c.model).has(module) && pick(random, {0, 1}) == 1) c.plan.recompute_modules.add(module);
        if (c.plan.recompute_modules.empty())
            c.plan.recompute_modules = {c.model.recurrent ? RecomputeModule::layernorm : RecomputeModule::op};
    }
    if (c.plan.recompute == Recompute::full && pick(random, {0, 0, 1}) == 1)
        c.plan.kept_activations = draw_activations(random, keepable_activations & activations_of(c.model));
    c.plan.gradients = pick(random, {GradientFormat::usual, GradientFormat::bf16});
    if (c.plan.pp > 1) {
        c.plan.schedule = pick(random, {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved,
                                        Schedule::overlapped, Schedule::breadth_first, Schedule::zb_h1, Schedule::zb_h2,
                                        Schedule::zb_v, Schedule::dualpipe, Schedule::dualpipe_v});
        c.plan.vpp = traits_of(c.plan.schedule).takes_chunks(2) ? 2 : 1;
    } else {
        bool const paired = c.plan.zero < 2 && pick(random, {0, 0, 1}) == 1;
        c.plan.schedule = paired ? Schedule::overlapped : Schedule::one_f_one_b;
    }
    if (pick(random, {0, 0, 1}) == 1)
        c.plan.adapters = {.rank = 16,
                           .targets = adapter_targets_from(pick(random, {"attention", "all", "qkv,o"}), "test"),
                           .base = pick(random, {BaseWeights::bf16, BaseWeights::nf4})};
    if (c.model.moe && c.plan.ep > 1 && c.plan.cp == 1) c.plan.expert_imbalance = 1.5;                // no draw
    if (c.model.mlp.gated && c.plan.world_size() % 3 == 1) c.plan.fp8_activation_input = Switch::on;  // no draw
    c.workload = {
        .sequence = 2048, .global_batch = c.plan.dp * 8, .document = pick<std::int64_t>(random, {0, 0, 0, 100, 512})};
    return c;
}

/// The same with activations, or some of them, in host memory.
inline PlannedCase draw_offloaded(std::mt19937_64& random) {
    PlannedCase c = draw_plan(random, false);
    c.plan.offload = Offload::activations;
    if (pick(random, {0, 1}) == 1) c.plan.offloaded_activations = draw_activations(random, activations_of(c.model));
    if (pick(random, {0, 0, 1}) == 1)
        c.plan.offload_layers = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(c.model.layer_count()));
    return c;
}

/// A machine whose link to the host is anything from too slow for all activations to fast enough.
inline ClusterSpec cluster_with_host_link(std::mt19937_64& random) {
    ClusterSpec machine = cluster();
    machine.accelerator.host_bandwidth = known(pick(random, {3.0, 10.0, 30.0, 100.0}) * units::GB / units::s);
    return machine;
}

}  // namespace sextant::fixtures

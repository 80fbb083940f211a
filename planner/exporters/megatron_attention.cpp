#include "planner/exporters/megatron_attention.hpp"

#include "core/graph/usual_stages.hpp"

namespace sextant {
namespace {

bool before_ampere(ClusterSpec const& cluster) {
    std::string_view const generation = cluster.accelerator.generation;
    return generation == "volta" || generation == "turing";
}

/// Values of latent attention that are not as long as its keys: no kernel of FlashAttention 2 takes them.
bool latent_of_two_sizes(ModelSpec const& model) {
    return model.attention.latent && model.attention.value_head_dim != model.attention.head_dim;
}

}  // namespace

void translate_megatron_attention(Translation& t, LaunchPlan const& launch) {
    ParallelPlan& p = t.plan;
    bool const wide = p.precision == Precision::fp32 || p.precision == Precision::tf32;
    bool const fuses = !wide && !before_ampere(launch.cluster);
    if (!fuses && p.attention == AttentionKernel::flash)
        t.replace(&ParallelPlan::attention, AttentionKernel::unfused, "attention",
                  "Transformer Engine has no fused attention {}: the scores are in memory, which takes more of it",
                  wide ? "in 32 bits" : "before Ampere");
    if (p.cp == 1) return;
    if (fuses)
        t.replace(&ParallelPlan::attention, AttentionKernel::flash, "attention",
                  "Transformer Engine has context parallelism with fused attention only: the file has that");
    else
        t.cannot("cp",
                 "Transformer Engine has context parallelism with fused attention only: the file says what the plan "
                 "says, {} ranks, and will not start (--cp 1 does)",
                 p.cp);
    if (latent_of_two_sizes(launch.model))
        t.replace(&ParallelPlan::cp_mode, ContextParallel::ring, "cp_mode",
                  "latent attention has its keys and values go round a ring (p2p), and no {}", name_of(p.cp_mode));
}

void translate_megatron_windows(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    if (p.cp == 1) return;
    if (model.attention.sinks)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::ulysses, "cp_mode",
                  "attention sinks go with heads in exchange for sequence (a2a), and no {}", name_of(p.cp_mode));
    else if (slides(model) && p.cp_mode == ContextParallel::ring)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::all_gather, "cp_mode",
                  "windows do not go round a ring: keys and values are all-gathered");
}

bool exchanges_heads(ParallelPlan const& p, ModelSpec const& model) {
    if (p.cp == 1 || p.cp_mode != ContextParallel::ulysses) return true;
    std::int64_t const ranks = p.tp * p.cp;
    return model.attention.heads % ranks == 0 && model.attention.kv_heads % ranks == 0;
}

void note_head_exchange(Translation& t, ModelSpec const& model) {
    ParallelPlan const& p = t.plan;
    if (!exchanges_heads(p, model))
        t.cannot("cp",
                 "{} heads and {} key-value heads are not divisible by tp x cp = {} x {}: Transformer Engine refuses "
                 "to exchange them (a smaller --cp)",
                 model.attention.heads, model.attention.kv_heads, p.tp, p.cp);
}

char const* megatron_attention_backend(ParallelPlan const& p, ModelSpec const& model) {
    if (p.attention != AttentionKernel::flash) return "unfused";
    return latent_of_two_sizes(model) || model.attention.sinks ? "auto" : "flash";
}

}  // namespace sextant

#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/parallel_plan.hpp"

#include <vector>

namespace sextant {

/// What a framework lets a run choose for layers of experts; a search tries all of it where the question does not.
struct ExpertChoices {
    Switch deduplicates = Switch::off;        ///< may send tokens once per domain (DeepEP) as well
    Switch overlaps = Switch::off;            ///< may hide exchanges beside other microbatches (1f1b-overlap)
    Switch recomputes_modules = Switch::off;  ///< may run chosen modules of a layer again
};
/// Source: Megatron-Core 0.15, transformer_config.py (moe_enable_deepep, overlap_moe_expert_parallel_comm,
/// recompute_modules); torchtitan 0.2, expert_parallel_comm_backend. Others: none of it.
ExpertChoices expert_choices(FrameworkProfile const& framework);

/// The dispatchers to try: the deduplicating one beside the other where it runs (`sends_once`) between several domains
/// of the cluster. One domain has no network to send less over.
std::vector<Dispatcher> dispatchers_to_try(ClusterSpec const& cluster, std::int64_t accelerators,
                                           ExpertChoices const& choices);

/// Sets of modules of a model that selective recompute may run again, each once: first those that cost kernels that
/// move memory and the expansion of latents, then the dense and shared feed-forward as well. Source: those that the
/// recipes of Megatron-Bridge name for DeepSeek-V3.
std::vector<RecomputeModules> module_sets_to_try(ModelSpec const& model, Precision precision);

}  // namespace sextant

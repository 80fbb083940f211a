#pragma once

#include "planner/exporters/exporter.hpp"

namespace sextant {

/// Takes out of a plan what Megatron-Core cannot run, and says so: schedules but 1F1B, interleaved and, where it can
/// hide exchanges of experts, the overlapped one; layers
/// recomputed by halves of a chunk, combinations of optimizer, sharding and offload. What it will refuse is noted.
void translate_for_megatron(Translation& t, LaunchPlan const& launch);

/// What a script exports, name and value. TF32 is PyTorch's choice; one queue of work keeps the order of kernels that
/// Megatron-Core's overlap counts on (required before Blackwell, of AMD's accelerators too, and not with its FSDP),
/// passes beside one another want several; whether an unfused attention has a softmax of one kernel is read by
/// Transformer Engine from here alone; HybridEP asks how many ranks of a group share a domain. Source: softmax.py of
/// Transformer Engine 2.8, hybrid_ep_buffer.py of DeepEP's branch hybrid-ep for the last two.
std::vector<std::pair<std::string, std::string>> megatron_environment(ParallelPlan const& plan,
                                                                      LaunchPlan const& launch);

/// Ranks of each group of experts in one scale-up domain, where tokens are sent once per domain and a domain is of
/// several hosts: HybridEP's to do. DeepEP's domains are hosts of at most eight ranks (NUM_MAX_NVL_PEERS, its buffers
/// CUDA IPC of one host). 0: elsewhere.
std::int64_t hybrid_ep_ranks(ParallelPlan const& plan, LaunchPlan const& launch);

/// Whether the plan runs forwards beside backwards, and Megatron-Core can (`--overlap-moe-expert-parallel-comm`).
bool overlaps_experts(ParallelPlan const& plan);

/// Microbatches that go through a chunk in a row where the stages do not divide them: the fewest that Megatron-Core
/// takes, whose last group may not be smaller than the stages. 0: as many as stages, or nothing that it takes.
std::int64_t chunk_group(ParallelPlan const& plan, std::int64_t microbatches);

/// Moments of other formats and state in host memory are the precision-aware optimizer's, which is Adam's and needs the
/// distributed optimizer.
bool precision_aware(ParallelPlan const& plan);

/// Whether the file has Megatron-Core's distributed optimizer, which is Adam's.
bool shares_optimizer(ParallelPlan const& plan);

/// Whether fp8 is scaled by the values at hand (`--fp8-recipe tensorwise`): Megatron-Core's delayed scaling refuses to
/// recompute norms and the activations of experts.
bool scales_at_once(ParallelPlan const& plan);

/// Whether weights can be in the narrow format (`--fp8-param-gather`) as far as the place of the optimizer goes: beside
/// one in host memory Megatron-LM takes fp8 with delayed scaling alone.
/// Source: Megatron-LM, "Optimizer CPU offload check" of `megatron/training/arguments.py`, Megatron-Core 0.15.
bool offloads_beside_narrow_weights(ParallelPlan const& plan);

/// Whether the file has weights in the narrow format, and no copies beside them.
bool holds_narrow_weights(ParallelPlan const& plan);

/// Megatron-Core divides the layers by itself only where every chunk gets the same number.
bool divides_evenly(ParallelPlan const& plan, ModelSpec const& model);

}  // namespace sextant

#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant {

/// Why a plan cannot be run at all, whatever the machine.
enum class PlanProblem : std::uint8_t {
    not_positive,
    heads,              ///< tp does not divide the attention heads
    kv_heads,           ///< tp and kv_heads do not divide one another
    width,              ///< tp does not divide the hidden or feed-forward width
    layers,             ///< more stages (times chunks) than layers, or chunks that cannot be even
    schedule,           ///< schedule, pp, vpp and microbatches do not go together
    batch,              ///< global batch is no multiple of dp * micro_batch
    sequence,           ///< cp does not divide the sequence
    experts,            ///< ep without experts, or that does not divide them or the ranks
    sequence_parallel,  ///< needs tp > 1
    zero,               ///< ZeRO stage and schedule or group do not go together
    positions,          ///< sequence longer than a learned position table
};
std::string_view name_of(PlanProblem problem);

struct PlanFault {
    PlanProblem problem;
    std::string message;  ///< one sentence with the numbers and what is allowed
};

/// The first structural rule that a plan breaks, or nothing.
std::optional<PlanFault> find_fault(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload);

/// The same without composing a message, for searches.
std::optional<PlanProblem> find_problem(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload);

/// ZeRO 2 and 3 would reduce gradients in every microbatch of a pipeline: they go with one stage only, whose passes do
/// not run in pairs. The one rule on the ZeRO stage that a search meets; a search that asks for it apart checks all
/// other rules once for all stages.
constexpr bool zero_suits_pipeline(ParallelPlan const& plan) {
    return plan.zero < 2 || (plan.pp == 1 && plan.schedule != Schedule::overlapped);
}

/// Parameters in host memory come from it as ZeRO 3 gathers them: weights that are sharded, and gathered for each pass.
/// The one rule on offload that a search meets.
constexpr bool offload_suits_sharding(ParallelPlan const& plan) {
    return !offloads_parameters(plan) || (plan.zero == 3 && plan.shard_group != 1);
}

/// @throws InputError with the fault's message.
void require_valid(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload);

/// Whether gradients can be in bf16: products are in bf16, or narrower with weights in bf16.
bool takes_bf16_gradients(Precision precision);

/// Whether an optimizer's state goes with products of this precision, and the sentence where it does not.
bool goes_with(Optimizer optimizer, Precision precision);
std::string optimizer_refusal(Optimizer optimizer, Precision precision);

/// Microbatches per step and pipeline: global_batch / (dp * micro_batch).
std::int64_t microbatches(ParallelPlan const& plan, Workload const& workload);

}  // namespace sextant

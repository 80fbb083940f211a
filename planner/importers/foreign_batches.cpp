#include "core/error.hpp"
#include "planner/importers/foreign_plan.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

/// Source: `_set_batch_related_parameters` and `_batch_assertion` of DeepSpeed 0.17, runtime/config.py.
std::int64_t micro_batch_left(std::int64_t accumulation, std::int64_t dp, std::int64_t global_batch,
                              std::string_view where) {
    std::int64_t const micro_batches = dp * accumulation;
    if (global_batch % micro_batches != 0)
        throw InputError(
            "{}: a global batch (train_batch_size) of {} is no multiple of data-parallel ranks x accumulation steps = "
            "{} "
            "x {} (without a micro-batch, train_micro_batch_size_per_gpu, DeepSpeed takes for it what they leave)",
            where, global_batch, dp, accumulation);
    return global_batch / micro_batches;
}

/// Source: `gradient_accumulation_steps` of torchtitan 0.2, train.py: so many steps of the pipeline's schedule.
void warn_of_flushes(ForeignPlan& foreign, ParallelPlan const& plan, std::int64_t global_batch,
                     std::string_view where) {
    std::int64_t const ranks_batch = *foreign.pipeline_batch * plan.dp;
    if (global_batch % ranks_batch != 0)
        throw InputError(
            "{}: training.global_batch_size: {} is no multiple of local_batch_size x data-parallel ranks = {} x {}",
            where, global_batch, *foreign.pipeline_batch, plan.dp);
    if (std::int64_t const rounds = global_batch / ranks_batch; rounds > 1)
        foreign.warnings.push_back(fmt::format(
            "training.global_batch_size: torchtitan's pipeline fills and drains {} times in a step, once for each "
            "{} sequences of a rank; it is counted as one of {} (training.local_batch_size = {} makes it one)",
            rounds, *foreign.pipeline_batch, global_batch / plan.dp, global_batch / plan.dp));
}

}  // namespace

void settle_batches(ForeignPlan& foreign, ParallelPlan const& plan, std::int64_t global_batch, std::string_view where) {
    if (foreign.accumulation)
        foreign.plan.micro_batch = micro_batch_left(*foreign.accumulation, plan.dp, global_batch, where);
    if (foreign.pipeline_batch && plan.pp > 1) warn_of_flushes(foreign, plan, global_batch, where);
}

}  // namespace sextant

#include "core/graph/model_flops.hpp"
#include "planner/validation/train_validation.hpp"

namespace sextant {
namespace {

constexpr FlopsPerSecond teraflops = units::TFLOP / units::s;

bool positive(std::optional<double> const& cell) { return cell && *cell > 0; }

/// The peak that an MFU is of: that of bf16, or of the next format that the device has (a V100 has no bf16).
FlopsPerSecond peak_of_mfu(AcceleratorProfile const& accelerator) {
    for (Precision const format : {Precision::bf16, Precision::fp16})
        if (accelerator.peak.contains(format)) return accelerator.peak_of(format).value;
    return accelerator.peak_of(Precision::fp32).value;
}

/// Of the peak of its format, what a step reached whose model FLOPs leave out the masked half of attention; nothing
/// where time or peak are not known.
std::optional<double> reached_share(TrainingRow const& row, TrainingCase const& c) {
    auto const measured = measured_time(row, c);
    if (!measured || !c.cluster->accelerator.peak.contains(unscaled(c.plan.precision))) return std::nullopt;
    auto const tokens = static_cast<double>(c.workload.tokens());
    auto const gpus = static_cast<double>(c.plan.world_size());
    double const passes = c.plan.adapters.on() ? 2 : 3;  // frozen matrices have no weight gradient
    return passes * tokens * causal_forward_flops_per_token(c.model, c.workload.sequence) / *measured /
           (gpus * c.cluster->accelerator.peak_of(c.plan.precision).value);
}

}  // namespace

std::optional<Seconds> measured_time(TrainingRow const& row, TrainingCase const& c) {
    using units::s;
    auto const tokens = static_cast<double>(c.workload.tokens());
    auto const gpus = static_cast<double>(c.plan.world_size());
    if (positive(row.iter_time_s)) return *row.iter_time_s * s;
    // Tokens a second of adapters do not depend on how many microbatches a step has.
    if (!row.global_batch && !(c.plan.adapters.on() && c.predicts_time)) return std::nullopt;
    if (positive(row.tokens_per_s)) return tokens / *row.tokens_per_s * s;
    if (positive(row.tokens_per_s_per_gpu)) return tokens / (*row.tokens_per_s_per_gpu * gpus) * s;
    if (c.plan.adapters.on()) return std::nullopt;  // sources count the FLOPs of adapters each in their own way
    if (positive(row.hw_tflops_per_gpu) && c.plan.recompute == Recompute::full && c.plan.recompute_layers == 0)
        return megatron_step_flops(c.model, c.workload) / (*row.hw_tflops_per_gpu * gpus * teraflops);
    if (positive(row.model_tflops_per_gpu))
        return model_flops_per_step(c.model, c.workload) / (*row.model_tflops_per_gpu * gpus * teraflops);
    if (positive(row.mfu_pct)) {
        FlopsPerSecond const peak = peak_of_mfu(c.cluster->accelerator);
        return model_flops_per_step(c.model, c.workload) / (*row.mfu_pct / 100 * gpus * peak);
    }
    return std::nullopt;
}

bool outruns_its_format(TrainingRow const& row, TrainingCase const& c) {
    // Of 2,300 rows the fastest that is not in doubt reaches 0.63 of its format's peak.
    double const most = row.precision.empty() ? 0.63 : 0.8;
    return reached_share(row, c) > most;
}

bool crawls(TrainingRow const& row, TrainingCase const& c) {
    auto const reached = reached_share(row, c);
    return reached && *reached < least_share;
}

}  // namespace sextant

#include "core/graph/model_flops.hpp"
#include "planner/validation/train_validation.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// FLOPs of a step by the ways in which sources count them: 6 N D, without attention, or with the full square of it.
struct CountedWork {
    Flops least;
    Flops most;
};

CountedWork counted_work(TrainingCase const& c) {
    auto const [least, most] = std::minmax({six_n_d(c.model, c.workload), model_flops_per_step(c.model, c.workload)});
    return {.least = least, .most = most};
}

/// Whether a step of this time has the rate, which is that of all accelerators.
bool has_rate(Seconds time, CountedWork const& work, FlopsPerSecond rate) {
    constexpr double alike = 1.5;  // assumed: what sources count beyond that differs by less
    return time >= work.least / rate / alike && time <= alike * (work.most / rate);
}

/// What is wrong with tokens a second beside the time of a step, or a rate beside another; empty if nothing is.
std::string contradicting_tokens(TrainingRow const& row, double tokens, double gpus) {
    constexpr double alike = 1.1;
    auto const differ = [](double a, double b) { return std::max(a, b) > alike * std::min(a, b); };
    if (positive(row.iter_time_s)) {
        auto const made = [&](double rate, char const* column) {
            double const of_row = *row.iter_time_s * rate;
            return differ(of_row, tokens)
                       ? fmt::format("iter_time_s and {} make {:.4g} tokens a step, sequences and batch {:.4g}", column,
                                     of_row, tokens)
                       : std::string();
        };
        if (positive(row.tokens_per_s))
            if (auto why = made(*row.tokens_per_s, "tokens_per_s"); !why.empty()) return why;
        if (positive(row.tokens_per_s_per_gpu)) return made(*row.tokens_per_s_per_gpu * gpus, "tokens_per_s_per_gpu");
        return "";
    }
    if (!positive(row.tokens_per_s) || !positive(row.tokens_per_s_per_gpu)) return "";
    double const of_all = gpus * *row.tokens_per_s_per_gpu;
    return differ(*row.tokens_per_s, of_all) ? fmt::format("tokens_per_s is {:.4g}, that of {:.0f} accelerators {:.4g}",
                                                           *row.tokens_per_s, gpus, of_all)
                                             : "";
}

}  // namespace

std::string contradiction_in(TrainingRow const& row, TrainingCase const& c) {
    if (!row.global_batch) return "";
    auto const gpus = static_cast<double>(c.plan.world_size());
    std::string tokens = contradicting_tokens(row, static_cast<double>(c.workload.tokens()), gpus);
    if (!tokens.empty()) return tokens;
    bool const is_timed = positive(row.iter_time_s) || positive(row.tokens_per_s) || positive(row.tokens_per_s_per_gpu);
    auto const measured = is_timed ? measured_time(row, c) : std::nullopt;
    if (!measured || c.plan.adapters.on()) return "";  // sources count the FLOPs of adapters each in their own way
    CountedWork const work = counted_work(c);
    FlopsPerSecond const rate = work.most / *measured / gpus;
    if (positive(row.model_tflops_per_gpu) && !has_rate(*measured, work, *row.model_tflops_per_gpu * gpus * teraflops))
        return fmt::format("model_tflops_per_gpu is {:.4g}, by the stated time {:.4g}", *row.model_tflops_per_gpu,
                           rate / teraflops);
    if (!positive(row.mfu_pct)) return "";
    double const share = *row.mfu_pct / 100;
    AcceleratorProfile const& device = c.cluster->accelerator;
    FlopsPerSecond const usual = peak_of_mfu(device);
    auto const own = device.peak.find(unscaled(c.plan.precision));  // a run in fp8 may state either
    bool const is_of_own = own != device.peak.end() && has_rate(*measured, work, share * gpus * own->second.value);
    if (is_of_own || has_rate(*measured, work, share * gpus * usual)) return "";
    return fmt::format("mfu_pct is {:.3g}, by the stated time {:.3g}", *row.mfu_pct, 100 * (rate / usual));
}

namespace {

/// FLOPs of a step as the row's source counts them: of attention the half that a mask leaves, as Megatron-Core does
/// since 2025 (`num_floating_point_operations`), or all of it. Rows of the MoE ModelZoo and of Megatron-Bridge that
/// state time and rate are 0.995 to 1.01 of the former and 0.82 to 0.89 of the latter.
Flops stated_flops(TrainingRow const& row, TrainingCase const& c) {
    if (!row.framework_has("modelzoo") && !row.framework_has("megatron-bridge"))
        return model_flops_per_step(c.model, c.workload);
    return 3 * static_cast<double>(c.workload.tokens()) * causal_forward_flops_per_token(c.model, c.workload.sequence);
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
        return stated_flops(row, c) / (*row.model_tflops_per_gpu * gpus * teraflops);
    // Without recompute the device runs the model's FLOPs and no others; scores that run again are few.
    bool const runs_once = c.plan.recompute == Recompute::none ||
                           (c.plan.recompute == Recompute::selective &&
                            c.plan.recompute_modules == RecomputeModules{RecomputeModule::core_attn});
    if (positive(row.hw_tflops_per_gpu) && !positive(row.mfu_pct) && runs_once)
        return stated_flops(row, c) / (*row.hw_tflops_per_gpu * gpus * teraflops);
    if (positive(row.mfu_pct)) {
        FlopsPerSecond const peak = peak_of_mfu(c.cluster->accelerator);
        return stated_flops(row, c) / (*row.mfu_pct / 100 * gpus * peak);
    }
    return std::nullopt;
}

bool outruns_its_format(TrainingRow const& row, TrainingCase const& c) {
    // Of 2,300 rows the fastest that is not in doubt reaches 0.63 of its format's peak. What is faster was run in a
    // narrower format, where the device has one.
    bool const may_be_narrower = row.precision.empty() && c.cluster->accelerator.peak.contains(Precision::fp8);
    double const most = may_be_narrower ? 0.63 : 0.8;
    return reached_share(row, c) > most;
}

bool crawls(TrainingRow const& row, TrainingCase const& c) {
    auto const reached = reached_share(row, c);
    return reached && *reached < least_share;
}

}  // namespace sextant

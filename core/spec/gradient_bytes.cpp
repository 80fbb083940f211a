#include "core/spec/gradient_bytes.hpp"

#include "core/spec/working_format.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// Megatron-Core's `--use-precision-aware-optimizer`, which updates from the gradients as they are.
bool is_precision_aware(ParallelPlan const& plan) {
    return plan.optimizer == Optimizer::adamw_bf16 || plan.optimizer == Optimizer::adamw_8bit;
}

}  // namespace

KeptGradients kept_gradients(FrameworkMemory const& framework) {
    return {.usual_bytes = framework.gradient_bytes.value,
            .fp16_bytes = framework.fp16_gradient_bytes.value,
            .weight_bytes = framework.weight_bytes.value,
            .fp16_copy_bytes = std::max(0.0, framework.fp16_master_bytes.value - framework.master_bytes.value),
            .to_host = framework.offloads_gradients.value > 0 ? Switch::on : Switch::off};
}

double KeptGradients::bytes(ParallelPlan const& plan) const {
    if (plan.optimizer == Optimizer::adamw_pure_bf16) return 2;
    if (working_bytes(plan.precision) > 2) return 4;
    double kept = plan.precision == Precision::fp16 ? fp16_bytes : usual_bytes;
    // What a host's optimizer has of them beside is there.
    if (plan.precision == Precision::fp16 && go_to_host(plan)) kept = std::min(kept, weight_bytes);
    // What is added up in bf16 is not wider than the weights that it is for.
    return plan.gradients == GradientFormat::bf16 ? std::min(kept, weight_bytes) : kept;
}

double KeptGradients::held_weight_bytes(ParallelPlan const& plan) const {
    if (plan.optimizer == Optimizer::adamw_pure_bf16) return 2;
    return working_bytes(plan.precision) > 2 ? 4 : weight_bytes;
}

double KeptGradients::copy_bytes(ParallelPlan const& plan) const {
    bool const is_wide = bytes(plan) > 2 || plan.optimizer == Optimizer::adamw_pure_bf16;
    // The weights of a host's optimizer are updated there.
    if (is_wide || is_precision_aware(plan) || offloads_optimizer(plan)) return 0;
    return fp16_copy_bytes;
}

double KeptGradients::remainder_saving(ParallelPlan const& plan) const {
    bool const remains = is_precision_aware(plan) && plan.precision == Precision::bf16 && !offloads_optimizer(plan);
    return remains && fp16_copy_bytes > 0 ? 2 : 0;
}

double sent_gradient_bytes(FrameworkTiming const& framework, GradientFormat format) {
    double const usual = framework.gradient_bytes_sent.value;
    return format == GradientFormat::bf16 ? std::min(usual, 2.0) : usual;
}

double summed_gradient_bytes(FrameworkTiming const& framework, GradientFormat format) {
    double const usual = framework.gradient_sum_bytes.value;
    bool const narrowed = sent_gradient_bytes(framework, format) < framework.gradient_bytes_sent.value;
    return narrowed ? std::min(usual, 2.0) : usual;  // read and written in place of written
}

GradientTraffic gradient_traffic(FrameworkTiming const& framework, KeptGradients const& kept,
                                 ParallelPlan const& plan) {
    double const working = working_bytes(plan.precision);
    bool const is_narrow = plan.precision == Precision::fp16 && kept.bytes(plan) <= 2;
    GradientFormat const format = is_narrow ? GradientFormat::bf16 : gradient_format(plan);
    double const usual = sent_gradient_bytes(framework, format);
    double const updated = working > 2 ? std::max(usual, working) : usual;
    bool const in_parts = plan.cp > 1 && format == GradientFormat::usual;
    double const sent = in_parts ? std::max(updated, framework.cp_gradient_bytes_sent.value) : updated;
    // PyTorch's .grad is as wide as its weights, whatever it is sent in.
    double const added = summed_gradient_bytes(framework, kept.buffered() ? format : GradientFormat::usual);
    // A product's kernel adds to a buffer; any other writes its gradient, which is read again with the sum.
    double const apart = kept.buffered() && added > 0 ? std::max(added, working + 2 * updated) : added;
    auto const widened = [&](double sum) { return sent > working ? std::min(sum, working + sent) : 0; };
    return {.sent = sent,
            .updated = updated,
            .added = added,
            .added_apart = apart,
            .reduced = widened(added),
            .reduced_apart = widened(apart)};
}

}  // namespace sextant

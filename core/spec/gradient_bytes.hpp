#pragma once

#include "core/spec/framework_profile.hpp"

namespace sextant {

/// How a framework keeps gradients from one microbatch to the next: what memory and time of a step have in common.
struct KeptGradients {
    double usual_bytes = 4;  ///< per parameter
    double fp16_bytes = 4;   ///< the same under fp16 with loss scaling
    double weight_bytes = 4;
    /// Per parameter, of the fp32 copy of 16-bit gradients that Megatron's optimizers work on. Under fp16 it is part of
    /// the optimizer's state.
    double fp16_copy_bytes = 0;
    /// With the optimizer's state in host memory they go there, as they are made where each microbatch's are reduced;
    /// the device adds them up, and the host has an fp32 copy (DeepSpeed).
    Switch to_host = Switch::off;

    /// Whether they have an array of their own, wider than the weights: Megatron's main gradients, which every
    /// microbatch is added to and each step begins by zeroing. As wide as the weights they are PyTorch's `.grad`: the
    /// first microbatch's become it, and the update frees them.
    [[nodiscard]] bool buffered() const { return usual_bytes > weight_bytes; }
    /// Bytes per parameter of a plan.
    [[nodiscard]] double bytes(ParallelPlan const& plan) const;
    /// Bytes of a weight as a plan holds it between steps: two in bf16 throughout, four in fp32.
    [[nodiscard]] double held_weight_bytes(ParallelPlan const& plan) const;
    /// Of a plan, bytes per parameter of that copy, which is made for the update; none with a precision-aware
    /// optimizer. Source: Megatron-Core, distrib_optimizer.py (`_copy_model_grads_to_main_grads`:
    /// `shard_model_grad.float()`, or `decoupled_grad`), and Float16OptimizerWithFloat16Params of optimizer.py.
    [[nodiscard]] double copy_bytes(ParallelPlan const& plan) const;
    /// Bytes per parameter that a precision-aware optimizer holds less of fp32 weights: of each it keeps the 16 bits
    /// that its bf16 copy lacks. In fp8 and fp4 only delayed scaling has that, so none is counted. Source:
    /// Megatron-Core, optimizer_config.py (`store_param_remainders`); Transformer Engine, FusedAdam.
    [[nodiscard]] double remainder_saving(ParallelPlan const& plan) const;
    /// Whether a plan's go to host memory in the end: where the framework sends them, or as parameters are there.
    [[nodiscard]] bool go_to_host(ParallelPlan const& plan) const {
        return offloads_parameters(plan) || (to_host == Switch::on && offloads_optimizer(plan));
    }
    /// Whether they leave the device as they are made. ZeRO 0 and 1 reduce them with the last microbatch: until then
    /// all of them stay. Source: DeepSpeed, stage_1_and_2.py (reduce_ready_partitions_and_remove_grads).
    [[nodiscard]] bool leave(ParallelPlan const& plan, double microbatches) const {
        return go_to_host(plan) && (plan.zero >= 2 || microbatches <= 1);
    }
};
KeptGradients kept_gradients(FrameworkMemory const& framework);

/// Bytes a gradient of a plan is sent in, and what adding one to those before moves: as the framework's, or of 16 bits
/// where the plan asks for that and the framework uses more.
double sent_gradient_bytes(FrameworkTiming const& framework, GradientFormat format);
double summed_gradient_bytes(FrameworkTiming const& framework, GradientFormat format);

/// Bytes that the gradient of one weight moves in a microbatch, by what becomes of it.
struct GradientTraffic {
    double sent;         ///< by data-parallel reduction
    double updated;      ///< as the update reads it
    double added;        ///< to add it to those before, beyond writing it in the working precision: of a product
    double added_apart;  ///< the same of an op whose kernel cannot add it: it is read again, and the sum, too
    double reduced;      ///< to widen it for being sent, where each microbatch's is (from ZeRO 2 on)
    double reduced_apart;
};
/// fp32 and tf32 send no less than all of it and have nothing to widen; fp16 sends no more than is kept of it.
GradientTraffic gradient_traffic(FrameworkTiming const& framework, KeptGradients const& kept, ParallelPlan const& plan);

}  // namespace sextant

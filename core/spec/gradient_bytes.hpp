#pragma once

#include "core/spec/framework_profile.hpp"

namespace sextant {

/// How a framework keeps gradients from one microbatch to the next: what memory and time of a step have in common.
struct KeptGradients {
    double usual_bytes = 4;  ///< per parameter
    double fp16_bytes = 4;   ///< the same under fp16 with loss scaling
    double weight_bytes = 4;
    double fp16_copy_bytes = 0;    ///< per parameter, of the fp32 copy that fp16's optimizer works on
    Switch to_host = Switch::off;  ///< with the optimizer's state in host memory they go there as they are made

    /// Whether they have an array of their own, wider than the weights: Megatron's main gradients, which every
    /// microbatch is added to and each step begins by zeroing. As wide as the weights they are PyTorch's `.grad`: the
    /// first microbatch's become it, and the update frees them.
    [[nodiscard]] bool buffered() const { return usual_bytes > weight_bytes; }
    /// Bytes per parameter of a plan.
    [[nodiscard]] double bytes(ParallelPlan const& plan) const;
    /// Whether they leave the device as they are made.
    [[nodiscard]] bool leave(ParallelPlan const& plan) const {
        return to_host == Switch::on && offloads_optimizer(plan);
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
    double added;        ///< to add it to those before, beyond writing it in the working precision: of a product
    double added_apart;  ///< the same of an op whose kernel cannot add it: it is read again, and the sum, too
    double reduced;      ///< to widen it for being sent, where each microbatch's is (from ZeRO 2 on)
    double reduced_apart;
};
/// fp32 and tf32 send no less than all of it and have nothing to widen; fp16 sends no more than is kept of it.
GradientTraffic gradient_traffic(FrameworkTiming const& framework, KeptGradients const& kept, ParallelPlan const& plan);

}  // namespace sextant

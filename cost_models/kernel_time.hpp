#pragma once

#include "core/ops/op.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/gradient_bytes.hpp"
#include "core/spec/hardware_profile.hpp"

namespace sextant {

/// Time of a matrix product [m, k] x [k, n] within a step: by `estimate_product` with operands in memory, the rate of
/// its tiles times the framework's `gemm_scale` (of experts, however few a rank has, times `grouped_gemm_scale` too).
Seconds gemm_time(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                  AcceleratorProfile const& accelerator, FrameworkTiming const& framework);

/// Of what the profiles of Hopper say of attention, what kernels of Ampere's instructions reach there
/// (FlashAttention-2, Triton's): at most 35 % of the peak, 346 TFLOP/s, where the profiles have 574.
/// Source: arXiv:2407.08608 sec. 1.
inline constexpr double ampere_attention_on_hopper = 0.6;

/// Time of one pass of attention within a step. Fused kernels by `estimate_training_attention`, else by
/// `estimate_prefill` without the preparing kernels of a serving engine; the rate times the framework's
/// `attention_scale`; backward 2.5 times the work at the rate of `attention_backward_efficiency` against the forward
/// one. Unfused ones are the matrix products of each head, plus the traffic of the score matrix. Source:
/// arXiv:2307.08691 sec. 4.1.
Seconds attention_time(Attention const& attention, Pass pass, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework);

/// Time of one pass of a recurrence within a step: the longer of its products, at `recurrence_fraction` of the peak of
/// matrix units times the framework's `attention_scale`, and its bytes, and its launches. No measurement of these
/// kernels stands behind it: assumed.
Seconds recurrence_time(Recurrence const& recurrence, Pass pass, AcceleratorProfile const& accelerator,
                        FrameworkTiming const& framework);

/// The same of a forward pass outside of a training framework, but for launches.
Seconds recurrence_time(Recurrence const& recurrence, AcceleratorProfile const& accelerator);

/// Kernels that one pass of a recurrence launches.
std::int64_t recurrence_kernels(Recurrence const& recurrence, Pass pass);

/// bytes * activation_passes / (memory bandwidth * efficiency), and not less than one launch per kernel.
Seconds streaming_time(Bytes bytes, std::int64_t kernels, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework);

/// Time of one pass of an op that is not communication; zero for a pass it is not in.
Seconds kernel_time(Op const& op, Pass pass, AcceleratorProfile const& accelerator, FrameworkTiming const& framework);

/// The part of a matrix product's backward pass that is the gradient of its weights; zero for a frozen weight and any
/// other op.
Seconds weight_gradient_time(Op const& op, AcceleratorProfile const& accelerator, FrameworkTiming const& framework);
/// What becomes of the weight gradients of a microbatch: they are the first, and stay as they are; they are added to
/// those before; or (from ZeRO 2 on) they are reduced.
enum class GradientSums : std::uint8_t { first, added, reduced };
/// Weights whose gradients an op leaves in the backward pass; none of frozen ones.
double weights_with_gradients(Op const& op);
/// Moves the gradients of so many weights of one microbatch where they are wanted, by products, or `apart` by other
/// ops, at the rate of streaming kernels.
struct GradientSumTime {
    Seconds products;
    Seconds apart;
};
GradientSumTime gradient_sum_time(double of_products, double apart, GradientSums sums, GradientTraffic const& traffic,
                                  AcceleratorProfile const& accelerator, FrameworkTiming const& framework);

/// Kernels that one pass of the op launches.
std::int64_t kernel_count(Op const& op, Pass pass);

/// The format of a device's matrix products that are in no narrower one: 16 bits, else the next wider that it has.
Precision usual_precision(AcceleratorProfile const& accelerator);

}  // namespace sextant

#pragma once

#include "core/ops/op.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/hardware_profile.hpp"

namespace sextant {

/// Time of a matrix product [m, k] x [k, n] (`groups` of them sharing m) on an otherwise idle accelerator.
///
/// The output is cut into tiles that run in waves over the multiprocessors; the library is taken to pick the tile shape
/// and the split of k that finish first. T = launch + max(waves * tile work / multiprocessor rate, moved / memory
/// rate), with the large-product efficiency of the profile times the framework's `gemm_scale` (and `grouped_gemm_scale`
/// for several groups). Source: tile menu and their relative rates assumed (64 to 256 wide, smaller tiles reuse less);
/// docs/flops.md.
Seconds gemm_time(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                  AcceleratorProfile const& accelerator, FrameworkTiming const& framework);

/// Time of one pass of attention. Fused kernels reach their long-sequence efficiency times s / (s + 256), s the keys
/// of one call, a fifth less for head sizes up to 64; unfused ones are batched products at 0.4 of peak plus the traffic
/// of the score matrix. Source: research on FlashAttention-2 figures (A100), 0.8 and 256 assumed; 0.4 assumed.
Seconds attention_time(Attention const& attention, Pass pass, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework);

/// bytes * activation_passes / (memory bandwidth * efficiency), and not less than one launch per kernel.
Seconds streaming_time(Bytes bytes, std::int64_t kernels, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework);

/// Time of one pass of an op that is not communication; zero for a pass it is not in.
Seconds kernel_time(Op const& op, Pass pass, AcceleratorProfile const& accelerator, FrameworkTiming const& framework);

/// The part of a matrix product's backward pass that is the gradient of its weights; zero for any other op.
Seconds weight_gradient_time(Op const& op, AcceleratorProfile const& accelerator, FrameworkTiming const& framework);

/// Kernels that one pass of the op launches.
std::int64_t kernel_count(Op const& op, Pass pass);

}  // namespace sextant

#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/parallel_plan.hpp"

namespace sextant {

/// Products in TF32 that attention in fp32 makes of one. Source: `OpMultiplyAddFastF32` in the CUTLASS kernels of
/// PyTorch's memory-efficient attention.
inline constexpr double tf32_products_of_fp32 = 3;

/// Dense peak of what runs a plan's attention: that of its precision. In fp32 fused attention has no less than a third
/// of the TF32 peak, where the device has that (`attention_time`); all other products run on the vector units.
FlopsPerSecond attention_peak(AcceleratorProfile const& accelerator, ParallelPlan const& plan);

}  // namespace sextant

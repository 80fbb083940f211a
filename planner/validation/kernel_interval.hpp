#pragma once

#include "core/measurements/kernel_row.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <cstdint>

namespace sextant {

/// How far measurements of one kernel on one device by two benchmarks lie apart: half of an 80 % interval, as a
/// logarithm. Measured: 1,658 products in bf16 and fp8 on an H100 and an H200 (hardware_profiles/measurements), other
/// library versions, algorithms and clocks than in the tables of the fit, of which this brings 80 % inside (0.10, from
/// the H200's alone: 71).
inline constexpr double spread_between_benchmarks = 0.13;

/// Who measured a row, against the rows of the fit that predicts it.
enum class MeasuredBy : std::uint8_t { source_of_fit, others };

/// The 80 % interval of a row's time, as factors on `estimate`: the estimate's where the fit's own source measured it,
/// else wider by `spread_between_benchmarks`. Constants of other devices tell of this one no more than of those: the
/// interval holds what theirs are for this kernel, and where all of them are of one other generation, that of bf16 for
/// any device, which stands on several. Intervals that no fit stands behind stay as they are assumed.
TimeInterval row_interval(KernelCase const& c, KernelEstimate const& estimate, AcceleratorProfile const& accelerator,
                          MeasuredBy who);

}  // namespace sextant

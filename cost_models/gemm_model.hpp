#pragma once

#include "core/spec/kernel_constants.hpp"
#include "core/units.hpp"
#include "cost_models/kernel_rates.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace sextant {

/// `groups` matrix products [m, k] x [k, n] of one launch.
struct GemmShape {
    std::int64_t groups = 1;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
};

/// What is asked for beside the shape.
struct GemmUse {
    CacheState cache = CacheState::cold;
    double rate = 1;  ///< of the multiprocessors, against what the constants say (clocks in a long run)
};

/// Time of matrix products that run alone, without quantising their activations:
///
///     T = launch + ramp log2(1 + bytes / 1 MB) + (compute^overlap + memory^overlap)^(1 / overlap)
///
/// `compute`: the output is cut into tiles and k into splits; of a menu of tiles the pair that ends first is taken. A
/// tile takes tile_overhead plus ceil(k / 64 splits) steps of max(64 * 2 tm tn / rate, 64 (tm + tn) operand bytes /
/// feed, step_latency) (no feed where units hold their operands: `KernelRates::held`); tiles run in waves over the
/// multiprocessors, and of the idle part of the last wave the share wave_rounding is lost. Splitting adds `reduction`
/// passes over fp32 partial sums. Formats whose kernels keep k whole (fp8-block, fp4, weights widened from 8 and 4
/// bits) have no splits. In long heavy products the rate falls by `heat` per decade, up to `most_heating`. `memory`:
/// all operands once, at the cache's rate as far as they fit into its share, together with the copies of the weights
/// that take turns.
///
/// `constants` in the order of `GemmConstant`. Source: tiles and waves as NVIDIA's matrix multiplication guide
/// describes them; the form was chosen by its error on held-out products of five devices (docs/calibration.md).
Seconds gemm_model(GemmShape const& shape, GemmFormat const& format, KernelRates const& rates,
                   std::span<double const> constants, GemmUse const& use);

/// What products [m, k] x [k, n] reach of the rate (`GemmUse::rate`) where rows of their matrices, of elements of so
/// many bytes, are no multiple of the 16 bytes that are loaded at once. Source: 90 of 260 TFLOP/s for a vocabulary of
/// 50,257 in fp16 on A100 (vTrain's steps, what of them is outside the layers); half for 4 and 8 bytes is assumed.
double row_share(std::int64_t n, std::int64_t k, double element_bytes);

/// How much longer the arithmetic of `work` flop takes for `heat`: heat - 1 for each decade above 0.1 TFLOP, up to
/// `most_heating`.
double heat_factor(double heat, double work);

/// How many copies of the weights take turns where they rotate: as many as fill the last-level cache, five at most.
/// Source: AIConfigurator's collector (github.com/ai-dynamo/aiconfigurator collector/trtllm/collect_gemm.py).
double rotated_copies(double weight_bytes, double cache_bytes);

/// Time of quantising the activations [m, k] of such a product, where it is measured with it:
/// quantise + quantise_passes * 3 m k bytes / memory rate.
Seconds quantise_model(GemmShape const& shape, KernelRates const& rates, std::span<double const> constants);

/// Where the shape lies on the residual grid of products: log2 of m (of all groups), n and k.
std::array<double, 3> gemm_coordinates(GemmShape const& shape);

/// Where a single product lies on the grid of waves: log2 of the waves that 128 x 256 tiles of its output make, of what
/// rounding them up to whole waves costs, and of k. Libraries keep to such tiles where the model would take smaller
/// ones.
std::array<double, 3> gemm_wave_coordinates(GemmShape const& shape, KernelRates const& rates);

}  // namespace sextant

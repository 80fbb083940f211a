#pragma once

#include "cost_models/gemm_model.hpp"

namespace sextant {

/// Time of matrix products by a blocked loop on a processor's cores:
///
///     T = launch + [cold: cold_start] + (compute^overlap + memory^overlap)^(1 / overlap)
///     compute = 2 g m n k / (peak efficiency rate) (1 + edge_m / m) (1 + edge_n / n) (1 + edge_k / k)
///
/// The edges are what packing, ragged register tiles and short inner loops cost; `memory`: all operands once, at the
/// cache's rate as far as they fit into its share and were left there. `constants` in the order of `HostGemmConstant`.
/// Source: Goto and van de Geijn 2008 (blocking and packing); the form of the edges is assumed.
Seconds host_gemm_model(GemmShape const& shape, GemmFormat const& format, KernelRates const& rates,
                        std::span<double const> constants, GemmUse const& use);

}  // namespace sextant

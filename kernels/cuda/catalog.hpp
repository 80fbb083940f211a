#pragma once

#include <vector>

#include "kernels/harness/bench.hpp"

namespace sextant::bench {

extern Bench const cuda_gemm;
extern Bench const cuda_attention;
extern Bench const cuda_decode_attention;
extern Bench const cuda_norm;
extern Bench const cuda_activation;
extern Bench const cuda_loss;
extern Bench const cuda_rows;
extern Bench const cuda_optimizer;
extern Bench const cuda_cast;
extern Bench const cuda_copies;
extern Bench const cuda_launch;
extern Bench const cuda_interference;
extern Bench const cuda_nccl;

/// The benchmarks of the CUDA backend, in the order in which they run.
std::vector<Bench const*> cuda_catalog();

}  // namespace sextant::bench

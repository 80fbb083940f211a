#include "kernels/cuda/catalog.hpp"

#include "kernels/host/catalog.hpp"

namespace sextant::bench {

std::vector<Bench const*> cuda_catalog() {
    return {
        &cuda_gemm,   &cuda_attention,  &cuda_decode_attention,
        &cuda_norm,   &cuda_activation, &cuda_loss,
        &cuda_rows,   &cuda_optimizer,  &cuda_cast,
        &cuda_copies, &cuda_launch,     &cuda_interference,
        &cuda_nccl,   &accuracy,
    };
}

}  // namespace sextant::bench

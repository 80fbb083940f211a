#include "kernels/cuda/cache_flush.hpp"

#include "kernels/cuda/generated.cuh"
#include "kernels/cuda/kernels/cast.cuh"

namespace sextant::bench {
namespace {

std::int64_t elements_to_read() {
    int device = 0, l2 = 0;
    check(cudaGetDevice(&device), "asking for the device");
    check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "asking for the cache");
    return 2 * std::max<std::int64_t>(l2, 32 << 20) / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

CacheFlush::CacheFlush() : buffer_(elements_to_read()), largest_(1) {
    buffer_.clear();
    largest_.clear();
}

void CacheFlush::enqueue(cudaStream_t stream) const {
    launch({blocks_for(buffer_.count() / device::width), elementwise_threads, stream}, device::largest_magnitude<float>,
           buffer_.count(), buffer_.data(), largest_.data());
}

}  // namespace sextant::bench

#pragma once

#include "kernels/cuda/runtime.hpp"

namespace sextant::bench {

/// Fills the L2 cache of the current device with lines that nothing else uses, by reading a buffer of twice its size.
/// They are clean: what is timed next has not to write back those of a buffer that was written instead (5 to 7 us of
/// a kernel that reads, H200 and H100).
class CacheFlush {
public:
    CacheFlush();
    void enqueue(cudaStream_t stream) const;

private:
    DeviceArray<float> buffer_, largest_;
};

}  // namespace sextant::bench

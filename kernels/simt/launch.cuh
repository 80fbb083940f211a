#pragma once

// Starting a kernel: on a GPU, or on the emulated device that tests run the benchmarks on.

#include "kernels/cuda/runtime.hpp"
#include "kernels/simt/simt.cuh"
#ifndef __CUDACC__
#include "kernels/simt/device.hpp"
#endif

namespace sextant::bench {

/// Blocks and threads of a kernel, its dynamic shared memory in bytes, and the stream that it goes to.
struct Grid {
    dim3 blocks;
    unsigned threads = 1;
    cudaStream_t stream = nullptr;
    int shared_bytes = 0;
};

/// Enqueues `kernel`. @throws std::runtime_error where the device cannot start it (too many threads, too much shared
/// memory); what goes wrong while it runs shows when the stream is waited for.
template <class... Parameters, class... Arguments>
void launch(Grid const& grid, void (*kernel)(Parameters...), Arguments... arguments) {
#ifdef __CUDACC__
    kernel<<<grid.blocks, grid.threads, static_cast<std::size_t>(grid.shared_bytes), grid.stream>>>(arguments...);
#else
    simt::enqueue({.blocks = {grid.blocks.x, grid.blocks.y, grid.blocks.z},
                   .threads = grid.threads,
                   .shared_bytes = grid.shared_bytes,
                   .function = reinterpret_cast<void const*>(kernel)},
                  grid.stream, [kernel, arguments...] { kernel(static_cast<Parameters>(arguments)...); });
#endif
    check(cudaGetLastError(), "launching a kernel");
}

}  // namespace sextant::bench

// Linked instead of cuda/backend.cu where there is no CUDA compiler.
#include "kernels/backend.hpp"
#include "kernels/harness/errors.hpp"

namespace sextant::bench {

Backend cuda_backend(int) { throw Unavailable("--backend cuda: built without CUDA"); }

void join_world() {}

}  // namespace sextant::bench

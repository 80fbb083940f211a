// Linked instead of mpi_world.cpp without SEXTANT_BENCH_MPI.
#include "kernels/backend.hpp"

namespace sextant::bench {

void join_world() {}

}  // namespace sextant::bench

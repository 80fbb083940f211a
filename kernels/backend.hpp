#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/harness/bench.hpp"
#include "kernels/harness/session.hpp"

namespace sextant::bench {

/// A backend as the program sees it.
struct Backend {
    Machine machine;
    std::vector<Bench const*> catalog;
    std::int64_t memory_limit = 0;  ///< bytes that one problem may hold
    std::function<void()> recover;  ///< after a measurement that failed (see SessionSettings); empty: nothing to do
    std::string warning;            ///< what may spoil the times; empty: nothing known
};

/// The CUDA backend on this device. @throws Unavailable when the program was built without CUDA, there is no GPU, or
/// CUDA cannot use this one; BadInput when there is one but not number `device`.
Backend cuda_backend(int device);
Backend host_backend();

/// Joins the processes of this run where it was built with MPI and started by mpirun; otherwise does nothing.
/// @throws BadInput where machines run different numbers of them.
void join_world();

}  // namespace sextant::bench

#pragma once

#include <vector>

#include "kernels/harness/bench.hpp"
#include "kernels/harness/session.hpp"

namespace sextant::bench {

extern Bench const host_gemm;
extern Bench const host_memory_bound;
extern Bench const host_copies;
extern Bench const host_collectives;
extern Bench const host_launch;
extern Bench const accuracy;

/// The benchmarks of the host backend, in the order in which they run.
std::vector<Bench const*> host_catalog();
Machine host_machine();

}  // namespace sextant::bench

#include "kernels/host/catalog.hpp"

#include "kernels/host/timer.hpp"

namespace sextant::bench {

std::vector<Bench const*> host_catalog() {
    return {
        &host_gemm,          //
        &host_memory_bound,  //
        &host_copies,        //
        &host_collectives,   //
        &host_launch,        //
        &accuracy,           //
    };
}

Machine host_machine() { return {.backend = "host", .device = processor_name(), .driver = system_name()}; }

}  // namespace sextant::bench

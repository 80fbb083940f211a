// sextant-bench with a backend that needs no GPU, whose "nccl" says what the processes told each other:
// mpi_world_test.cpp runs it under mpirun.
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "kernels/backend.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/world.hpp"
#include "kernels/program.hpp"

namespace sextant::bench {
namespace {

/// As many problems as the memory of this process allows, one per GB.
std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (std::int64_t i = 1; i <= scope.memory_limit >> 30; ++i) {
        Problem problem;
        problem.kernel = "all_reduce";
        problem.dtype = "fp32";
        problem.shape.bytes = i << 10;
        problem.shape.nodes = world().nodes();
        all.push_back(problem);
    }
    return all;
}

bool is_last() { return world().rank() == world().size() - 1; }

/// What goes wrong in the last process at its second problem is asked for by the number of its device.
enum Fault { no_device = 1, in_set_up, in_measurement, not_a_number };

/// A sample takes as many seconds as the slowest process has to its rank; the first takes four, others would take more.
Timing measure(Variant, StopRule const&) {
    std::vector<double> samples;
    std::size_t const wanted = world().rank() == 0 ? 4 : 100;
    do
        samples.push_back(world().largest(1.0 + world().rank()));
    while (world().agree(samples.size() < wanted));
    Timing timing;
    timing.seconds = summarise(samples);
    return timing;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    bool const faulty = is_last() && problem.shape.bytes == 2 << 10;
    if (faulty && scope.device == in_set_up) throw std::runtime_error("out of memory");
    char message[32] = "of another process";
    if (world().rank() == 0) std::snprintf(message, sizeof message, "of the first of %d", world().size());
    world().share(message, sizeof message);
    bool const wrong = faulty && scope.device == not_a_number;
    Prepared prepared;
    prepared.max_rel_error = world().largest(wrong ? std::nan("") : 0.0);
    prepared.tolerance = 1;
    prepared.note = message;
    prepared.measure = [fails = faulty && scope.device == in_measurement](Variant variant, StopRule const& rule) {
        if (fails) throw std::runtime_error("the kernel died");
        return measure(variant, rule);
    };
    return prepared;
}

constinit Bench const told{.name = "nccl", .summary = "what was told", .problems = problems, .prepare = prepare};

}  // namespace

Backend cuda_backend(int device) {
    if (device == no_device && is_last()) throw Unavailable("no GPU here");
    return {.machine = {.backend = "cuda", .device = "of rank " + std::to_string(world().rank()), .driver = "none"},
            .catalog = {&told},
            .memory_limit = std::int64_t{3 + world().rank()} << 30,
            .recover = {},
            .warning = {}};
}

}  // namespace sextant::bench

int main(int count, char** arguments) { return sextant::bench::run_program({arguments + 1, arguments + count}); }

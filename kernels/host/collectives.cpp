// Collectives between processes of this machine over shared memory, fp32. Sizes as in nccl-tests: `bytes` is the larger
// of a rank's send and receive buffers; gbps is the bus bandwidth.
#include "kernels/harness/collective_bytes.hpp"

#include <algorithm>
#include <memory>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/harness/shapes.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/process_group.hpp"
#include "kernels/host/timer.hpp"

namespace sextant::bench {
namespace {

/// Up to twice as many ranks as processors, and at least 4, so that queueing for a processor is seen too.
std::vector<std::int64_t> rank_counts(Scope const& scope) {
    return shapes::rank_counts(std::max<std::int64_t>(4, 2 * scope.processes));
}

std::vector<Problem> problems(Scope const& scope) {
    bool const full = scope.effort == Effort::full;
    std::vector<Problem> all;
    for (char const* collective : collective_names)
        for (std::int64_t const ranks : rank_counts(scope)) {
            if (!full && ranks > 4) continue;
            std::int64_t const most = std::min(scope.memory_limit / (2 * ranks), std::int64_t{full ? 64 : 4} << 20);
            for (std::int64_t const bytes : shapes::message_bytes(1 << 10, most, full ? 4 : 64)) {
                Problem problem;
                problem.kernel = collective;
                problem.dtype = "fp32";
                problem.shape.ranks = ranks;
                problem.shape.nodes = 1;
                std::int64_t const elements = (bytes / 4 + ranks - 1) / ranks * ranks;
                problem.shape.bytes = 4 * elements;
                problem.bytes = bus_bytes(collective, problem.shape.bytes, ranks);
                problem.expected_s = 20e-6 + problem.bytes / 2e9;  // assumed
                all.push_back(std::move(problem));
            }
        }
    return all;
}

double worst_error(ProcessGroup const& group, std::string const& collective, std::int64_t elements,
                   std::uint64_t seed) {
    auto const sent = [&](std::int64_t rank, std::int64_t index) {
        return static_cast<double>(
            value_at(seed + static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(index)));
    };
    RelativeError error;
    for (std::int64_t rank = 0; rank < group.ranks(); ++rank) {
        Part const part = defined_part(collective, rank, group.ranks(), elements);
        std::int64_t const step = std::max<std::int64_t>(1, (part.last - part.first) / 1024);
        for (std::int64_t i = part.first; i < part.last; i += step)
            error.add(static_cast<double>(group.received(rank)[i]),
                      expected_element(collective, rank, group.ranks(), elements, i, sent));
    }
    return error.largest();
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    std::int64_t const elements = problem.shape.bytes / 4;
    auto group = std::make_shared<ProcessGroup>(problem.shape.ranks, elements, [&](std::int64_t rank, float* send) {
        for (std::int64_t i = 0; i < elements; ++i)
            send[i] = value_at(scope.seed + static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i));
    });
    group->run(problem.kernel);
    Prepared prepared;
    prepared.max_rel_error = worst_error(*group, problem.kernel, elements, scope.seed);
    prepared.tolerance = 1e-5;
    if (problem.shape.ranks > scope.processes) prepared.note = "more ranks than processors";
    prepared.measure = [group, collective = problem.kernel](Variant, StopRule const& rule) {
        for (int warm_up = 0; warm_up < 3; ++warm_up)
            group->run(collective);
        Collected const collected = collect(
            rule, [&] { return std::vector<double>{group->run(collective)}; }, steady_seconds);
        Timing timing;
        timing.seconds = summarise(collected.samples);
        timing.sm_clock_mhz = processor_mhz();
        timing.note = remark(rule, collected);
        return timing;
    };
    return prepared;
}

}  // namespace

extern constinit Bench const host_collectives{
    .name = "collectives",
    .summary = "collectives between processes over shared memory",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

// memcpy between two buffers on one thread; `bytes` is the size of one buffer, gbps counts it once.
#include <cstring>
#include <memory>

#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/shapes.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/timer.hpp"

namespace sextant::bench {
namespace {

std::vector<Problem> problems(Scope const& scope) {
    bool const full = scope.effort == Effort::full;
    std::vector<Problem> all;
    for (std::int64_t const bytes : shapes::message_bytes(4 << 10, (full ? 256 : 16) << 20, full ? 2 : 4)) {
        Problem problem;
        problem.kernel = "memcpy";
        problem.dtype = "bytes";
        problem.shape.bytes = bytes;
        problem.bytes = static_cast<double>(bytes);
        problem.expected_s = problem.bytes / 5e9;  // assumed
        problem.variants = hot_and_cold();
        all.push_back(std::move(problem));
    }
    return all;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    auto const size = static_cast<std::size_t>(problem.shape.bytes);
    auto from = std::make_shared<std::vector<unsigned char>>(size),
         to = std::make_shared<std::vector<unsigned char>>(size);
    for (std::size_t i = 0; i < size; ++i)
        (*from)[i] = static_cast<unsigned char>(mixed(scope.seed, i / 8) >> (8 * (i % 8)));
    std::memcpy(to->data(), from->data(), size);
    Prepared prepared;
    prepared.max_rel_error = *from == *to ? 0 : 1;
    prepared.tolerance = 1e-9;
    prepared.note = "one thread";
    prepared.measure = [from, to](Variant variant, StopRule const& rule) {
        return time_on_host([&] { std::memcpy(to->data(), from->data(), from->size()); }, variant, rule);
    };
    return prepared;
}

}  // namespace

extern constinit Bench const host_copies{
    .name = "copies",
    .summary = "memory copies from 4 KiB on",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

// Softmax and cross-entropy in bf16 over logits [m, n]. bytes: forward 2 m n, backward 4 m n.
#include "kernels/cuda/kernels/cross_entropy.cuh"

#include <memory>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;

constexpr float logit_scale = 10.0f;

struct Operands {
    DeviceArray<bf16> x, dx;
    DeviceArray<std::int32_t> target;
    DeviceArray<float> loss, lse;
};

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& [m, n] : shapes::logits(scope.effort)) {
        all.push_back(matrix_problem("cross_entropy_forward", "bf16", m, n, 2.0 * static_cast<double>(m * n)));
        all.push_back(matrix_problem("cross_entropy_backward", "bf16", m, n, 4.0 * static_cast<double>(m * n)));
    }
    return fitting(all, scope);
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    std::int64_t const rows = problem.shape.m, columns = problem.shape.n;
    bool const backward = problem.kernel.ends_with("backward");
    std::vector<std::int32_t> target;
    for (std::int64_t row = 0; row < rows; ++row)
        target.push_back(static_cast<std::int32_t>(mixed(scope.seed + 1, static_cast<std::uint64_t>(row)) %
                                                   static_cast<std::uint64_t>(columns)));
    auto o = std::make_shared<Operands>();
    o->x = device_values<bf16>(rows * columns, scope.seed, logit_scale);
    o->target = device_copy(target);
    o->loss = DeviceArray<float>(rows);
    o->lse = DeviceArray<float>(rows);
    if (backward) o->dx = DeviceArray<bf16>(rows * columns);
    auto const threads = row_threads(columns);
    DeviceWork const forward_work = [o, rows, columns, threads](cudaStream_t stream) {
        launch({static_cast<unsigned>(rows), threads, stream}, device::cross_entropy_forward<bf16>, columns,
               o->x.data(), o->target.data(), o->loss.data(), o->lse.data());
    };
    DeviceWork const backward_work = [o, rows, columns, threads](cudaStream_t stream) {
        launch({static_cast<unsigned>(rows), threads, stream}, device::cross_entropy_backward<bf16>, columns,
               o->x.data(), o->target.data(), o->lse.data(), 1.0f, o->dx.data());
    };
    forward_work(work_stream());
    if (backward) backward_work(work_stream());
    // The target's element is close to -1; what the others are, thousands of times less, must not hide behind it.
    RelativeError error, of_others;
    for (std::int64_t const row : sampled(rows)) {
        auto const logits = host_values<bf16>(scope.seed, row * columns, columns, logit_scale);
        std::int64_t const right = target[static_cast<std::size_t>(row)];
        if (!backward) {
            add_all(error, read_values(o->loss, row, 1), {reference::cross_entropy(logits, right)});
            continue;
        }
        auto const got = read_values(o->dx, row * columns, columns);
        auto const wanted = reference::cross_entropy_backward(logits, right, 1.0);
        for (std::size_t c = 0; c < wanted.size(); ++c)
            (static_cast<std::int64_t>(c) == right ? error : of_others).add(got[c], wanted[c]);
    }
    return prepared_on_device(worse(error.largest(), of_others.largest()), backward ? bf16_tolerance : 1e-4,
                              backward ? backward_work : forward_work);
}

}  // namespace

extern constinit Bench const cuda_loss{
    .name = "loss",
    .summary = "softmax and cross-entropy over the vocabulary, forward and backward",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

// Fused AdamW over n parameters: fp32 parameter with its bf16 copy, bf16 gradient, moments in fp32 or bf16 (dtype).
// bytes: 12 n for parameter, gradient and copy (4 + 4 + 2 + 2), plus 16 n (fp32) or 8 n (bf16) for the moments.
#include "kernels/cuda/kernels/adamw.cuh"

#include <memory>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;

template <class State>
struct Operands {
    DeviceArray<bf16> gradient, copy;
    DeviceArray<float> p;
    DeviceArray<State> m, v;
};

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (std::int64_t const n : shapes::parameters(scope.effort))
        for (char const* state : {"fp32", "bf16"}) {
            double const per_parameter = state[0] == 'f' ? 28 : 20;
            Problem problem = matrix_problem("adamw", state, 1, n, per_parameter * static_cast<double>(n));
            problem.shape.m = Shape::unset;
            all.push_back(problem);
        }
    return fitting(all, scope);
}

template <class State>
Prepared prepare_as(Problem const& problem, Scope const& scope) {
    std::int64_t const count = problem.shape.n;
    auto o = std::make_shared<Operands<State>>();
    o->gradient = device_values<bf16>(count, scope.seed);
    o->copy = DeviceArray<bf16>(count);
    o->p = device_values<float>(count, scope.seed + 1);
    o->m = device_values<State>(count, scope.seed + 2);
    o->v = DeviceArray<State>(count);
    o->v.clear();
    reference::AdamW const s;
    double const step = static_cast<double>(s.step);
    device::AdamWFactors const factors{static_cast<float>(s.learning_rate),
                                       static_cast<float>(s.beta1),
                                       static_cast<float>(s.beta2),
                                       static_cast<float>(s.epsilon),
                                       static_cast<float>(s.weight_decay),
                                       static_cast<float>(1 / (1 - std::pow(s.beta1, step))),
                                       static_cast<float>(1 / (1 - std::pow(s.beta2, step)))};
    DeviceWork const work = [o, factors, count](cudaStream_t stream) {
        launch({blocks_for(count / 4), elementwise_threads, stream}, device::adamw<State, bf16>, factors, count,
               o->gradient.data(), o->p.data(), o->m.data(), o->v.data(), o->copy.data());
    };
    work(work_stream());
    RelativeError error;
    for (std::int64_t const first : {std::int64_t{0}, count - 256}) {
        auto const g = host_values<bf16>(scope.seed, first, 256);
        auto p = host_values<float>(scope.seed + 1, first, 256), m = host_values<State>(scope.seed + 2, first, 256);
        for (std::size_t i = 0; i < g.size(); ++i) {
            double v = 0;
            reference::adamw(s, g[i], p[i], m[i], v);
        }
        add_all(error, read_values(o->p, first, 256), p);
        add_all(error, read_values(o->copy, first, 256), p);
    }
    return prepared_on_device(error.largest(), bf16_tolerance, work);
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    return problem.dtype == "fp32" ? prepare_as<float>(problem, scope) : prepare_as<bf16>(problem, scope);
}

}  // namespace

extern constinit Bench const cuda_optimizer{
    .name = "optimizer",
    .summary = "fused AdamW with fp32 and bf16 states",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

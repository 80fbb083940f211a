// Fused AdamW over n parameters: fp32 parameter with its bf16 copy, bf16 gradient, moments in fp32 or bf16 (dtype).
// bytes: 12 n for parameter, gradient and copy (4 + 4 + 2 + 2), plus 16 n (fp32) or 8 n (bf16) for the moments.
#include "kernels/cuda/kernels/adamw.cuh"

#include <memory>
#include <type_traits>

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

/// What a step makes of 256 parameters: the change of each against itself or the learning rate, whichever is larger
/// (the parameter is thousands of times the change); the moments; the copy against the rounded parameter.
template <class State>
double worst_error(Operands<State> const& o, reference::AdamW const& s, std::uint64_t seed, std::int64_t first) {
    constexpr std::int64_t count = 256;
    auto const g = host_values<bf16>(seed, first, count), before = host_values<float>(seed + 1, first, count);
    auto const p = read_values(o.p, first, count), copy = read_values(o.copy, first, count);
    auto wanted = before, m = host_values<State>(seed + 2, first, count),
         v = host_values<State>(seed + 3, first, count);
    for (double& value : v)
        value = std::abs(value);
    double worst = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
        reference::adamw(s, g[i], wanted[i], m[i], v[i]);
        double const change = wanted[i] - before[i];
        worst = worse(worst, std::abs(p[i] - before[i] - change) / std::max(std::abs(change), s.learning_rate));
        worst = worse(worst, copy[i] == decoded(bf16_format, encoded(bf16_format, p[i])) ? 0.0 : 1.0);
    }
    worst = worse(worst, relative_error(read_values(o.m, first, count), m));
    return worse(worst, relative_error(read_values(o.v, first, count), v));
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
    launch({blocks_for(count), elementwise_threads, work_stream()}, device::fill_magnitudes<State>, count,
           scope.seed + 3, o->v.data());
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
    double const error = worse(worst_error(*o, s, scope.seed, 0), worst_error(*o, s, scope.seed, count - 256));
    // fp32: the parameter's rounding is 6e-5 of the learning rate. bf16: the moments are rounded once.
    return prepared_on_device(error, std::is_same_v<State, float> ? 1e-3 : bf16_tolerance, work);
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

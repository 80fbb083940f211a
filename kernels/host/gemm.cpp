// Matrix product C[m, n] = A[m, k] B[k, n] on one thread: Eigen where the build found it, otherwise a blocked loop.
// flops = 2 m n k; bytes = element size (m k + k n + m n).
#include "kernels/host/gemm.hpp"

#include <array>
#include <memory>
#include <utility>

#include "kernels/harness/generated_arrays.hpp"
#include "kernels/harness/references.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/timer.hpp"

#ifdef SEXTANT_BENCH_EIGEN
#include <Eigen/Core>
#endif

namespace sextant::bench {
namespace {

#ifdef SEXTANT_BENCH_EIGEN
constexpr char const* kernel_name = "eigen";
#else
constexpr char const* kernel_name = "blocked_loop";
#endif

template <class T>
struct Matrices {
    std::int64_t m, n, k;
    std::vector<T> a, b, c;

    void multiply() {
#ifdef SEXTANT_BENCH_EIGEN
        using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        Eigen::Map<Matrix const> const left(a.data(), m, k), right(b.data(), k, n);
        Eigen::Map<Matrix>(c.data(), m, n).noalias() = left * right;
#else
        blocked_product(m, n, k, a.data(), b.data(), c.data());
#endif
    }
};

template <class T>
Prepared prepare_as(Problem const& problem, Scope const& scope, double tolerance) {
    auto data = std::make_shared<Matrices<T>>();
    data->m = problem.shape.m;
    data->n = problem.shape.n;
    data->k = problem.shape.k;
    auto const fill = [&](std::vector<T>& to, std::uint64_t seed, std::int64_t count) {
        to.resize(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = static_cast<T>(value_at(seed, i));
    };
    fill(data->a, scope.seed, data->m * data->k);
    fill(data->b, scope.seed + 1, data->k * data->n);
    data->c.assign(static_cast<std::size_t>(data->m * data->n), T{});
    data->multiply();

    RelativeError error;
    for (std::uint64_t sample = 0; sample < 64; ++sample) {
        auto const row =
            static_cast<std::int64_t>(mixed(scope.seed + 2, 2 * sample) % static_cast<std::uint64_t>(data->m));
        auto const column =
            static_cast<std::int64_t>(mixed(scope.seed + 2, 2 * sample + 1) % static_cast<std::uint64_t>(data->n));
        double sum = 0;
        for (std::int64_t i = 0; i < data->k; ++i)
            sum += static_cast<double>(data->a[static_cast<std::size_t>(row * data->k + i)]) *
                   static_cast<double>(data->b[static_cast<std::size_t>(i * data->n + column)]);
        error.add(static_cast<double>(data->c[static_cast<std::size_t>(row * data->n + column)]), sum);
    }
    Prepared prepared;
    prepared.max_rel_error = error.largest();
    prepared.tolerance = tolerance;
    prepared.note = "one thread";
    prepared.measure = [data](Variant variant, StopRule const& rule) {
        return time_on_host([&] { data->multiply(); }, variant, rule);
    };
    return prepared;
}

using Shapes = std::vector<std::array<std::int64_t, 3>>;

/// fp64 is measured at a few shapes alone: what is fitted is fp32, from small to large and of every proportion.
Shapes shapes_of(Scope const& scope, bool is_fp32) {
    Shapes shapes{{64, 64, 64}, {256, 256, 256}, {512, 512, 512}, {128, 1024, 256}};
    Shapes const quick_fp32{{16, 16, 16},   {32, 32, 32},   {32, 256, 64},   {8, 512, 512},   {1, 1024, 1024},
                            {4, 1024, 512}, {16, 512, 256}, {512, 16, 256},  {256, 64, 1024}, {128, 128, 128},
                            {64, 512, 32},  {100, 300, 70}, {384, 384, 384}, {24, 1000, 200}, {64, 1024, 1024},
                            {512, 256, 64}, {200, 200, 20}, {1, 512, 2048},  {192, 96, 768},  {48, 768, 384}};
    Shapes const full{{1024, 1024, 1024}, {2048, 2048, 2048}, {1, 4096, 4096}, {16, 4096, 1024},
                      {100, 300, 700},    {1024, 256, 4096},  {1536, 768, 768}};
    Shapes const full_fp32{{2, 2048, 2048}, {8, 4096, 1024}, {32, 1024, 4096}, {64, 4096, 512},  {128, 512, 2048},
                           {256, 1024, 64}, {512, 2048, 32}, {768, 768, 3072}, {1000, 500, 250}, {2048, 512, 512},
                           {4096, 64, 256}, {300, 1200, 50}, {640, 640, 640},  {96, 3072, 768},  {1280, 320, 1280}};
    auto const add = [&](Shapes const& more) { shapes.insert(shapes.end(), more.begin(), more.end()); };
    if (is_fp32) add(quick_fp32);
    if (scope.effort == Effort::full) add(full);
    if (scope.effort == Effort::full && is_fp32) add(full_fp32);
    return shapes;
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& [dtype, size] : {std::pair{"fp32", 4.0}, {"fp64", 8.0}})
        for (auto const& [m, n, k] : shapes_of(scope, size == 4.0)) {
            Problem problem;
            problem.kernel = kernel_name;
            problem.dtype = dtype;
            problem.shape.m = m;
            problem.shape.n = n;
            problem.shape.k = k;
            problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
            problem.bytes = size * static_cast<double>(m * k + k * n + m * n);
            problem.expected_s = problem.flops / 20e9;  // assumed
            problem.variants = hot_and_cold();
            all.push_back(std::move(problem));
        }
    return all;
}

/// Error of k additions in precision u is at most about k u; in practice sqrt(k) u. The bounds leave a factor of 10.
Prepared prepare(Problem const& problem, Scope const& scope) {
    return problem.dtype == "fp64" ? prepare_as<double>(problem, scope, 1e-12)
                                   : prepare_as<float>(problem, scope, 1e-4);
}

}  // namespace

extern constinit Bench const host_gemm{
    .name = "gemm",
    .summary = "matrix products in fp32 and fp64 (Eigen where found)",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

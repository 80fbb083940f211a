// RMSNorm and LayerNorm in bf16 over rows [m, n] with fp32 statistics. bytes: forward 4 m n (+ weights 2 n or 4 n),
// backward 6 m n (x, dy read, dx written) and the partial sums of the weights' gradients, which each of b blocks writes
// in fp32 and which are read again: 8 b n, of LayerNorm 16 b n.
#include "kernels/cuda/kernels/norm.cuh"

#include <memory>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using reference::Norm;
using reference::Values;

constexpr float x_scale = 3.0f;

/// Packs of a row that a thread of the backward pass holds.
int packs_of(std::int64_t columns) {
    return static_cast<int>((columns / device::width + row_threads(columns) - 1) / row_threads(columns));
}

/// Blocks of the backward pass: as many as the device has room for at once (wide rows keep much in registers), one a
/// row at the most.
std::int64_t backward_blocks(std::int64_t rows, std::int64_t columns) {
    int const packs = packs_of(columns);
    int const of_multiprocessor = packs == 1 ? 4 : packs == 2 ? 2 : 1;
    return std::min<std::int64_t>(rows, std::int64_t{of_multiprocessor} * multiprocessors());
}

template <bool WithMean>
struct Operands {
    std::int64_t rows, columns;
    unsigned blocks;                           ///< of the backward pass
    DeviceArray<bf16> x, weight, bias, dy, y;  // y is dx in the backward pass
    DeviceArray<float> means, inverses, partial_weight, partial_bias, d_weight, d_bias;

    Operands(Problem const& problem, Scope const& scope)
        : rows(problem.shape.m),
          columns(problem.shape.n),
          blocks(static_cast<unsigned>(backward_blocks(rows, columns))),
          x(device_values<bf16>(rows * columns, scope.seed, x_scale)),
          weight(device_values<bf16>(columns, scope.seed + 1)),
          bias(device_values<bf16>(columns, scope.seed + 2)),
          dy(device_values<bf16>(rows * columns, scope.seed + 3)),
          y(rows * columns),
          means(rows),
          inverses(rows),
          partial_weight(blocks * columns),
          partial_bias(blocks * columns),
          d_weight(columns),
          d_bias(columns) {}

    void forward(cudaStream_t stream) const {
        launch({static_cast<unsigned>(rows), row_threads(columns), stream}, device::norm_forward<bf16, WithMean>,
               columns, x.data(), weight.data(), bias.data(), y.data(), means.data(), inverses.data());
    }
    void backward(cudaStream_t stream) const {
        with_packs([&]<int Packs>() {
            launch({blocks, row_threads(columns), stream}, device::norm_backward<bf16, WithMean, Packs>, rows, columns,
                   x.data(), weight.data(), dy.data(), means.data(), inverses.data(), y.data(), partial_weight.data(),
                   partial_bias.data());
        });
        Grid const by_columns{static_cast<unsigned>((columns + 31) / 32), device::column_sum_threads, stream};
        launch(by_columns, device::column_sum<float>, std::int64_t{blocks}, columns, partial_weight.data(),
               d_weight.data());
        if constexpr (WithMean)
            launch(by_columns, device::column_sum<float>, std::int64_t{blocks}, columns, partial_bias.data(),
                   d_bias.data());
    }

private:
    /// Runs `work` with the number of packs of a row that a thread holds.
    template <class Work>
    void with_packs(Work work) const {
        switch (packs_of(columns)) {
            case 1: return work.template operator()<1>();
            case 2: return work.template operator()<2>();
            default: return work.template operator()<device::most_norm_packs>();
        }
    }
};

/// The gradients of the weights of a few columns, of however many rows, with the device's moments of each row: those
/// are behind the rows that are compared too.
template <bool WithMean>
double weight_error(Operands<WithMean> const& o, std::uint64_t seed) {
    auto const inverses = read_values(o.inverses, 0, o.rows);
    auto const means = WithMean ? read_values(o.means, 0, o.rows) : Values(inverses.size(), 0.0);
    RelativeError error;
    for (std::int64_t const column : sampled(o.columns)) {
        double d_weight = 0, d_bias = 0;
        for (std::int64_t row = 0; row < o.rows; ++row) {
            std::int64_t const place = row * o.columns + column;
            auto const at = static_cast<std::size_t>(row);
            double const dy = host_values<bf16>(seed + 3, place, 1)[0];
            d_weight += dy * (host_values<bf16>(seed, place, 1, x_scale)[0] - means[at]) * inverses[at];
            d_bias += dy;
        }
        add_all(error, read_values(o.d_weight, column, 1), {d_weight});
        if (WithMean) add_all(error, read_values(o.d_bias, column, 1), {d_bias});
    }
    return error.largest();
}

template <bool WithMean>
Prepared prepare_norm(Problem const& problem, Scope const& scope, bool backward) {
    auto operands = std::make_shared<Operands<WithMean>>(problem, scope);
    Norm const kind = WithMean ? Norm::layer : Norm::rms;
    std::int64_t const rows = operands->rows, columns = operands->columns;
    operands->forward(work_stream());
    if (backward) operands->backward(work_stream());
    auto const row_values = [&](std::uint64_t seed, std::int64_t row, float scale) {
        return host_values<bf16>(seed, row * columns, columns, scale);
    };
    Values const weight = host_values<bf16>(scope.seed + 1, 0, columns);
    Values const bias = host_values<bf16>(scope.seed + 2, 0, columns);
    RelativeError error, of_weights;  // sums over all rows are larger than the rows
    double of_columns = 0;
    for (std::int64_t const row : sampled(rows)) {
        Values const x = row_values(scope.seed, row, x_scale), got = read_values(operands->y, row * columns, columns);
        Values ignored_weight(weight.size(), 0.0), ignored_bias(weight.size(), 0.0);
        add_all(error, got,
                backward ? reference::norm_backward(kind, x, weight, row_values(scope.seed + 3, row, 1.0f),
                                                    ignored_weight, ignored_bias)
                         : reference::norm(kind, x, weight, bias));
    }
    if (backward) of_columns = weight_error(*operands, scope.seed);
    if (backward && rows <= 1024) {
        Values d_weight(weight.size(), 0.0), d_bias(weight.size(), 0.0);
        for (std::int64_t row = 0; row < rows; ++row)
            reference::norm_backward(kind, row_values(scope.seed, row, x_scale), weight,
                                     row_values(scope.seed + 3, row, 1.0f), d_weight, d_bias);
        add_all(of_weights, read_values(operands->d_weight, 0, columns), d_weight);
        if (WithMean) add_all(of_weights, read_values(operands->d_bias, 0, columns), d_bias);
    }
    return prepared_on_device(worse(of_columns, worse(error.largest(), of_weights.largest())), bf16_tolerance,
                              [operands, backward](cudaStream_t stream) {
                                  backward ? operands->backward(stream) : operands->forward(stream);
                              });
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& [m, n] : shapes::activations(scope.effort)) {
        double const elements = static_cast<double>(m * n), columns = static_cast<double>(n);
        double const partial_sums = 8 * static_cast<double>(backward_blocks(m, n) * n);
        all.push_back(matrix_problem("rmsnorm_forward", "bf16", m, n, 4 * elements + 2 * columns));
        all.push_back(matrix_problem("rmsnorm_backward", "bf16", m, n, 6 * elements + partial_sums));
        all.push_back(matrix_problem("layernorm_forward", "bf16", m, n, 4 * elements + 4 * columns));
        all.push_back(matrix_problem("layernorm_backward", "bf16", m, n, 6 * elements + 2 * partial_sums));
    }
    return fitting(all, scope);
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    bool const backward = problem.kernel.ends_with("backward");
    return problem.kernel.starts_with("rms") ? prepare_norm<false>(problem, scope, backward)
                                             : prepare_norm<true>(problem, scope, backward);
}

}  // namespace

extern constinit Bench const cuda_norm{
    .name = "norm",
    .summary = "RMSNorm and LayerNorm, forward and backward",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

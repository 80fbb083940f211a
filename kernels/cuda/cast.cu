// Casts and fp8 (e4m3) quantisation of [m, n]. bytes: cast_fp32_bf16 6 m n, cast_bf16_fp32 6 m n, amax 2 m n,
// quantise_tensor 3 m n (scale of the step before, new amax in the same pass), quantise_rows 3 m n, dequantise 3 m n.
#include "kernels/cuda/kernels/cast.cuh"

#include <memory>
#include <stdexcept>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using device::fp8;
using reference::Values;

constexpr float x_scale = 3.0f;

struct Operands {
    std::int64_t rows, columns, count;
    DeviceArray<float> wide, amax, new_amax, row_amax;
    DeviceArray<bf16> half, half_out;
    DeviceArray<fp8> narrow;
};

/// Elements of x, of the largest magnitude `largest`, as they come back from e4m3. Scaled in fp32, as the kernels do
/// it: then ties are ties here too.
Values through_fp8(Values x, double largest) {
    float const scale = 448.0f / static_cast<float>(largest);
    for (double& value : x)
        value = rounded(e4m3, static_cast<double>(static_cast<float>(value) * scale), Overflow::saturate) /
                static_cast<double>(scale);
    return x;
}

double largest_of(Values const& x) {
    double largest = 0;
    for (double const value : x)
        largest = std::max(largest, std::abs(value));
    return largest;
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& [m, n] : shapes::activations(scope.effort)) {
        double const elements = static_cast<double>(m * n);
        all.push_back(matrix_problem("cast_fp32_bf16", "fp32", m, n, 6 * elements));
        all.push_back(matrix_problem("cast_bf16_fp32", "bf16", m, n, 6 * elements));
        all.push_back(matrix_problem("amax", "bf16", m, n, 2 * elements));
        all.push_back(matrix_problem("quantise_tensor", "e4m3", m, n, 3 * elements));
        all.push_back(matrix_problem("quantise_rows", "e4m3", m, n, 3 * elements));
        all.push_back(matrix_problem("dequantise", "e4m3", m, n, 3 * elements));
    }
    return fitting(all, scope);
}

/// The kernel by name; every operand is there.
void launch(std::string const& kernel, Operands const& o, cudaStream_t stream) {
    Grid const grid{blocks_for(o.count / 8), elementwise_threads, stream};
    if (kernel == "cast_fp32_bf16")
        bench::launch(grid, device::cast<float, bf16>, o.count, o.wide.data(), o.half_out.data());
    else if (kernel == "cast_bf16_fp32")
        bench::launch(grid, device::cast<bf16, float>, o.count, o.half.data(), o.wide.data());
    else if (kernel == "amax")
        bench::launch(grid, device::largest_magnitude<bf16>, o.count, o.half.data(), o.new_amax.data());
    else if (kernel == "quantise_tensor")
        bench::launch(grid, device::quantise_tensor<bf16>, o.count, o.half.data(), o.amax.data(), o.narrow.data(),
                      o.new_amax.data());
    else if (kernel == "quantise_rows")
        bench::launch({static_cast<unsigned>(o.rows), row_threads(o.columns), stream}, device::quantise_rows<bf16>,
                      o.columns, o.half.data(), o.narrow.data(), o.row_amax.data());
    else if (kernel == "dequantise")
        bench::launch(grid, device::dequantise_tensor<bf16>, o.count, o.narrow.data(), o.amax.data(),
                      o.half_out.data());
    else
        throw std::invalid_argument("no kernel " + kernel);
}

/// No element of the row is larger, and of so many uniform ones the largest is close to the bound.
void add_amax(RelativeError& error, double amax, Values const& row) {
    error.add(std::max(amax, largest_of(row)), amax);
    error.add(amax > 0.99 * x_scale && amax <= x_scale ? x_scale : 0.0, x_scale);
}

double worst_error(std::string const& kernel, Operands const& o, Scope const& scope) {
    RelativeError error;
    for (std::int64_t const row : sampled(o.rows)) {
        std::int64_t const first = row * o.columns;
        Values const x = host_values<bf16>(scope.seed, first, o.columns, x_scale);
        if (kernel == "cast_fp32_bf16") {
            add_all(error, read_values(o.half_out, first, o.columns), x);  // bf16 of the fp32 input of the same seed
        } else if (kernel == "cast_bf16_fp32") {
            add_all(error, read_values(o.wide, first, o.columns), x);
        } else if (kernel == "amax") {
            add_amax(error, read_values(o.new_amax, 0, 1)[0], x);
        } else if (kernel == "quantise_tensor") {
            add_amax(error, read_values(o.new_amax, 0, 1)[0], x);
            Values got = read_values(o.narrow, first, o.columns);
            for (double& value : got)
                value *= x_scale / 448.0;
            add_all(error, got, through_fp8(x, x_scale));
        } else if (kernel == "quantise_rows") {
            double const largest = largest_of(x);
            Values got = read_values(o.narrow, first, o.columns);
            for (double& value : got)
                value *= largest / 448.0;
            add_all(error, got, through_fp8(x, largest));
            add_all(error, read_values(o.row_amax, row, 1), {largest});
        } else {
            add_all(error, read_values(o.half_out, first, o.columns), through_fp8(x, x_scale));
        }
    }
    return error.largest();
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    auto o = std::make_shared<Operands>();
    o->rows = problem.shape.m;
    o->columns = problem.shape.n;
    o->count = o->rows * o->columns;
    std::string const kernel = problem.kernel;
    o->wide = kernel == "cast_fp32_bf16" ? device_values<float>(o->count, scope.seed, x_scale)
                                         : DeviceArray<float>(kernel == "cast_bf16_fp32" ? o->count : 1);
    o->half = device_values<bf16>(o->count, scope.seed, x_scale);
    o->half_out = DeviceArray<bf16>(o->count);
    o->narrow = DeviceArray<fp8>(o->count);
    o->row_amax = DeviceArray<float>(o->rows);
    o->amax = device_copy(std::vector<float>{x_scale});  // the inputs lie in [-x_scale, x_scale)
    o->new_amax = device_copy(std::vector<float>{0.0f});
    if (kernel == "dequantise") launch("quantise_tensor", *o, work_stream());
    launch(kernel, *o, work_stream());
    return prepared_on_device(worst_error(kernel, *o, scope), kernel == "dequantise" ? bf16_tolerance : 1e-6,
                              [o, kernel](cudaStream_t stream) { launch(kernel, *o, stream); });
}

}  // namespace

extern constinit Bench const cuda_cast{
    .name = "cast",
    .summary = "casts, fp8 quantise (per tensor, per row) and dequantise with amax",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

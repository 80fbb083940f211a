// Elementwise kernels in bf16 over [m, n]. bytes: swiglu_forward 6 m n (x is [m, 2 n]), swiglu_backward 10 m n,
// gelu_forward 4 m n, gelu_backward 6 m n, residual_add 6 m n; rotary over [m, heads, head_dim]: 4 m heads head_dim for
// x and y plus 4 m head_dim for the fp32 tables of cosines and sines.
#include "kernels/cuda/kernels/activation.cuh"

#include <memory>
#include <stdexcept>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using reference::Values;

constexpr float x_scale = 4.0f;

/// Inputs a and b and output y of any of the kernels.
struct Operands {
    std::int64_t rows, columns;
    DeviceArray<bf16> a, b, y;
    DeviceArray<float> cosines, sines;
};

struct Kernel {
    char const* name;
    double bytes_per_element;
    std::int64_t a_width, b_width, y_width;  ///< columns of each, in units of n
    void (*launch)(Operands const&, cudaStream_t);
    /// The row of y from the rows of a and b.
    Values (*row)(Values const& a, Values const& b);
};

template <class Function, class... Arguments>
void elementwise(Function* kernel, std::int64_t packs, cudaStream_t stream, Arguments... arguments) {
    launch({blocks_for(packs), elementwise_threads, stream}, kernel, arguments...);
}

void swiglu_forward(Operands const& o, cudaStream_t stream) {
    elementwise(device::swiglu_forward<bf16>, o.rows * o.columns / 8, stream, o.rows, o.columns,
                static_cast<bf16 const*>(o.a.data()), o.y.data());
}
Values swiglu_forward_row(Values const& a, Values const&) {
    Values y;
    for (std::size_t c = 0; c < a.size() / 2; ++c)
        y.push_back(reference::swiglu(a[c], a[c + a.size() / 2]));
    return y;
}

void swiglu_backward(Operands const& o, cudaStream_t stream) {
    elementwise(device::swiglu_backward<bf16>, o.rows * o.columns / 8, stream, o.rows, o.columns,
                static_cast<bf16 const*>(o.a.data()), static_cast<bf16 const*>(o.b.data()), o.y.data());
}
Values swiglu_backward_row(Values const& a, Values const& b) {
    Values y(a.size());
    for (std::size_t c = 0; c < b.size(); ++c) {
        auto const gradient = reference::swiglu_backward(a[c], a[c + b.size()], b[c]);
        y[c] = gradient.gate;
        y[c + b.size()] = gradient.up;
    }
    return y;
}

void gelu_forward(Operands const& o, cudaStream_t stream) {
    elementwise(device::gelu_forward<bf16>, o.rows * o.columns / 8, stream, o.rows * o.columns,
                static_cast<bf16 const*>(o.a.data()), o.y.data());
}
Values gelu_forward_row(Values const& a, Values const&) {
    Values y;
    for (double const x : a)
        y.push_back(reference::gelu(x));
    return y;
}

void gelu_backward(Operands const& o, cudaStream_t stream) {
    elementwise(device::gelu_backward<bf16>, o.rows * o.columns / 8, stream, o.rows * o.columns,
                static_cast<bf16 const*>(o.a.data()), static_cast<bf16 const*>(o.b.data()), o.y.data());
}
Values gelu_backward_row(Values const& a, Values const& b) {
    Values y;
    for (std::size_t c = 0; c < a.size(); ++c)
        y.push_back(reference::gelu_backward(a[c], b[c]));
    return y;
}

void residual_add(Operands const& o, cudaStream_t stream) {
    elementwise(device::residual_add<bf16>, o.rows * o.columns / 8, stream, o.rows * o.columns,
                static_cast<bf16 const*>(o.a.data()), static_cast<bf16 const*>(o.b.data()), o.y.data());
}
Values residual_add_row(Values const& a, Values const& b) {
    Values y;
    for (std::size_t c = 0; c < a.size(); ++c)
        y.push_back(a[c] + b[c]);
    return y;
}

constexpr Kernel kernels[] = {
    {"swiglu_forward", 6, 2, 0, 1, swiglu_forward, swiglu_forward_row},
    {"swiglu_backward", 10, 2, 1, 2, swiglu_backward, swiglu_backward_row},
    {"gelu_forward", 4, 1, 0, 1, gelu_forward, gelu_forward_row},
    {"gelu_backward", 6, 1, 1, 1, gelu_backward, gelu_backward_row},
    {"residual_add", 6, 1, 1, 1, residual_add, residual_add_row},
};

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& [m, n] : shapes::activations(scope.effort)) {
        for (Kernel const& kernel : kernels)
            all.push_back(
                matrix_problem(kernel.name, "bf16", m, n, kernel.bytes_per_element * static_cast<double>(m * n)));
        constexpr std::int64_t head_dim = 128;
        Problem rotary = matrix_problem("rotary", "bf16", m, n, static_cast<double>(4 * m * n + 4 * m * head_dim));
        rotary.shape.heads = n / head_dim;
        rotary.shape.head_dim = head_dim;
        all.push_back(rotary);
    }
    return fitting(all, scope);
}

Prepared prepare_rotary(Problem const& problem, Scope const& scope) {
    auto operands = std::make_shared<Operands>();
    std::int64_t const tokens = problem.shape.m, heads = problem.shape.heads, head_dim = problem.shape.head_dim;
    std::vector<float> cosines, sines;
    for (std::int64_t token = 0; token < tokens; ++token)
        for (std::int64_t pair = 0; pair < head_dim / 2; ++pair) {
            double const angle = reference::rotary_angle(token, pair, head_dim);
            cosines.push_back(static_cast<float>(std::cos(angle)));
            sines.push_back(static_cast<float>(std::sin(angle)));
        }
    operands->cosines = device_copy(cosines);
    operands->sines = device_copy(sines);
    operands->a = device_values<bf16>(tokens * heads * head_dim, scope.seed);
    operands->y = DeviceArray<bf16>(tokens * heads * head_dim);
    DeviceWork const work = [operands, tokens, heads, head_dim](cudaStream_t stream) {
        launch({blocks_for(tokens * heads * head_dim / 16), elementwise_threads, stream}, device::rotary<bf16>, tokens,
               heads, head_dim, device::Rotation::forward, operands->a.data(), operands->cosines.data(),
               operands->sines.data(), operands->y.data());
    };
    work(work_stream());
    RelativeError error;
    for (std::int64_t const token : sampled(tokens))
        for (std::int64_t const head : sampled(heads)) {
            std::int64_t const first = (token * heads + head) * head_dim;
            Values wanted = host_values<bf16>(scope.seed, first, head_dim);
            reference::rotate(wanted, token);
            add_all(error, read_values(operands->y, first, head_dim), wanted);
        }
    return prepared_on_device(error.largest(), bf16_tolerance, work);
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    if (problem.kernel == "rotary") return prepare_rotary(problem, scope);
    Kernel const* kernel = nullptr;
    for (Kernel const& candidate : kernels)
        if (problem.kernel == candidate.name) kernel = &candidate;
    if (kernel == nullptr) throw std::invalid_argument("no kernel " + problem.kernel);
    auto operands = std::make_shared<Operands>();
    std::int64_t const rows = operands->rows = problem.shape.m, columns = operands->columns = problem.shape.n;
    operands->a = device_values<bf16>(rows * columns * kernel->a_width, scope.seed, x_scale);
    if (kernel->b_width > 0) operands->b = device_values<bf16>(rows * columns * kernel->b_width, scope.seed + 1);
    operands->y = DeviceArray<bf16>(rows * columns * kernel->y_width);
    kernel->launch(*operands, work_stream());
    RelativeError error;
    for (std::int64_t const row : sampled(rows)) {
        std::int64_t const a_width = kernel->a_width * columns, b_width = kernel->b_width * columns;
        Values const wanted = kernel->row(host_values<bf16>(scope.seed, row * a_width, a_width, x_scale),
                                          host_values<bf16>(scope.seed + 1, row * b_width, b_width));
        add_all(error, read_values(operands->y, row * kernel->y_width * columns, kernel->y_width * columns), wanted);
    }
    return prepared_on_device(error.largest(), bf16_tolerance,
                              [operands, kernel](cudaStream_t stream) { kernel->launch(*operands, stream); });
}

}  // namespace

extern constinit Bench const cuda_activation{
    .name = "activation",
    .summary = "SwiGLU, GELU (forward and backward), rotary positions, residual add",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

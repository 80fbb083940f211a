// The memory-bound kernels' own source, run thread by thread on the host and compared with the references.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "kernels/cuda/kernels/activation.cuh"
#include "kernels/cuda/kernels/adamw.cuh"
#include "kernels/cuda/kernels/cast.cuh"
#include "kernels/cuda/kernels/cross_entropy.cuh"
#include "kernels/cuda/kernels/fill.cuh"
#include "kernels/cuda/kernels/norm.cuh"
#include "kernels/cuda/kernels/rows.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/relative_error.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/device_memory.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using device::fp8;
using reference::Norm;
using reference::Values;

constexpr double bf16_step = 1.0 / 128;  // a result rounded to bf16 is within half of it

/// Runs over few threads, so that every loop of a kernel turns more than once.
void launch(unsigned blocks, unsigned threads, std::function<void()> const& kernel) {
    simt::run({blocks, 1, 1}, threads, 0, GENERATE(simt::Order::ascending, simt::Order::descending), kernel);
}

template <bool WithMean>
void check_norm(Norm kind) {
    std::int64_t const rows = 5, columns = 1048;  // not a multiple of 8 * 64
    auto const x = device_array<bf16>(rows * columns, 1, 3.0f), weight = device_array<bf16>(columns, 2),
               bias = device_array<bf16>(columns, 3), dy = device_array<bf16>(rows * columns, 4);
    auto y = unwritten<bf16>(rows * columns), dx = y;
    auto means = unwritten<float>(rows), inverses = means, d_weight = unwritten<float>(columns), d_bias = d_weight;
    launch(rows, 64, [&] {
        device::norm_forward<bf16, WithMean>(columns, x.data(), weight.data(), bias.data(), y.data(), means.data(),
                                             inverses.data());
    });
    unsigned const blocks = 2, threads = 64;
    REQUIRE(columns <= std::int64_t{device::most_norm_packs} * device::width * threads);
    auto partial_weight = unwritten<float>(blocks * columns), partial_bias = partial_weight;
    launch(blocks, threads, [&] {
        device::norm_backward<bf16, WithMean, device::most_norm_packs>(
            rows, columns, x.data(), weight.data(), dy.data(), means.data(), inverses.data(), dx.data(),
            partial_weight.data(), partial_bias.data());
    });
    launch(3, 32, [&] { device::column_sum(blocks, columns, partial_weight.data(), d_weight.data()); });
    launch(3, 32, [&] { device::column_sum(blocks, columns, partial_bias.data(), d_bias.data()); });

    auto const columns_of = static_cast<std::size_t>(columns);
    Values weight_wanted(columns_of, 0.0), bias_wanted(columns_of, 0.0);
    for (std::int64_t r = 0; r < rows; ++r) {
        Values const in = part(doubles(x), r * columns, columns), up = part(doubles(dy), r * columns, columns);
        Values const wanted = reference::norm(kind, in, doubles(weight), doubles(bias));
        CHECK(relative_error(part(doubles(y), r * columns, columns), wanted) < bf16_step);
        Values const dx_wanted = reference::norm_backward(kind, in, doubles(weight), up, weight_wanted, bias_wanted);
        CHECK(relative_error(part(doubles(dx), r * columns, columns), dx_wanted) < bf16_step);
    }
    CHECK(relative_error(d_weight, weight_wanted) < 1e-4);
    if (WithMean) CHECK(relative_error(d_bias, bias_wanted) < 1e-4);
}

}  // namespace

TEST_CASE("norm kernels: RMSNorm and its gradients agree with the reference", "[norm]") {
    check_norm<false>(Norm::rms);
}

TEST_CASE("norm kernels: LayerNorm and its gradients agree with the reference", "[norm]") {
    check_norm<true>(Norm::layer);
}

TEST_CASE("swiglu kernels agree with the reference", "[activation]") {
    std::int64_t const rows = 3, columns = 40;
    auto const x = device_array<bf16>(2 * rows * columns, 1, 4.0f), dy = device_array<bf16>(rows * columns, 2);
    auto y = unwritten<bf16>(rows * columns), dx = unwritten<bf16>(2 * rows * columns);
    launch(2, 4, [&] { device::swiglu_forward(rows, columns, x.data(), y.data()); });
    launch(2, 4, [&] { device::swiglu_backward(rows, columns, x.data(), dy.data(), dx.data()); });
    Values const in = doubles(x), up_in = doubles(dy);
    Values wanted, dx_wanted(in.size());
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 40; ++c) {
            std::size_t const gate = 2 * r * 40 + c, up = gate + 40;
            wanted.push_back(reference::swiglu(in[gate], in[up]));
            auto const d = reference::swiglu_backward(in[gate], in[up], up_in[r * 40 + c]);
            dx_wanted[gate] = d.gate;
            dx_wanted[up] = d.up;
        }
    CHECK(relative_error(doubles(y), wanted) < bf16_step);
    CHECK(relative_error(doubles(dx), dx_wanted) < bf16_step);
}

TEST_CASE("gelu and residual kernels agree with the reference", "[activation]") {
    std::int64_t const count = 136;
    auto const x = device_array<bf16>(count, 1, 4.0f), dy = device_array<bf16>(count, 2);
    auto y = unwritten<bf16>(count), dx = y, sum = y;
    launch(2, 4, [&] { device::gelu_forward(count, x.data(), y.data()); });
    launch(2, 4, [&] { device::gelu_backward(count, x.data(), dy.data(), dx.data()); });
    launch(2, 4, [&] { device::residual_add(count, x.data(), dy.data(), sum.data()); });
    Values wanted, dx_wanted, sum_wanted;
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const in = doubles(x)[i], up = doubles(dy)[i];
        wanted.push_back(reference::gelu(in));
        dx_wanted.push_back(reference::gelu_backward(in, up));
        sum_wanted.push_back(in + up);
    }
    CHECK(relative_error(doubles(y), wanted) < bf16_step);
    CHECK(relative_error(doubles(dx), dx_wanted) < bf16_step);
    CHECK(relative_error(doubles(sum), sum_wanted) < bf16_step);
}

TEST_CASE("rotary kernel: forward agrees with the reference, and backward undoes it", "[activation]") {
    std::int64_t const tokens = 5, heads = 2, head_dim = 64;
    auto const x = device_array<float>(tokens * heads * head_dim, 1);
    std::vector<float> cosines, sines;
    for (std::int64_t token = 0; token < tokens; ++token)
        for (std::int64_t pair = 0; pair < head_dim / 2; ++pair) {
            double const angle = reference::rotary_angle(token, pair, head_dim);
            cosines.push_back(static_cast<float>(std::cos(angle)));
            sines.push_back(static_cast<float>(std::sin(angle)));
        }
    auto y = unwritten<float>(tokens * heads * head_dim), back = y;
    launch(3, 4, [&] {
        device::rotary(tokens, heads, head_dim, device::Rotation::forward, x.data(), cosines.data(), sines.data(),
                       y.data());
    });
    launch(3, 4, [&] {
        device::rotary(tokens, heads, head_dim, device::Rotation::backward, y.data(), cosines.data(), sines.data(),
                       back.data());
    });
    for (std::int64_t token = 0; token < tokens; ++token)
        for (std::int64_t head = 0; head < heads; ++head) {
            Values wanted = part(doubles(x), (token * heads + head) * head_dim, head_dim);
            reference::rotate(wanted, token);
            CHECK(relative_error(part(doubles(y), (token * heads + head) * head_dim, head_dim), wanted) < 1e-5);
        }
    CHECK(relative_error(back, doubles(x)) < 1e-5);
}

TEST_CASE("cross-entropy kernels agree with the reference", "[loss]") {
    std::int64_t const rows = 3, columns = 1000;
    auto const x = device_array<bf16>(rows * columns, 1, 20.0f);
    std::vector<std::int32_t> const target{0, 999, 500};
    auto loss = unwritten<float>(rows), lse = loss;
    auto dx = unwritten<bf16>(rows * columns);
    launch(rows, 32, [&] { device::cross_entropy_forward(columns, x.data(), target.data(), loss.data(), lse.data()); });
    launch(rows, 32,
           [&] { device::cross_entropy_backward(columns, x.data(), target.data(), lse.data(), 0.5f, dx.data()); });
    for (std::int64_t r = 0; r < rows; ++r) {
        Values const row = part(doubles(x), r * columns, columns);
        auto const at = static_cast<std::size_t>(r);
        CHECK(static_cast<double>(loss[at]) == Approx(reference::cross_entropy(row, target[at])).epsilon(1e-5));
        CHECK(relative_error(part(doubles(dx), r * columns, columns),
                             reference::cross_entropy_backward(row, target[at], 0.5)) < bf16_step);
    }
}

TEST_CASE("row kernels: gather, scatter-add and combine move the right rows", "[rows]") {
    std::int64_t const columns = 24;
    auto const table = device_array<bf16>(6 * columns, 1);
    std::vector<std::int32_t> const index{5, 0, 3, 5};
    auto gathered = unwritten<bf16>(4 * columns);
    launch(4, 32, [&] { device::gather_rows(columns, table.data(), index.data(), gathered.data()); });
    std::vector<float> d_table(static_cast<std::size_t>(6 * columns), 0.0f);
    simt::run({4, 1, 1}, 32, 0, simt::Order::ascending,
              [&] { device::scatter_add_rows(columns, gathered.data(), index.data(), d_table.data()); });
    std::vector<std::int32_t> const places{5, 0, 3, 1};
    std::vector<float> const weights{0.25f, 0.75f, 1.0f, -2.0f};
    auto combined = unwritten<bf16>(2 * columns);
    launch(2, 32,
           [&] { device::combine_rows(columns, 2, table.data(), places.data(), weights.data(), combined.data()); });
    Values const in = doubles(table);
    for (std::size_t c = 0; c < 24; ++c) {
        for (std::size_t r = 0; r < 4; ++r)
            CHECK(doubles(gathered)[r * 24 + c] == in[static_cast<std::size_t>(index[r]) * 24 + c]);
        CHECK(static_cast<double>(d_table[5 * 24 + c]) == 2 * in[5 * 24 + c]);
        CHECK(d_table[4 * 24 + c] == 0.0f);
        CHECK(std::abs(doubles(combined)[c] - (0.25 * in[5 * 24 + c] + 0.75 * in[c])) < bf16_step);
        CHECK(std::abs(doubles(combined)[24 + c] - (in[3 * 24 + c] - 2 * in[24 + c])) < 2 * bf16_step);
    }
}

TEMPLATE_TEST_CASE("adamw kernel agrees with the reference for fp32 and bf16 states", "[adamw]", float, bf16) {
    std::int64_t const count = 1000;
    bool const wide = std::is_same_v<TestType, float>;
    auto const gradient = device_array<bf16>(count, 1);
    auto p = device_array<float>(count, 2);
    auto m = device_array<TestType>(count, 3), v = device_array<TestType>(count, 4);
    for (auto& value : v)
        value = device::from_float<TestType>(std::abs(device::to_float(value)));
    Values p_wanted = doubles(p), m_wanted = doubles(m), v_wanted = doubles(v);
    auto copy = unwritten<bf16>(count);
    reference::AdamW const s;
    double const step = static_cast<double>(s.step);
    device::AdamWFactors const factors{1e-3f,
                                       0.9f,
                                       0.95f,
                                       1e-8f,
                                       0.1f,
                                       static_cast<float>(1 / (1 - std::pow(0.9, step))),
                                       static_cast<float>(1 / (1 - std::pow(0.95, step)))};
    simt::run({2, 1, 1}, 32, 0, simt::Order::ascending, [&] {
        device::adamw<TestType, bf16>(factors, count, gradient.data(), p.data(), m.data(), v.data(), copy.data());
    });
    for (std::size_t i = 0; i < p.size(); ++i)
        reference::adamw(s, doubles(gradient)[i], p_wanted[i], m_wanted[i], v_wanted[i]);
    CHECK(relative_error(p, p_wanted) < 1e-6);
    CHECK(relative_error(doubles(m), m_wanted) < (wide ? 1e-5 : bf16_step));
    CHECK(relative_error(doubles(v), v_wanted) < (wide ? 1e-5 : bf16_step));
    CHECK(relative_error(doubles(copy), p_wanted) < bf16_step);
}

TEST_CASE("fp8 kernels: quantising keeps three bits of mantissa and finds the largest magnitude", "[fp8]") {
    std::int64_t const rows = 4, columns = 264;
    auto const x = device_array<bf16>(rows * columns, 1, 3.0f);
    Values const in = doubles(x);
    double const largest =
        std::abs(*std::max_element(in.begin(), in.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
    float amax = 0, next = 0;
    simt::run({2, 1, 1}, 32, 0, simt::Order::ascending,
              [&] { device::largest_magnitude(rows * columns, x.data(), &amax); });
    CHECK(static_cast<double>(amax) == largest);
    std::vector<fp8> y(in.size());
    auto back = unwritten<bf16>(rows * columns);
    simt::run({2, 1, 1}, 32, 0, simt::Order::ascending,
              [&] { device::quantise_tensor(rows * columns, x.data(), &amax, y.data(), &next); });
    launch(2, 32, [&] { device::dequantise_tensor(rows * columns, y.data(), &amax, back.data()); });
    CHECK(next == amax);
    CHECK(relative_error(doubles(back), in) < 1.0 / 16 + bf16_step);
    CHECK(relative_error(doubles(back), in) > 0.03);  // it is not a copy

    auto row_amax = unwritten<float>(rows);
    launch(rows, 32, [&] { device::quantise_rows(columns, x.data(), y.data(), row_amax.data()); });
    for (std::int64_t r = 0; r < rows; ++r) {
        Values const row = part(in, r * columns, columns);
        double row_largest = 0;
        for (double const value : row)
            row_largest = std::max(row_largest, std::abs(value));
        CHECK(static_cast<double>(row_amax[static_cast<std::size_t>(r)]) == row_largest);
        Values got = part(doubles(y), r * columns, columns);
        for (double& value : got)
            value *= row_largest / 448;
        CHECK(relative_error(got, row) < 1.0 / 15);
    }
}

TEST_CASE("cast and fill kernels give the generated values in the target's precision", "[cast]") {
    std::int64_t const count = 72;
    auto x = unwritten<float>(count);
    launch(2, 32, [&] { device::fill_values(count, std::uint64_t{9}, 2.0f, x.data()); });
    auto half = unwritten<bf16>(count);
    launch(2, 4, [&] { device::cast(count, x.data(), half.data()); });
    for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(x[i] == 2.0f * value_at(9, i));
        CHECK(doubles(half)[i] == rounded(bf16_format, static_cast<double>(x[i])));
    }
}

TEST_CASE("emulation: a barrier that only some threads reach is an error, not a hang", "[simt]") {
    CHECK_THROWS_AS(simt::run({1, 1, 1}, 64, 0, simt::Order::ascending,
                              [] {
                                  if (threadIdx.x < 20) return;
                                  if (threadIdx.x < 40) __syncwarp();
                                  if (threadIdx.x >= 40) __syncthreads();
                              }),
                    std::logic_error);
}

TEST_CASE("emulation: a missing block barrier shows in one of the orders, and a present one helps", "[simt]") {
    bool const with_barrier = GENERATE(true, false);
    bool same = true;
    for (simt::Order const order : {simt::Order::ascending, simt::Order::descending}) {
        std::vector<float> shared(64, -1.0f), got(64, -1.0f);
        simt::run({1, 1, 1}, 64, 0, order, [&] {
            unsigned const me = threadIdx.x;
            shared[me] = static_cast<float>(me);
            if (with_barrier) __syncthreads();
            got[me] = shared[63 - me];
        });
        for (std::size_t i = 0; i < 64; ++i)
            same = same && got[i] == static_cast<float>(63 - i);
    }
    CHECK(same == with_barrier);
}

TEST_CASE("emulation: shuffles reach the lane that the mask names, in every warp", "[simt]") {
    std::vector<int> got(96, -1);
    simt::run({1, 1, 1}, 96, 0, simt::Order::descending, [&] {
        int const me = static_cast<int>(threadIdx.x);
        got[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFFu, __shfl_xor_sync(0xFFFFFFFFu, me, 16), 3);
    });
    for (int i = 0; i < 96; ++i)
        CHECK(got[static_cast<std::size_t>(i)] == (i ^ 19));
}

}  // namespace sextant::bench

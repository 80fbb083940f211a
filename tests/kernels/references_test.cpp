// The references are checked by what must hold of them: limits, invariances, and gradients against differences.
#include "kernels/harness/references.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/harness/generated_arrays.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/host/gemm.hpp"
#include "tests/catch.hpp"

namespace sextant::bench::reference {
namespace {

/// Gradient of `loss` by central differences.
Values differences(Values at, std::function<double(Values const&)> const& loss) {
    constexpr double step = 1e-5;
    Values gradient(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
        double const middle = at[i];
        at[i] = middle + step;
        double const above = loss(at);
        at[i] = middle - step;
        gradient[i] = (above - loss(at)) / (2 * step);
        at[i] = middle;
    }
    return gradient;
}

Values values(std::uint64_t seed, std::int64_t count) { return generated(seed, 0, count, "fp32"); }

}  // namespace

TEST_CASE("attention: gradients agree with differences, causal or not", "[reference]") {
    bool const causal = GENERATE(true, false);
    Head const head{.seq_q = 3, .seq_kv = 5, .head_dim = 4, .causal = causal};
    Values const q = values(1, 12), k = values(2, 20), v = values(3, 20), d_out = values(4, 12);
    auto const gradient = attention_backward(head, q, k, v, d_out);
    CHECK(relative_error(gradient.dq, differences(q, [&](Values const& x) {
                             return dot(attention(head, x, k, v).out, d_out);
                         })) < 1e-6);
    CHECK(relative_error(gradient.dk, differences(k, [&](Values const& x) {
                             return dot(attention(head, q, x, v).out, d_out);
                         })) < 1e-6);
    CHECK(relative_error(gradient.dv, differences(v, [&](Values const& x) {
                             return dot(attention(head, q, k, x).out, d_out);
                         })) < 1e-6);
}

TEST_CASE("attention_row_backward, add_key_gradient: rows of the gradients of the whole head", "[reference]") {
    bool const causal = GENERATE(true, false);
    Head const head{.seq_q = 3, .seq_kv = 5, .head_dim = 4, .causal = causal};
    Values const q = values(1, 12), k = values(2, 20), v = values(3, 20), d_out = values(4, 12);
    auto const gradient = attention_backward(head, q, k, v, d_out);
    auto const row = [](Values const& of, std::int64_t i) {
        return Values(of.begin() + 4 * i, of.begin() + 4 * (i + 1));
    };
    for (std::int64_t i = 0; i < 3; ++i)
        CHECK(relative_error(attention_row_backward(head, i, row(q, i), k, v, row(d_out, i)), row(gradient.dq, i)) <
              1e-12);
    auto const [out, lse] = attention(head, q, k, v);
    QueryHead queries{q, d_out, lse, {}};
    for (std::int64_t i = 0; i < 3; ++i)
        queries.delta.push_back(dot(row(out, i), row(d_out, i)));
    for (std::int64_t j = 0; j < 5; ++j) {
        KeyGradient of_key{Values(4, 0.0), Values(4, 0.0)};
        add_key_gradient(head, j, queries, row(k, j), row(v, j), of_key);
        CHECK(relative_error(of_key.dk, row(gradient.dk, j)) < 1e-12);
        CHECK(relative_error(of_key.dv, row(gradient.dv, j)) < 1e-12);
    }
}

TEST_CASE("attention: a causal query is blind to later keys, and the last query sees all", "[reference]") {
    Head const causal{.seq_q = 3, .seq_kv = 5, .head_dim = 4, .causal = true};
    Head const full{.seq_q = 3, .seq_kv = 5, .head_dim = 4, .causal = false};
    Values const q = values(1, 12), k = values(2, 20);
    Values v = values(3, 20);
    Values const before = attention(causal, q, k, v).out, all = attention(full, q, k, v).out;
    for (std::size_t d = 8; d < 12; ++d)
        CHECK(before[d] == all[d]);
    v[19] += 100;  // the last key, which only the last query sees
    Values const after = attention(causal, q, k, v).out;
    for (std::size_t d = 0; d < 8; ++d)
        CHECK(before[d] == after[d]);
    CHECK(before[11] != after[11]);
    CHECK(relative_error(attention_row(causal, 1, {q.begin() + 4, q.begin() + 8}, k, v),
                         Values(after.begin() + 4, after.begin() + 8)) < 1e-12);
}

TEST_CASE("attention: equal keys give the mean of the values and lse = score + log(keys)", "[reference]") {
    Head const head{.seq_q = 1, .seq_kv = 4, .head_dim = 2, .causal = false};
    auto const got = attention(head, {1, 1}, {2, 0, 2, 0, 2, 0, 2, 0}, {1, 10, 2, 20, 3, 30, 4, 40});
    CHECK(got.out[0] == Approx(2.5));
    CHECK(got.out[1] == Approx(25));
    CHECK(got.lse[0] == Approx(2 / std::sqrt(2.0) + std::log(4.0)));
}

TEST_CASE("norm: gradients agree with differences", "[reference]") {
    Norm const kind = GENERATE(Norm::rms, Norm::layer);
    Values const x = values(1, 7), weight = values(2, 7), bias = values(3, 7), dy = values(4, 7);
    Values d_weight(7, 0.0), d_bias(7, 0.0);
    Values const dx = norm_backward(kind, x, weight, dy, d_weight, d_bias);
    CHECK(relative_error(dx, differences(x, [&](Values const& at) { return dot(norm(kind, at, weight, bias), dy); })) <
          1e-6);
    CHECK(relative_error(d_weight, differences(weight, [&](Values const& at) {
                             return dot(norm(kind, x, at, bias), dy);
                         })) < 1e-6);
    if (kind == Norm::layer) CHECK(relative_error(d_bias, dy) < 1e-12);
}

TEST_CASE("norm: LayerNorm ignores a shift of its input, RMSNorm does not", "[reference]") {
    Values const x = values(1, 9), ones(9, 1.0), zeros(9, 0.0);
    Values shifted = x;
    for (double& value : shifted)
        value += 3;
    CHECK(relative_error(norm(Norm::layer, shifted, ones, zeros), norm(Norm::layer, x, ones, zeros)) < 1e-9);
    CHECK(relative_error(norm(Norm::rms, shifted, ones, zeros), norm(Norm::rms, x, ones, zeros)) > 0.1);
}

TEST_CASE("activations: gradients agree with differences, and limits are those of the definition", "[reference]") {
    double const x = GENERATE(-4.0, -0.5, 0.0, 0.3, 2.0, 6.0);
    auto const gradient = swiglu_backward(x, 1.5, 2.0);
    CHECK(gradient.gate ==
          Approx(differences({x}, [](Values const& at) { return 2.0 * swiglu(at[0], 1.5); })[0]).margin(1e-8));
    CHECK(gradient.up ==
          Approx(differences({1.5}, [&](Values const& at) { return 2.0 * swiglu(x, at[0]); })[0]).margin(1e-8));
    CHECK(gelu_backward(x, 2.0) ==
          Approx(differences({x}, [](Values const& at) { return 2.0 * gelu(at[0]); })[0]).margin(1e-8));
    CHECK(gelu(x) == Approx(0.5 * x * (1 + std::erf(x / std::sqrt(2.0)))).margin(1e-3));
}

TEST_CASE("cross_entropy: gradient agrees with differences and sums to zero", "[reference]") {
    Values const logits = values(1, 6);
    Values const gradient = cross_entropy_backward(logits, 2, 3.0);
    CHECK(relative_error(gradient, differences(logits, [](Values const& at) { return 3.0 * cross_entropy(at, 2); })) <
          1e-6);
    CHECK(std::accumulate(gradient.begin(), gradient.end(), 0.0) == Approx(0).margin(1e-12));
    Values large = logits;
    for (double& value : large)
        value += 1e4;  // would overflow without the maximum
    CHECK(cross_entropy(large, 2) == Approx(cross_entropy(logits, 2)));
}

TEST_CASE("rotate: keeps lengths, and positions add", "[reference]") {
    Values head = values(1, 16);
    double const length = dot(head, head);
    Values once = head;
    rotate(once, 7);
    CHECK(dot(once, once) == Approx(length));
    rotate(head, 3);
    rotate(head, 4);
    CHECK(relative_error(head, once) < 1e-12);
}

TEST_CASE("adamw: the first step moves by the learning rate against the gradient's sign", "[reference]") {
    double p = 2, m = 0, v = 0;
    adamw({.weight_decay = 0, .step = 1}, -5.0, p, m, v);
    CHECK(p == Approx(2 + 1e-3));
    double decayed = 2, dm = 0, dv = 0;
    adamw({.step = 1}, 0.0, decayed, dm, dv);
    CHECK(decayed == Approx(2 * (1 - 1e-3 * 0.1)));
}

TEST_CASE("blocked_product: agrees with three plain loops for sizes that no block divides", "[reference]") {
    std::int64_t const m = 70, n = 261, k = 131;
    Values const a = values(1, m * k), b = values(2, k * n);
    Values c(static_cast<std::size_t>(m * n), 99.0), wanted(c.size(), 0.0);
    blocked_product(m, n, k, a.data(), b.data(), c.data());
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t p = 0; p < k; ++p)
                wanted[static_cast<std::size_t>(i * n + j)] +=
                    a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
    CHECK(relative_error(c, wanted) < 1e-12);
}

TEST_CASE("RelativeError: an element near zero is measured against its neighbours, NaN is never small", "[reference]") {
    CHECK(relative_error(Values{100, 1e-9}, Values{100, 0}) < 1e-10);
    CHECK(relative_error(Values{101, 0}, Values{100, 0}) == Approx(0.01));
    CHECK(std::isnan(relative_error(Values{100, std::nan("")}, Values{100, 0})));
    CHECK(std::isinf(relative_error(Values{1, 1}, Values{0, 0})));
    CHECK(relative_error(Values{0, 0}, Values{0, 0}) == 0);
}

}  // namespace sextant::bench::reference

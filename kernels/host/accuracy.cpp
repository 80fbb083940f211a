// What narrow formats cost: a matrix of a known distribution is quantised and compared with itself (quantise), and the
// outputs of matrix products (dot, gemm) and of attention over a cache (attention) with the exact ones. No times. The
// row's max_rel_error is that of elements that neither over- nor underflow (quantise) or of the output; the note has
// the counts, the mean and rms errors, and the signal over the noise in dB.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/host/accuracy_tests.hpp"
#include "kernels/host/catalog.hpp"

namespace sextant::bench {
namespace {

constexpr std::int64_t rows = 256, columns = 1024;            // of the quantised matrix
constexpr std::int64_t dot_m = 32, dot_n = 32, dot_k = 1024;  // of the product

struct Parts {
    std::string test, distribution, scaling;
};
/// "quantise/normal/per_row".
Parts parts_of(std::string const& kernel) {
    auto const first = kernel.find('/'), last = kernel.rfind('/');
    if (first == std::string::npos || first == last) throw BadInput("no accuracy test \"" + kernel + "\"");
    return {kernel.substr(0, first), kernel.substr(first + 1, last - first - 1), kernel.substr(last + 1)};
}

std::string counts_text(std::int64_t overflow, std::int64_t underflow, std::size_t elements, ErrorSum const& errors) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "overflow=%lld; underflow=%lld; elements=%zu; mean_rel_error=%.4g; rms_error=%.4g; sqnr_db=%.4g",
                  static_cast<long long>(overflow), static_cast<long long>(underflow), elements, errors.mean(),
                  errors.rms(), errors.signal_db());
    return text;
}

Prepared prepare_quantise(Parts const& parts, std::string const& dtype, std::uint64_t seed) {
    ElementFormat const format(dtype);
    reference::Values const x = matrix(distribution(parts.distribution), seed, rows, columns);
    Quantised const quantised = quantise(format, scaling_named(parts.scaling), rows, columns, x);
    ErrorSum errors;
    errors.add(quantised.values, x);
    Prepared prepared;
    prepared.max_rel_error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] == 0) continue;
        double const relative = std::abs((quantised.values[i] - x[i]) / x[i]);
        // More is over- or underflow, or a subnormal.
        if (relative <= format.rounding_error()) prepared.max_rel_error = std::max(prepared.max_rel_error, relative);
    }
    prepared.note = counts_text(quantised.overflow, quantised.underflow, x.size(), errors);
    return prepared;
}

Prepared prepare_dot(Parts const& parts, std::string const& dtype, std::uint64_t seed) {
    Distribution const& from = distribution(parts.distribution);
    ElementFormat const format(dtype);
    Scaling const scaling = scaling_named(parts.scaling);
    reference::Values const a = matrix(from, seed, dot_m, dot_k), b = matrix(from, seed + 1, dot_n, dot_k);
    Quantised const qa = quantise(format, scaling, dot_m, dot_k, a), qb = quantise(format, scaling, dot_n, dot_k, b);
    auto const row = [](reference::Values const& values, std::int64_t number) {
        auto const begin = values.begin() + number * dot_k;
        return reference::Values(begin, begin + dot_k);
    };
    RelativeError error;
    ErrorSum sum;
    for (std::int64_t i = 0; i < dot_m; ++i)
        for (std::int64_t j = 0; j < dot_n; ++j) {
            double const exact = reference::dot(row(a, i), row(b, j));
            double const got = reference::dot(row(qa.values, i), row(qb.values, j));
            error.add(got, exact);
            sum.add(got, exact);
        }
    Prepared prepared;
    prepared.max_rel_error = error.largest();
    prepared.note = counts_text(qa.overflow + qb.overflow, qa.underflow + qb.underflow, a.size() + b.size(), sum);
    return prepared;
}

/// Scalings that a format is used with.
std::vector<Scaling> scalings_of(std::string const& dtype) {
    using enum Scaling;
    if (dtype == "bf16" || dtype == "fp16") return {none};  // nobody scales the 16-bit formats by group
    if (dtype == "e2m1") return {per_tensor, per_row, block32_e8m0, block16_e4m3};
    if (dtype == "int8") return {per_tensor, per_row, group128, group128_asymmetric};
    if (dtype == "int4") return {per_tensor, per_row, group128, group128_asymmetric};
    if (dtype == "e4m3") return {none, per_tensor, per_row, block128, tile128, block32_e8m0};
    return {none, per_tensor, per_row, block128};
}

struct Scheme {
    char const* formats;
    std::vector<char const*> scalings;
};
/// Of weights and activations, as engines pair them: activations per token are `per_row`.
std::vector<Scheme> gemm_schemes() {
    return {
        {"bf16+bf16", {"none+none"}},
        {"fp16+fp16", {"none+none"}},
        {"e4m3+e4m3",
         {"per_tensor+per_tensor", "per_tensor+per_row", "per_row+per_row", "tile128+block128",
          "block32_e8m0+block32_e8m0"}},
        {"e5m2+e5m2", {"per_tensor+per_tensor", "per_row+per_row"}},
        {"int8+int8", {"per_tensor+per_tensor", "per_row+per_row"}},
        {"int8+bf16", {"per_row+none", "group128+none"}},
        {"int4+bf16", {"per_row+none", "group128+none", "group128_asymmetric+none"}},
        {"int4+int8", {"group128+per_row"}},
        {"e2m1+e2m1", {"block16_e4m3+block16_e4m3", "block32_e8m0+block32_e8m0"}},
        {"e2m1+bf16", {"block16_e4m3+none", "block32_e8m0+none"}},
    };
}
std::vector<Scheme> cache_schemes() {
    return {
        {"bf16", {"none"}},
        {"e4m3", {"none", "per_tensor", "per_head", "block128"}},
        {"e5m2", {"none"}},
        {"int8", {"per_tensor", "per_head", "block128"}},
        {"int4", {"per_head", "block128", "group128_asymmetric"}},
    };
}

Problem problem_of(std::string const& kernel, char const* dtype, std::int64_t m, std::int64_t n) {
    Problem problem;
    problem.kernel = kernel;
    problem.dtype = dtype;
    problem.shape.m = m;
    problem.shape.n = n;
    problem.expected_s = 1e-3;
    return problem;
}

void add_plain(Scope const& scope, std::vector<Problem>& all) {
    for (std::string const test : {"quantise", "dot"})
        for (Distribution const& from : all_distributions())
            for (char const* dtype : {"e4m3", "e5m2", "bf16", "fp16", "int8", "int4", "e2m1"})
                for (Scaling const scaling : scalings_of(dtype)) {
                    if (scope.effort == Effort::quick && !from.quick) continue;
                    std::string const kernel = test + "/" + from.name + "/" + name_of(scaling);
                    bool const dot = test == "dot";
                    all.push_back(problem_of(kernel, dtype, dot ? dot_m : rows, dot ? dot_n : columns));
                    if (dot) all.back().shape.k = dot_k;
                }
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    add_plain(scope, all);
    for (std::string const from : {"normal+normal", "normal+outlier_channels", "t5+normal", "t5+outlier_channels"}) {
        if (scope.effort == Effort::quick && from != "normal+outlier_channels") continue;
        for (Scheme const& scheme : gemm_schemes())
            for (char const* scaling : scheme.scalings) {
                all.push_back(problem_of("gemm/" + from + "/" + scaling, scheme.formats, gemm_tokens, gemm_outputs));
                all.back().shape.k = gemm_inputs;
            }
    }
    for (std::string const from : {"normal", "offset_channels"})
        for (Scheme const& scheme : cache_schemes())
            for (char const* scaling : scheme.scalings) {
                all.push_back(
                    problem_of("attention/" + from + "/" + scaling, scheme.formats, Shape::unset, Shape::unset));
                Shape& shape = all.back().shape;
                shape.seq_q = cache_queries;
                shape.seq_kv = cache_tokens;
                shape.heads = shape.kv_heads = cache_heads;
                shape.head_dim = cache_head_dim;
            }
    return all;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    Parts const parts = parts_of(problem.kernel);
    Prepared prepared = parts.test == "quantise" ? prepare_quantise(parts, problem.dtype, scope.seed)
                        : parts.test == "dot"    ? prepare_dot(parts, problem.dtype, scope.seed)
                        : parts.test == "gemm"
                            ? prepare_gemm(parts.distribution, parts.scaling, problem.dtype, scope.seed)
                            : prepare_attention(parts.distribution, parts.scaling, problem.dtype, scope.seed);
    prepared.measure = [](Variant, StopRule const&) { return Timing{}; };
    return prepared;
}

}  // namespace

extern constinit Bench const accuracy{
    .name = "accuracy",
    .summary = "what narrow formats cost: over- and underflow, error by format and scaling (computed on the host)",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench

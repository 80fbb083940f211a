// What narrow formats cost: a matrix of a known distribution is quantised and compared with itself, and a product of
// two such matrices with the exact product. No times. The row's max_rel_error is that of elements that neither over-
// nor underflow (quantise) or of the product (dot); the note has the counts and the mean errors.
#include <cmath>
#include <cstdio>
#include <iterator>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/references.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/quantisation.hpp"

namespace sextant::bench {
namespace {

/// Two uniform numbers give one of the normal distribution. Source: Box and Muller, Ann. Math. Statist. 29(2), 1958.
double normal_at(std::uint64_t seed, std::uint64_t index) {
    double const u = (static_cast<double>(mixed(seed, 2 * index) >> 11) + 1) * 0x1p-53;
    double const angle = static_cast<double>(mixed(seed, 2 * index + 1) >> 11) * 0x1p-53 * 2 * std::acos(-1.0);
    return std::sqrt(-2 * std::log(u)) * std::cos(angle);
}

struct Distribution {
    char const* name;
    double (*value)(std::uint64_t seed, std::uint64_t index);
};

/// Stand-ins (assumed) for weights and activations, gradients, activations with outlier channels, and a quantity that
/// spans many decades.
constexpr Distribution distributions[] = {
    {"normal", [](std::uint64_t seed, std::uint64_t i) { return normal_at(seed, i); }},
    {"normal_1e-5", [](std::uint64_t seed, std::uint64_t i) { return 1e-5 * normal_at(seed, i); }},
    {"outliers", [](std::uint64_t seed,
                    std::uint64_t i) { return (mixed(seed + 7, i) % 1000 == 0 ? 300.0 : 1.0) * normal_at(seed, i); }},
    {"lognormal",
     [](std::uint64_t seed, std::uint64_t i) {
         return std::copysign(std::exp(4 * normal_at(seed, i)), static_cast<double>(value_at(seed + 7, i)));
     }},
};

constexpr std::int64_t rows = 256, columns = 1024;            // of the quantised matrix
constexpr std::int64_t dot_m = 32, dot_n = 32, dot_k = 1024;  // of the product

Distribution const& distribution(std::string const& name) {
    for (Distribution const& candidate : distributions)
        if (name == candidate.name) return candidate;
    throw BadInput("no distribution \"" + name + "\"");
}

reference::Values matrix(Distribution const& from, std::uint64_t seed, std::int64_t count) {
    reference::Values x(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = from.value(seed, i);
    return x;
}

struct Parts {
    std::string test, distribution, scaling;
};
/// "quantise/normal/per_row".
Parts parts_of(std::string const& kernel) {
    auto const first = kernel.find('/'), last = kernel.rfind('/');
    if (first == std::string::npos || first == last) throw BadInput("no accuracy test \"" + kernel + "\"");
    return {kernel.substr(0, first), kernel.substr(first + 1, last - first - 1), kernel.substr(last + 1)};
}

struct Errors {
    double worst = 0;  ///< of elements that neither over- nor underflow
    double mean = 0;   ///< of |relative error| of all elements
    double rms = 0;    ///< root of sum(error^2) / sum(value^2)
};

std::string counts_text(Quantised const& quantised, Errors const& errors) {
    char text[200];
    std::snprintf(text, sizeof text, "overflow=%lld; underflow=%lld; elements=%zu; mean_rel_error=%.4g; rms_error=%.4g",
                  static_cast<long long>(quantised.overflow), static_cast<long long>(quantised.underflow),
                  quantised.values.size(), errors.mean, errors.rms);
    return text;
}

Errors errors_of(Quantised const& quantised, FloatFormat const& format, reference::Values const& x) {
    Errors errors;
    double squares = 0, error_squares = 0;
    double const in_range = std::ldexp(1.0, -format.mantissa_bits);  // more is over- or underflow, or a subnormal
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] == 0) continue;
        double const error = std::abs(quantised.values[i] - x[i]);
        double const relative = error / std::abs(x[i]);
        if (relative <= in_range) errors.worst = std::max(errors.worst, relative);
        errors.mean += relative / static_cast<double>(x.size());
        squares += x[i] * x[i];
        error_squares += error * error;
    }
    errors.rms = std::sqrt(error_squares / squares);
    return errors;
}

Prepared prepare_quantise(Parts const& parts, FloatFormat const& format, std::uint64_t seed) {
    reference::Values const x = matrix(distribution(parts.distribution), seed, rows * columns);
    Quantised const quantised = quantise(format, scaling_named(parts.scaling), rows, columns, x);
    Errors const errors = errors_of(quantised, format, x);
    Prepared prepared;
    prepared.max_rel_error = errors.worst;
    prepared.note = counts_text(quantised, errors);
    return prepared;
}

Prepared prepare_dot(Parts const& parts, FloatFormat const& format, std::uint64_t seed) {
    Distribution const& from = distribution(parts.distribution);
    Scaling const scaling = scaling_named(parts.scaling);
    reference::Values const a = matrix(from, seed, dot_m * dot_k), b = matrix(from, seed + 1, dot_n * dot_k);
    Quantised const qa = quantise(format, scaling, dot_m, dot_k, a), qb = quantise(format, scaling, dot_n, dot_k, b);
    auto const row = [](reference::Values const& values, std::int64_t number) {
        auto const begin = values.begin() + number * dot_k;
        return reference::Values(begin, begin + dot_k);
    };
    RelativeError error;
    double squares = 0, error_squares = 0, mean = 0;
    for (std::int64_t i = 0; i < dot_m; ++i)
        for (std::int64_t j = 0; j < dot_n; ++j) {
            double const exact = reference::dot(row(a, i), row(b, j));
            double const got = reference::dot(row(qa.values, i), row(qb.values, j));
            error.add(got, exact);
            squares += exact * exact;
            error_squares += (got - exact) * (got - exact);
            mean += std::abs(got - exact) / std::abs(exact) / static_cast<double>(dot_m * dot_n);
        }
    Quantised both = qa;
    both.overflow += qb.overflow;
    both.underflow += qb.underflow;
    both.values.insert(both.values.end(), qb.values.begin(), qb.values.end());
    Prepared prepared;
    prepared.max_rel_error = error.largest();
    prepared.note = counts_text(both, {.worst = 0, .mean = mean, .rms = std::sqrt(error_squares / squares)});
    return prepared;
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (char const* test : {"quantise", "dot"})
        for (Distribution const& from : distributions)
            for (char const* dtype : {"e4m3", "e5m2", "bf16", "fp16"})
                for (Scaling const scaling :
                     {Scaling::none, Scaling::per_tensor, Scaling::per_row, Scaling::block128}) {
                    bool const narrow = dtype[0] == 'e';
                    if (!narrow && scaling != Scaling::none) continue;  // nobody scales the 16-bit formats by group
                    if (scope.effort == Effort::quick && std::string(from.name) == "lognormal") continue;
                    Problem problem;
                    problem.kernel = std::string(test) + "/" + from.name + "/" + name_of(scaling);
                    problem.dtype = dtype;
                    bool const dot = test[0] == 'd';
                    problem.shape.m = dot ? dot_m : rows;
                    problem.shape.n = dot ? dot_n : columns;
                    if (dot) problem.shape.k = dot_k;
                    problem.expected_s = 1e-3;
                    all.push_back(std::move(problem));
                }
    return all;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    Parts const parts = parts_of(problem.kernel);
    FloatFormat const& format = float_format(problem.dtype);
    Prepared prepared =
        parts.test == "quantise" ? prepare_quantise(parts, format, scope.seed) : prepare_dot(parts, format, scope.seed);
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

// What quantised operands do to the outputs of a matrix product and of attention.
#include <cmath>
#include <cstdio>
#include <limits>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/host/accuracy_tests.hpp"

namespace sextant::bench {
namespace {

constexpr double exact_db = 999;

reference::Values part(reference::Values const& x, std::int64_t begin, std::int64_t count) {
    return {x.begin() + begin, x.begin() + begin + count};
}

/// [rows, 128] of one head of a [rows, heads x 128] cache.
reference::Values head_of(reference::Values const& x, std::int64_t head) {
    reference::Values out;
    out.reserve(static_cast<std::size_t>(cache_tokens * cache_head_dim));
    for (std::int64_t t = 0; t < cache_tokens; ++t) {
        auto const begin = x.begin() + (t * cache_heads + head) * cache_head_dim;
        out.insert(out.end(), begin, begin + cache_head_dim);
    }
    return out;
}

/// Output of one query over keys and values [cache_tokens, 128].
reference::Values attend(reference::Values const& query, reference::Values const& keys,
                         reference::Values const& values) {
    reference::Values logits;
    for (std::int64_t t = 0; t < cache_tokens; ++t)
        logits.push_back(reference::dot(query, part(keys, t * cache_head_dim, cache_head_dim)) /
                         std::sqrt(static_cast<double>(cache_head_dim)));
    reference::Values const weights = reference::softmax(logits);
    reference::Values out(static_cast<std::size_t>(cache_head_dim));
    for (std::int64_t t = 0; t < cache_tokens; ++t)
        for (std::int64_t d = 0; d < cache_head_dim; ++d)
            out[static_cast<std::size_t>(d)] +=
                weights[static_cast<std::size_t>(t)] * values[static_cast<std::size_t>(t * cache_head_dim + d)];
    return out;
}

/// Values whose heads differ in size by a factor of two each (assumed).
reference::Values cached_values(std::uint64_t seed) {
    reference::Values x = matrix(distribution("normal"), seed, cache_tokens, cache_heads * cache_head_dim);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = std::ldexp(x[i], -static_cast<int>(i / cache_head_dim % cache_heads));
    return x;
}

ErrorSum error_between(reference::Values const& got, reference::Values const& wanted) {
    ErrorSum sum;
    sum.add(got, wanted);
    return sum;
}

}  // namespace

void ErrorSum::add(double got, double wanted) {
    double const error = got - wanted;
    squares += wanted * wanted;
    error_squares += error * error;
    if (wanted != 0) relative += std::abs(error / wanted);
    ++count;
}

void ErrorSum::add(reference::Values const& got, reference::Values const& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
        add(got.at(i), wanted[i]);
}

double ErrorSum::rms() const { return squares > 0 ? std::sqrt(error_squares / squares) : 0; }
double ErrorSum::mean() const { return count > 0 ? relative / static_cast<double>(count) : 0; }
double ErrorSum::signal_db() const { return rms() > 0 ? -20 * std::log10(rms()) : exact_db; }

Pair pair_of(std::string const& text) {
    auto const plus = text.find('+');
    if (plus == std::string::npos) throw BadInput("\"" + text + "\" has no \"+\" (WEIGHTS+ACTIVATIONS)");
    return {text.substr(0, plus), text.substr(plus + 1)};
}

Prepared prepare_gemm(std::string const& distributions, std::string const& scalings, std::string const& formats,
                      std::uint64_t seed) {
    Pair const from = pair_of(distributions), scaling = pair_of(scalings), format = pair_of(formats);
    constexpr std::int64_t k = gemm_inputs;
    reference::Values const w = matrix(distribution(from.first), seed, gemm_outputs, k);
    reference::Values const x = matrix(distribution(from.second), seed + 1, gemm_tokens, k);
    Quantised const qw = quantise(ElementFormat(format.first), scaling_named(scaling.first), gemm_outputs, k, w);
    Quantised const qx = quantise(ElementFormat(format.second), scaling_named(scaling.second), gemm_tokens, k, x);
    RelativeError largest;
    ErrorSum output;
    for (std::int64_t i = 0; i < gemm_tokens; ++i) {
        reference::Values const row = part(x, i * k, k), quantised_row = part(qx.values, i * k, k);
        for (std::int64_t j = 0; j < gemm_outputs; ++j) {
            double const exact = reference::dot(row, part(w, j * k, k));
            double const got = reference::dot(quantised_row, part(qw.values, j * k, k));
            largest.add(got, exact);
            output.add(got, exact);
        }
    }
    ErrorSum const weights = error_between(qw.values, w), activations = error_between(qx.values, x);
    char text[400];
    std::snprintf(text, sizeof text,
                  "rms_error=%.4g; sqnr_db=%.4g; weights_rms_error=%.4g; activations_rms_error=%.4g; "
                  "weights_overflow=%lld; weights_underflow=%lld; activations_overflow=%lld; "
                  "activations_underflow=%lld; weights=%zu; activations=%zu",
                  output.rms(), output.signal_db(), weights.rms(), activations.rms(),
                  static_cast<long long>(qw.overflow), static_cast<long long>(qw.underflow),
                  static_cast<long long>(qx.overflow), static_cast<long long>(qx.underflow), w.size(), x.size());
    Prepared prepared;
    prepared.max_rel_error = largest.largest();
    prepared.note = text;
    return prepared;
}

Prepared prepare_attention(std::string const& keys, std::string const& scaling, std::string const& format,
                           std::uint64_t seed) {
    constexpr std::int64_t width = cache_heads * cache_head_dim;
    ElementFormat const element(format);
    reference::Values const k = matrix(distribution(keys), seed, cache_tokens, width), v = cached_values(seed + 1);
    Quantised const qk = quantise(element, scaling_named(scaling), cache_tokens, width, k);
    Quantised const qv = quantise(element, scaling_named(scaling), cache_tokens, width, v);
    RelativeError largest;
    ErrorSum output;
    for (std::int64_t head = 0; head < cache_heads; ++head) {
        reference::Values const wide_k = head_of(k, head), wide_v = head_of(v, head);
        reference::Values const narrow_k = head_of(qk.values, head), narrow_v = head_of(qv.values, head);
        reference::Values const queries =
            matrix(distribution("normal"), seed + 2 + static_cast<std::uint64_t>(head), cache_queries, cache_head_dim);
        for (std::int64_t i = 0; i < cache_queries; ++i) {
            reference::Values const query = part(queries, i * cache_head_dim, cache_head_dim);
            reference::Values const exact = attend(query, wide_k, wide_v), got = attend(query, narrow_k, narrow_v);
            output.add(got, exact);
            for (std::size_t d = 0; d < exact.size(); ++d)
                largest.add(got[d], exact[d]);
        }
    }
    ErrorSum const key_error = error_between(qk.values, k), value_error = error_between(qv.values, v);
    char text[300];
    std::snprintf(text, sizeof text,
                  "rms_error=%.4g; sqnr_db=%.4g; keys_rms_error=%.4g; values_rms_error=%.4g; overflow=%lld; "
                  "underflow=%lld; elements=%zu",
                  output.rms(), output.signal_db(), key_error.rms(), value_error.rms(),
                  static_cast<long long>(qk.overflow + qv.overflow),
                  static_cast<long long>(qk.underflow + qv.underflow), k.size() + v.size());
    Prepared prepared;
    prepared.max_rel_error = largest.largest();
    prepared.note = text;
    return prepared;
}

}  // namespace sextant::bench

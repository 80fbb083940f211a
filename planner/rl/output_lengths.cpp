#include "planner/rl/output_lengths.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/random_stream.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace sextant {
namespace {

constexpr std::array kinds{LengthKind::fixed, LengthKind::uniform, LengthKind::lognormal};

/// Keeps the stream apart from those of other draws with the same seed.
constexpr std::uint64_t purpose = 0x726c;

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// The x with `normal_below(x)` = p, by halving: 200 of these are cheap, and exact to the last digits.
double normal_quantile(double p) {
    double low = -40;
    double high = 40;
    for (int step = 0; step < 100 && high - low > 1e-14; ++step) {
        double const middle = (low + high) / 2;
        (normal_below(middle) < p ? low : high) = middle;
    }
    return (low + high) / 2;
}

/// A lognormal distribution cut at `maximum`: ln X is normal with mean `mu` and deviation `sigma`.
struct CutLognormal {
    double mu = 0;
    double sigma = 0;
    double maximum = 0;

    [[nodiscard]] double quantile(double p) const {
        return std::min(maximum, std::exp(mu + sigma * normal_quantile(p)));
    }
    /// E[min(X, maximum); X in the lowest share p].
    [[nodiscard]] double mass_below(double p) const {
        if (p <= 0) return 0;
        double const z_cut = (std::log(maximum) - mu) / sigma;
        double const p_cut = normal_below(z_cut);
        double const z = p >= 1 ? 40 : normal_quantile(p);
        double const inside = std::exp(mu + sigma * sigma / 2) * normal_below(std::min(z, z_cut) - sigma);
        return inside + maximum * std::max(0.0, p - p_cut);
    }
};

/// mu such that the mean after the cut is `mean`, which it grows with.
CutLognormal cut_lognormal(ResponseLengths const& d) {
    CutLognormal cut{.mu = 0, .sigma = std::sqrt(std::log1p(d.variation * d.variation)), .maximum = d.maximum};
    double low = std::log(d.mean) - cut.sigma * cut.sigma / 2 - 1;
    double high = std::log(d.maximum) + 10 * cut.sigma + 10;
    for (int step = 0; step < 100; ++step) {
        cut.mu = (low + high) / 2;
        (cut.mass_below(1) < d.mean ? low : high) = cut.mu;
    }
    return cut;
}

bool is_fixed(ResponseLengths const& d) {
    return d.kind == LengthKind::fixed || !(d.variation > 0) || !(d.mean < d.maximum);
}

std::vector<double> slices(ResponseLengths const& d, std::int64_t count) {
    auto const n = static_cast<double>(count);
    std::vector<double> out(static_cast<std::size_t>(count), d.mean);
    if (is_fixed(d)) return out;
    if (d.kind == LengthKind::uniform) {
        double const half = std::sqrt(3.0) * d.variation * d.mean;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = d.mean - half + 2 * half * (static_cast<double>(i) + 0.5) / n;
        return out;
    }
    CutLognormal const cut = cut_lognormal(d);
    double before = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        double const up_to = cut.mass_below(static_cast<double>(i + 1) / n);
        out[i] = (up_to - before) * n;
        before = up_to;
    }
    return out;
}

std::vector<double> draws(ResponseLengths const& d, std::int64_t count, RandomStream& random) {
    std::vector<double> out(static_cast<std::size_t>(count), d.mean);
    if (is_fixed(d)) return out;
    CutLognormal const cut = d.kind == LengthKind::lognormal ? cut_lognormal(d) : CutLognormal{};
    double const half = std::sqrt(3.0) * d.variation * d.mean;
    for (double& length : out)
        length =
            d.kind == LengthKind::uniform ? d.mean + half * (2 * random.uniform() - 1) : cut.quantile(random.uniform());
    return out;
}

}  // namespace

std::string_view name_of(LengthKind kind) {
    constexpr std::array names{"fixed", "uniform", "lognormal"};
    return names.at(static_cast<std::size_t>(kind));
}

LengthKind length_kind_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (LengthKind const kind : kinds) {
        if (name == name_of(kind)) return kind;
        known.emplace_back(name_of(kind));
    }
    throw InputError("{}: unknown distribution '{}' (known: {}{})", where, name, join(known),
                     did_you_mean(name, known));
}

void check_lengths(ResponseLengths const& d) {
    constexpr double most = 1e8;
    if (!(d.mean >= 1 && d.mean <= most))
        throw InputError("output length: a mean of {} tokens (1 to {:g})", d.mean, most);
    if (!(d.maximum >= d.mean && d.maximum <= most))
        throw InputError("--max-output: a maximum of {} tokens below the mean of {} (at least that, up to {:g})",
                         d.maximum, d.mean, most);
    if (!(d.variation >= 0 && d.variation <= 10)) throw InputError("--variation: {} (0 to 10)", d.variation);
    if (d.kind != LengthKind::uniform) return;
    double const half = std::sqrt(3.0) * d.variation * d.mean;
    if (d.mean - half < 1)
        throw InputError("--variation: uniform with a variation of {} reaches below one token (at most 0.57)",
                         d.variation);
    if (d.mean + half > d.maximum)
        throw InputError("output length: uniform reaches {:.0f} tokens, beyond the maximum of {:.0f}", d.mean + half,
                         d.maximum);
}

std::vector<std::int64_t> draw_lengths(ResponseLengths const& lengths, std::int64_t count, Drawing drawing,
                                       std::uint64_t seed) {
    RandomStream random(seed, 0, purpose);
    std::vector<double> const exact =
        drawing == Drawing::strata ? slices(lengths, count) : draws(lengths, count, random);
    std::vector<std::int64_t> out;
    out.reserve(exact.size());
    // What rounding takes from one is given to the next, so that the sum stays.
    double owed = 0;
    for (double const length : exact) {
        std::int64_t const whole = std::max<std::int64_t>(1, std::llround(length + owed));
        owed = std::clamp(owed + length - static_cast<double>(whole), -1.0, 1.0);
        out.push_back(whole);
    }
    for (std::size_t i = out.size(); i > 1; --i)
        std::swap(out[i - 1], out[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    return out;
}

double longest_of(ResponseLengths const& lengths, std::int64_t count) { return slices(lengths, count).back(); }

double longest_of_group(std::vector<std::int64_t> lengths, std::int64_t group) {
    std::sort(lengths.begin(), lengths.end());
    auto const size = static_cast<double>(group);
    // Of the longest of all: C(n - 1, G - 1) / C(n, G) = G / n; one place down, times (i - G) / (i - 1).
    double share = size / static_cast<double>(lengths.size());
    double mean = 0;
    for (std::size_t i = lengths.size(); i >= static_cast<std::size_t>(group) && i > 0; --i) {
        auto const place = static_cast<double>(i);
        mean += share * static_cast<double>(lengths[i - 1]);
        if (i > 1) share *= (place - size) / (place - 1);
    }
    return mean;
}

double variation_to_the_cut(ResponseLengths lengths, std::int64_t responses) {
    constexpr double widest = 3;
    while (longest_of(lengths, responses) < 0.995 * lengths.maximum && lengths.variation < widest)
        lengths.variation += 0.05;
    return lengths.variation;
}

SequenceLengths sequence_lengths(double prompt, std::vector<std::int64_t> const& responses) {
    SequenceLengths out;
    double sum = 0, squares = 0;
    for (std::int64_t const response : responses) {
        double const tokens = prompt + static_cast<double>(response);
        out.longest = std::max(out.longest, tokens);
        sum += tokens;
        squares += tokens * tokens;
    }
    out.attended = sum > 0 ? squares / sum : 0;
    return out;
}

}  // namespace sextant

#include <cmath>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/host/accuracy_tests.hpp"

namespace sextant::bench {
namespace {

/// Two uniform numbers give one of the normal distribution. Source: Box and Muller, Ann. Math. Statist. 29(2), 1958.
double normal_at(std::uint64_t seed, std::uint64_t index) {
    double const u = (static_cast<double>(mixed(seed, 2 * index) >> 11) + 1) * 0x1p-53;
    double const angle = static_cast<double>(mixed(seed, 2 * index + 1) >> 11) * 0x1p-53 * 2 * std::acos(-1.0);
    return std::sqrt(-2 * std::log(u)) * std::cos(angle);
}

/// Student's t with five degrees of freedom: a normal over the root of a mean of five squares.
double t5_at(std::uint64_t seed, std::uint64_t index) {
    double squares = 0;
    for (std::uint64_t i = 0; i < 5; ++i) {
        double const z = normal_at(seed + 1000 + i, index);
        squares += z * z / 5;
    }
    return normal_at(seed, index) / std::sqrt(squares);
}

// A channel in 128 is 20 times as large as the others, or lies 20 deviations from zero (assumed). Source: Dettmers et
// al., LLM.int8(), arXiv:2208.07339, section 1 (20 times); Liu et al., KIVI, arXiv:2402.02750, section 3 (a few
// channels of each head of the keys).
constexpr std::uint64_t outlier_period = 128, outlier_channel = 37;
constexpr double outlier_size = 20;

/// Stand-ins (assumed) for weights and activations, small gradients, activations with single outliers, a quantity that
/// spans many decades, weights with heavy tails, activations with outlier channels, and keys with channels far from
/// zero.
constexpr Distribution distributions[] = {
    {"normal", true, [](std::uint64_t seed, std::uint64_t i, std::uint64_t) { return normal_at(seed, i); }},
    {"normal_1e-5", true, [](std::uint64_t seed, std::uint64_t i, std::uint64_t) { return 1e-5 * normal_at(seed, i); }},
    {"outliers", true,
     [](std::uint64_t seed, std::uint64_t i, std::uint64_t) {
         return (mixed(seed + 7, i) % 1000 == 0 ? 300.0 : 1.0) * normal_at(seed, i);
     }},
    {"lognormal", false,
     [](std::uint64_t seed, std::uint64_t i, std::uint64_t) {
         return std::copysign(std::exp(4 * normal_at(seed, i)), static_cast<double>(value_at(seed + 7, i)));
     }},
    {"t5", false, [](std::uint64_t seed, std::uint64_t i, std::uint64_t) { return t5_at(seed, i); }},
    {"outlier_channels", false,
     [](std::uint64_t seed, std::uint64_t i, std::uint64_t column) {
         return (column % outlier_period == outlier_channel ? outlier_size : 1.0) * normal_at(seed, i);
     }},
    {"offset_channels", false,
     [](std::uint64_t seed, std::uint64_t i, std::uint64_t column) {
         return (column % outlier_period == outlier_channel ? outlier_size : 0.0) + normal_at(seed, i);
     }},
};

}  // namespace

std::span<Distribution const> all_distributions() { return distributions; }

Distribution const& distribution(std::string const& name) {
    for (Distribution const& candidate : distributions)
        if (name == candidate.name) return candidate;
    throw BadInput("no distribution \"" + name + "\"");
}

reference::Values matrix(Distribution const& from, std::uint64_t seed, std::int64_t rows, std::int64_t columns) {
    reference::Values x(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = from.value(seed, i, i % static_cast<std::size_t>(columns));
    return x;
}

}  // namespace sextant::bench

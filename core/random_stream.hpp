#pragma once

#include <cmath>
#include <cstdint>

namespace sextant {

/// A stream of random numbers that is the same on every machine and compiler: SplitMix64 over a key made of seed, trial
/// and purpose. Streams of different keys are independent for our purposes.
/// Source: Steele et al., OOPSLA 2014.
class RandomStream {
public:
    RandomStream(std::uint64_t seed, std::uint64_t trial, std::uint64_t purpose)
        : state_(mixed(mixed(mixed(seed) ^ trial) ^ purpose)) {}

    /// Uniform in (0, 1]: its logarithm is finite.
    double uniform() { return (static_cast<double>(next() >> 11) + 1) * 0x1p-53; }
    /// Uniform in {0, ..., n - 1}. @pre n >= 1. (The bias of n / 2^64 is left in.)
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
    double exponential(double mean) { return -mean * std::log(uniform()); }
    double normal();
    /// Gamma(shape, 1). @pre shape >= 1. Source: Marsaglia and Tsang, ACM TOMS 26(3), 2000.
    double gamma(double shape);

private:
    static std::uint64_t mixed(std::uint64_t z) {
        z += 0x9e3779b97f4a7c15U;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    std::uint64_t next() {
        std::uint64_t const result = mixed(state_);
        state_ += 0x9e3779b97f4a7c15U;
        return result;
    }
    std::uint64_t state_;
};

}  // namespace sextant

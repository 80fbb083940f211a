#pragma once

#include "core/random_stream.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// How many tokens prompts or outputs have.
struct LengthDistribution {
    enum class Kind : std::uint8_t { fixed, uniform, lognormal, exponential };
    Kind kind = Kind::fixed;
    double mean = 1;       ///< of fixed, lognormal and exponential, tokens
    double variation = 0;  ///< of lognormal: standard deviation over mean
    double low = 1;        ///< of uniform, both ends included
    double high = 1;

    /// A length of at least one token, at most `limit`. Exponential lengths are rounded up (a geometric distribution of
    /// that mean), lognormal ones to the nearest.
    [[nodiscard]] std::int32_t draw(RandomStream& random, std::int32_t limit, std::int64_t& clipped) const;
    /// No draw is below this.
    [[nodiscard]] double least() const;
    [[nodiscard]] std::string words() const;     ///< "uniform 100 to 2000"
    [[nodiscard]] std::string spelling() const;  ///< "uniform:100-2000": what `length_distribution_from` reads
};

/// "1024", "8Ki", "uniform:100-2000", "lognormal:MEAN,CV", "exponential:MEAN".
/// @throws InputError: another form, lengths that are not between one token and a hundred million.
LengthDistribution length_distribution_from(std::string_view text, std::string_view where);

}  // namespace sextant

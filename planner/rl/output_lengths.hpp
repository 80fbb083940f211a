#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sextant {

enum class LengthKind : std::uint8_t { fixed, uniform, lognormal };
std::string_view name_of(LengthKind kind);
/// @throws InputError with the known names and the nearest one.
LengthKind length_kind_from(std::string_view name, std::string_view where);

/// How many tokens responses have. A response that would be longer than `maximum` is cut there, and `mean` is that of
/// the responses as they are cut: two distributions with the same mean make the same number of tokens.
struct ResponseLengths {
    LengthKind kind = LengthKind::lognormal;
    double mean = 0;
    double variation = 0;  ///< standard deviation over mean, before the cut
    double maximum = 0;
};

/// @throws InputError: a mean below one token or above the maximum, a negative variation, a uniform distribution that
/// reaches below one token or beyond the maximum.
void check_lengths(ResponseLengths const& lengths);

enum class Drawing : std::uint8_t {
    strata,  ///< the mean of each of n equally likely slices: no chance in it, and the mean is exact
    random,  ///< independent draws
};

/// Lengths of `count` responses in a random order, whole tokens, at least one each. Equal seeds give equal lengths on
/// every machine.
std::vector<std::int64_t> draw_lengths(ResponseLengths const& lengths, std::int64_t count, Drawing drawing,
                                       std::uint64_t seed);

/// Prompts with their responses, packed into microbatches: what their mean does not say.
struct SequenceLengths {
    double longest = 0;   ///< tokens
    double attended = 0;  ///< mean of the squares of the tokens over their mean
};
SequenceLengths sequence_lengths(double prompt, std::vector<std::int64_t> const& responses);

/// The smallest variation, not below that of `lengths`, with which the longest of so many responses reaches the
/// maximum: among hundreds of responses one never stops by itself (assumed).
double variation_to_the_cut(ResponseLengths lengths, std::int64_t responses);

/// Mean of the longest of a group: of so many of these lengths, any as likely as the others. With the lengths x_1 <= ..
/// <= x_n the sum over i of x_i C(i - 1, G - 1) / C(n, G), which is E[X_(G)] without replacement.
/// @pre 1 <= group <= lengths.size()
double longest_of_group(std::vector<std::int64_t> lengths, std::int64_t group);

/// Mean of the longest of `count` responses, by slices: what a synchronous step waits for.
double longest_of(ResponseLengths const& lengths, std::int64_t count);

}  // namespace sextant

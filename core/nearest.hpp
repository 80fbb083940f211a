#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Letters inserted, left out, replaced or swapped with their neighbour that make `b` of `a` (optimal string
/// alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name with the smallest edit distance to `name` (case-insensitive, transpositions count
/// one; words behind a whole known name, "--prompt-tokens", count three), or empty if none is near enough (more than
/// half of the letters differ).
std::string nearest_name(std::string_view name, std::span<std::string const> known);

/// "; did you mean 'x'?" or empty: the tail of an unknown-name message.
std::string did_you_mean(std::string_view name, std::span<std::string const> known);

/// Comma-separated list, e.g. for "(known: a, b, c)".
std::string join(std::span<std::string const> names, std::string_view separator = ", ");

}  // namespace sextant

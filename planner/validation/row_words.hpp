#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace sextant {

/// Where a part of a text stands, and where not: npos.
constexpr std::size_t nowhere = std::string_view::npos;

/// What parts the clauses of a text.
inline constexpr std::string_view clause_ends = ";,.()[]";

/// The word of letters before `at` in its clause ("w/o" is one).
std::string_view word_before(std::string_view text, std::size_t at);

/// Whether what stands at `at` of a text in lower case is denied: one of the `reach` words before it in its clause is
/// "no", "without" and the like ("no CPU offload", "non-FSDP"), or off, false or none stands behind its word
/// ("fsdp=false", "ZeRO off").
bool is_denied(std::string_view text, std::size_t at, std::size_t reach = 1);

/// Where `word` stands in a text in lower case from `from` on with no letter before or after it, and is not denied.
std::size_t stated_at(std::string_view text, std::string_view word, std::size_t from = 0);

/// The parts of a text between punctuation.
std::vector<std::string_view> clauses_of(std::string_view text);

/// The text behind `at` without blanks, hyphens, underscores, '=' and ':' before it: "-3" of "ZeRO-3" is "3".
std::string_view value_behind(std::string_view text, std::size_t at);

}  // namespace sextant

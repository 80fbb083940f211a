#pragma once

#include <string>
#include <string_view>

namespace sextant {

/// ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// ASCII letters, in lower case, and digits; the rest is dropped: what two spellings of a name share.
std::string letters_and_digits(std::string_view text);

/// Without spaces and tabs (or the `blanks` given) at the ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

}  // namespace sextant

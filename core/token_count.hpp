#pragma once

#include <string_view>

namespace sextant {

/// A number of tokens: "8192", "1e5", "8Ki" and "1Mi" for multiples of 1,024 and 1,048,576.
/// @throws InputError naming `where`: no number, or "8k" (and "1M"), which some mean as 8,000 and others as 8,192
/// tokens.
double token_count_from(std::string_view text, std::string_view where);

}  // namespace sextant

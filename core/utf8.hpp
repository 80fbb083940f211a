#pragma once

#include <cstddef>
#include <string_view>

namespace sextant {

/// Length of the UTF-8 sequence that begins at this byte, 0 if none does: no overlong forms, no surrogates (RFC 3629).
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Where the text is no longer UTF-8; npos where all of it is.
std::size_t first_byte_outside_utf8(std::string_view text);

}  // namespace sextant

#pragma once

#include <algorithm>
#include <string_view>

/// Words in texts that people write: ASCII letters make them, all else parts them.
namespace sextant {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline bool has_any(std::string_view text, auto const& parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(text, part); });
}

/// Where `word` stands in `text` from `from` on with no letter before or after it ("Slingshot-11", "100GbE"); npos.
inline std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
    for (auto at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
        std::size_t const end = at + word.size();
        bool const begins = at == 0 || !is_letter(text[at - 1]);
        if (begins && (end == text.size() || !is_letter(text[end]))) return at;
    }
    return std::string_view::npos;
}
inline bool has_word(std::string_view text, std::string_view word) {
    return find_word(text, word) != std::string_view::npos;
}

}  // namespace sextant

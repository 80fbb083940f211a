#include "core/utf8.hpp"

#include <cstdint>

namespace sextant {

std::size_t utf8_length(std::string_view text, std::size_t at) {
    auto const byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : std::uint8_t{0};
    };
    auto const tail = [&](std::size_t i) { return (byte(at + i) & 0xC0) == 0x80; };
    unsigned const first = byte(at);
    unsigned const second = byte(at + 1);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        bool const wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F);
        return tail(1) && tail(2) && !wrong ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        bool const wrong = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
        return tail(1) && tail(2) && tail(3) && !wrong ? 4 : 0;
    }
    return 0;
}

std::size_t first_byte_outside_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t const length = utf8_length(text, at);
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

}  // namespace sextant

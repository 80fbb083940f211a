#include "core/text.hpp"

#include <cctype>

namespace sextant {

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::string letters_and_digits(std::string_view text) {
    std::string out;
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0) out += static_cast<char>(std::tolower(byte));
    }
    return out;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
    auto const first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace sextant

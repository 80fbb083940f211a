#include "planner/exporters/quoting.hpp"

#include "core/error.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace sextant {
namespace {

std::uint32_t code_point(std::string_view text, std::size_t at, std::size_t length) {
    auto const byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
    };
    if (length == 1) return byte(0);
    std::uint32_t point = byte(0) & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i)
        point = point << 6U | (byte(i) & 0x3FU);
    return point;
}

bool printable(std::uint32_t point) { return point >= 0x20 && point < 0x7F; }

/// In double quotes; what is not printable ASCII as \x, \u or \U escapes, which YAML, TOML (without \x) and Python
/// share.
std::string escaped(std::string_view text) {
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size();) {
        std::size_t const length = std::max<std::size_t>(1, utf8_length(text, i));
        std::uint32_t const point = code_point(text, i, length);
        i += length;
        if (point == '"' || point == '\\')
            out += {'\\', static_cast<char>(point)};
        else if (printable(point))
            out += static_cast<char>(point);
        else if (point == '\n')
            out += "\\n";
        else if (point == '\t')
            out += "\\t";
        else
            out += point <= 0xFFFF ? fmt::format("\\u{:04X}", point) : fmt::format("\\U{:08X}", point);
    }
    return out + "\"";
}

}  // namespace

void check_exported_text(std::string_view text, std::string_view where) {
    for (std::size_t i = 0; i < text.size();) {
        std::size_t const length = utf8_length(text, i);
        if (length == 0) throw InputError("{}: not UTF-8 (byte {})", where, i + 1);
        if (text[i] == '\0') throw InputError("{}: contains a NUL byte (which no file name or argument can)", where);
        i += length;
    }
}

std::string shell_quoted(std::string_view text) {
    auto const plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
    };
    // A word that begins with "=" would be expanded by zsh.
    if (!text.empty() && text.front() != '=' && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
    std::string out = "'";
    for (char const c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string yaml_quoted(std::string_view text) { return escaped(text); }
std::string toml_quoted(std::string_view text) { return escaped(text); }
std::string python_quoted(std::string_view text) { return escaped(text); }

std::string comment_text(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (!printable(static_cast<unsigned char>(c))) c = '?';
    return out;
}

std::string operand(std::string_view text) {
    return text.starts_with('-') ? "./" + std::string(text) : std::string(text);
}

std::string dns_label(std::string_view text, std::size_t longest) {
    std::string out;
    for (char const c : text) {
        bool const letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        char const lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (letter || lower != c)
            out += lower;
        else if (!out.empty() && out.back() != '-')
            out += '-';
    }
    if (out.size() > longest) out.resize(longest);
    while (!out.empty() && out.back() == '-')
        out.pop_back();
    if (out.empty() || (out.front() >= '0' && out.front() <= '9')) out = "m" + out;
    return out;
}

std::string comment_lines(std::string_view text, std::size_t width) {
    std::string const clean = comment_text(text);
    std::string out;
    std::size_t begin = 0;
    while (begin < clean.size()) {
        std::size_t end = std::min(clean.size(), begin + width - 2);
        if (end < clean.size()) {
            std::size_t const space = clean.rfind(' ', end);
            if (space != std::string::npos && space > begin) end = space;
        }
        out += "# " + clean.substr(begin, end - begin) + "\n";
        begin = end;
        while (begin < clean.size() && clean[begin] == ' ')
            ++begin;
    }
    return out;
}

}  // namespace sextant

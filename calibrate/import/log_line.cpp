#include "calibrate/import/log_line.hpp"

#include "core/words.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// "2024-05-01", "2024-05-01T12:00:00Z", "12:00:00.123".
bool is_time(std::string_view word) {
    auto const date_or_clock = [](char c) { return is_digit(c) || c == '-' || c == ':' || c == '.' || c == '+'; };
    bool const marked = word.find(':') != std::string_view::npos || std::count(word.begin(), word.end(), '-') == 2;
    return word.size() >= 8 && marked && is_digit(word.front()) && std::all_of(word.begin(), word.end(), [&](char c) {
               return date_or_clock(c) || c == 'T' || c == 'Z' || c == ',';
           });
}

/// Without one thing that a launcher puts before a line: "[1,0]<stdout>:", "[2024-05-01 12:00:00]", a date, a time,
/// "node3 | ", "0: ".
std::string_view without_one_prefix(std::string_view line) {
    if (auto const tag = line.find("<stdout>:"); tag != std::string_view::npos && tag < 20) return line.substr(tag + 9);
    auto const begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos || line[begin] == '#') return line;
    auto const blank = line.find(' ', begin);
    if (blank == std::string_view::npos) return line;
    std::string_view const word = line.substr(begin, blank - begin);
    if (word.starts_with('['))
        if (auto const end = line.find("] "); end != std::string_view::npos && end < 40) return line.substr(end + 2);
    if (is_time(word)) return line.substr(blank + 1);
    if (line.substr(blank).starts_with(" | ")) return line.substr(blank + 3);
    if (word.ends_with(':') && word.size() <= 40 && word.find('#') == std::string_view::npos)
        return line.substr(blank + 1);
    return line;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> out;
    for (std::size_t begin = line.find_first_not_of(" \t"); begin != std::string_view::npos;) {
        std::size_t const end = std::min(line.find_first_of(" \t", begin), line.size());
        out.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(" \t", end);
    }
    return out;
}

std::string_view without_prefixes(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.remove_suffix(1);
    for (int most = 4; most > 0; --most) {
        auto const shorter = without_one_prefix(line);
        if (shorter.size() == line.size()) break;
        line = shorter;
    }
    return line;
}

void drop_trailing_time(std::vector<std::string_view>& words) {
    while (!words.empty() && is_time(words.back()))
        words.pop_back();
}

std::string without_colours(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
            auto const end = text.find_first_not_of("0123456789;", i + 2);
            if (end != std::string_view::npos) i = end;
            continue;
        }
        out += text[i];
    }
    return out;
}

std::optional<double> figure_behind(std::string_view line, char const* words) {
    if (words == nullptr) return std::nullopt;
    auto const at = line.find(words);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = line.substr(at + std::string_view(words).size());
    auto const begin = rest.find_first_not_of("'\"]:= \t");
    if (begin == std::string_view::npos || begin == 0) return std::nullopt;
    rest = rest.substr(begin);
    std::string digits;
    std::size_t used = 0;
    for (; used < rest.size() && (is_digit(rest[used]) || rest[used] == '.' || rest[used] == ','); ++used)
        if (rest[used] != ',') digits += rest[used];
    while (digits.ends_with('.'))
        digits.pop_back();
    double value = 0;
    constexpr double most = 1e15;
    if (!is_number(digits, value) || value > most) return std::nullopt;
    constexpr std::string_view thousands = "KMGT";
    bool const is_short = used < rest.size() && (used + 1 == rest.size() || rest[used + 1] == ' ');
    if (auto const power = is_short ? thousands.find(rest[used]) : std::string_view::npos; power != thousands.npos)
        for (std::size_t i = 0; i <= power; ++i)
            value *= 1000;
    return value;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find_first_of("\r\n", begin), text.size());
        if (end > begin) out.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

}  // namespace sextant

#include "cli/shell/fit_text.hpp"

#include <algorithm>
#include <array>

namespace sextant::cli {
namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view dim = "\x1b[2m";
constexpr std::string_view red = "\x1b[31m";
constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view yellow = "\x1b[33m";
constexpr std::string_view plain = "\x1b[0m";

struct Word {
    std::string_view text;
    std::string_view colour;
};

/// Longer before shorter: the first that matches is taken.
constexpr std::array words{
    Word{"does not fit", red}, Word{"do not fit", red}, Word{"nothing fits", red}, Word{"out of memory", red},
    Word{"error:", red},       Word{"missing", red},    Word{"warning:", yellow},  Word{"tight:", yellow},
    Word{"assumed", yellow},   Word{"fits", green},
};

bool is_rule(std::string_view line) {
    return line.starts_with("-") && line.ends_with("-") && line.size() > 1 &&
           line.find_first_not_of("- ") == std::string_view::npos;
}

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-'; }

std::string painted(std::string_view text, std::string_view colour) {
    return std::string(colour) + std::string(text) + std::string(plain);
}

std::string words_painted(std::string_view line) {
    std::string out;
    for (std::size_t at = 0; at < line.size();) {
        auto const* const found = std::find_if(words.begin(), words.end(), [&](Word const& word) {
            std::size_t const end = at + word.text.size();
            return line.substr(at).starts_with(word.text) && (at == 0 || !letter(line[at - 1])) &&
                   (end == line.size() || !letter(line[end]));
        });
        if (found != words.end()) {
            out += painted(found->text, found->colour);
            at += found->text.size();
        } else {
            out += line[at++];
        }
    }
    return out;
}

}  // namespace

std::string coloured(std::string_view report) {
    std::string out;
    while (!report.empty()) {
        std::size_t const end = std::min(report.find('\n'), report.size());
        std::string_view const line = report.substr(0, end);
        std::string_view const rest = report.substr(std::min(end + 1, report.size()));
        bool const header = !line.empty() && is_rule(rest.substr(0, rest.find('\n')));
        if (header)
            out += painted(line, bold);
        else
            out += is_rule(line) ? painted(line, dim) : words_painted(line);
        if (end < report.size()) out += '\n';
        report = rest;
    }
    return out;
}

std::string in_red(std::string_view text, Terminal const& terminal) {
    return terminal.colour == Colour::used ? painted(text, red) : std::string(text);
}

std::string in_bold(std::string_view text, Terminal const& terminal) {
    return terminal.colour == Colour::used ? painted(text, bold) : std::string(text);
}

}  // namespace sextant::cli

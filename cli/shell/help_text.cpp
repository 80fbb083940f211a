#include "cli/shell/help_text.hpp"

#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <vector>

namespace sextant::cli {
namespace {

/// CLI11 writes "--no-dropout{false}" for a flag's opposite.
std::string without_defaults_of_flags(std::string help) {
    constexpr std::string_view mark = "{false}";
    for (std::size_t at = help.find(mark); at != std::string::npos; at = help.find(mark, at)) {
        bool const ends_line = at + mark.size() < help.size() && help[at + mark.size()] == '\n';
        help.replace(at, mark.size(), ends_line ? 0 : mark.size(), ' ');
    }
    return help;
}

/// "sextant serve": what stands before the name of a subcommand on the command line.
std::string words_before(CLI::App const& app) {
    CLI::App const* const parent = app.get_parent();
    if (parent == nullptr) return "";
    std::string const before = words_before(*parent);
    return before.empty() ? parent->get_name() : before + " " + parent->get_name();
}

/// A command to copy, such as "  zsh:  sextant completion zsh > file".
bool is_command(std::string const& line) { return line.starts_with("  ") && line.find("sextant ") < 12; }

/// A heading is no sentence: short, at the margin, with a colon.
bool is_heading(std::string const& line) {
    constexpr std::size_t longest_heading = 40;
    return !line.empty() && line.size() <= longest_heading && line.front() != ' ' && line.back() == ':';
}

/// A line that goes on with the sentences of the one before: footers are written at a width of their own.
bool goes_on(std::string const& line) {
    return !line.empty() && line.front() != ' ' && !line.starts_with("Usage:") && !is_heading(line);
}

/// A line of the help: commands stay whole (they are copied), options go on under what they say.
std::string fitted_line(std::string const& line, std::size_t columns) {
    if (line.size() <= columns || is_command(line)) return line + "\n";
    std::size_t const text = std::min(line.find_first_not_of(' '), line.size());
    std::size_t const gap = line.find("  ", text);
    std::size_t const value = gap == std::string::npos ? text : line.find_first_not_of(' ', gap);
    return wrapped(line, std::string(value < columns / 2 ? value : text, ' '), columns);
}

std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t const end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

}  // namespace

std::string help_for(CLI::App const& app, Terminal const& terminal) {
    std::string const help = without_defaults_of_flags(app.help(words_before(app)));
    if (terminal.columns == 0 && terminal.colour == Colour::never) return help;
    std::vector<std::string> const lines = lines_of(help);
    std::string out;
    bool examples = false;  // everything behind that heading is to copy
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string line = lines[i];
        if (line.empty() && (i + 1 == lines.size() || lines[i + 1].empty())) continue;
        bool const heading = is_heading(line);
        examples = examples || line == "Examples:";
        if (heading)
            out += in_bold(line, terminal) + "\n";
        else if (terminal.columns == 0 || examples)
            out += line + "\n";
        else {
            while (goes_on(line) && i + 1 < lines.size() && goes_on(lines[i + 1]))
                line += " " + lines[++i];
            out += fitted_line(line, terminal.columns);
        }
    }
    return out;
}

}  // namespace sextant::cli

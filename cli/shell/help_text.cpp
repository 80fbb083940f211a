#include "cli/shell/help_text.hpp"

#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"

#include <CLI/App.hpp>

#include <algorithm>

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

/// A line of the help: examples stay whole (they are copied), options go on under what they say.
std::string fitted_line(std::string const& line, std::size_t columns) {
    if (line.size() <= columns || line.starts_with("  sextant ")) return line + "\n";
    std::size_t const text = std::min(line.find_first_not_of(' '), line.size());
    std::size_t const gap = line.find("  ", text);
    std::size_t const value = gap == std::string::npos ? text : line.find_first_not_of(' ', gap);
    return wrapped(line, std::string(value < columns / 2 ? value : text, ' '), columns);
}

}  // namespace

std::string help_for(CLI::App const& app, Terminal const& terminal) {
    std::string const help = without_defaults_of_flags(app.help(words_before(app)));
    if (terminal.columns == 0 && terminal.colour == Colour::never) return help;
    constexpr std::size_t longest_heading = 40;  // what is longer is a sentence
    std::string out;
    for (std::size_t at = 0; at < help.size();) {
        std::size_t const end = std::min(help.find('\n', at), help.size());
        std::string const line = help.substr(at, end - at);
        bool const heading =
            !line.empty() && line.size() <= longest_heading && line.front() != ' ' && line.back() == ':';
        if (heading)
            out += in_bold(line, terminal) + "\n";
        else
            out += terminal.columns == 0 ? line + "\n" : fitted_line(line, terminal.columns);
        at = end + 1;
    }
    return out;
}

}  // namespace sextant::cli

#include "cli/shell/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <ios>
#include <string_view>

namespace sextant::cli {
namespace {

/// Narrower or wider than this is taken for a mistake.
constexpr std::size_t fewest_columns = 20;
constexpr std::size_t most_columns = 2000;

int columns_slot() {
    static int const slot = std::ios_base::xalloc();
    return slot;
}

int colour_slot() {
    static int const slot = std::ios_base::xalloc();
    return slot;
}

std::string_view environment(char const* name) {
    char const* const value = std::getenv(name);  // read before the first thread starts
    return value == nullptr ? std::string_view() : std::string_view(value);
}

std::size_t plausible(std::size_t columns) {
    return columns >= fewest_columns && columns <= most_columns ? columns : 0;
}

}  // namespace

void set_terminal(std::ios_base& stream, Terminal terminal) {
    stream.iword(columns_slot()) = static_cast<long>(terminal.columns);
    stream.iword(colour_slot()) = terminal.colour == Colour::used ? 1 : 0;
}

Terminal terminal_of(std::ios_base& stream) {
    return {.columns = static_cast<std::size_t>(stream.iword(columns_slot())),
            .colour = stream.iword(colour_slot()) == 1 ? Colour::used : Colour::never};
}

Terminal terminal_behind(int file_descriptor) {
    Terminal terminal;
    std::string_view const asked = environment("COLUMNS");
    std::size_t columns = 0;
    if (std::from_chars(asked.data(), asked.data() + asked.size(), columns).ptr == asked.data() + asked.size())
        terminal.columns = plausible(columns);
    if (isatty(file_descriptor) == 0) return terminal;
    winsize size{};
    if (terminal.columns == 0 && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0)
        terminal.columns = plausible(size.ws_col);
    if (environment("NO_COLOR").empty() && environment("TERM") != "dumb") terminal.colour = Colour::used;
    return terminal;
}

}  // namespace sextant::cli

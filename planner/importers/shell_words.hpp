#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The words of a shell script.
struct ShellScript {
    std::vector<std::vector<std::string>> commands;  ///< each up to the end of its line, a `;`, `&` or `|`
    std::vector<std::string> reassigned;             ///< variables that were put in and had been given several values
    std::map<std::string, std::string, std::less<>> assigned{};  ///< variables and their last values

    /// What the script assigns to a variable of the environment, quoted assignments (`-e "NAME=value"`) included.
    [[nodiscard]] std::optional<std::string> value_of(std::string_view variable) const;
};

/// Words of a shell script or of a line of arguments: quotes, backslashes and comments as a POSIX shell reads them.
/// Variables that the script itself assigned to a plain text before ($NAME, ${NAME}, ${NAME:-text}) are put in, arrays
/// included ("${NAME[@]}"); all others stay as they are written, '$' first. Nothing is run.
/// Source: POSIX.1-2017, Shell Command Language, sections 2.2 and 2.3.
/// @throws InputError with `where` and the line: a quote that does not end.
ShellScript read_script(std::string_view script, std::string_view where);

/// The words of all its commands.
std::vector<std::string> shell_words(std::string_view script, std::string_view where);

}  // namespace sextant

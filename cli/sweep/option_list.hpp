#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// One option of a command, as its help has it.
struct CommandOption {
    std::vector<std::string> names;  ///< with their dashes: "--gpus", "-n"
    bool is_flag = false;            ///< takes no value
    bool takes_many = false;         ///< several values may follow it
    char delimiter = '\0';           ///< that splits one argument into several values, or none
};

/// What may be put to a command (or a subcommand), found out by asking it to describe itself.
struct CommandOptions {
    std::vector<std::string> words;  ///< "serve", "estimate"
    std::vector<CommandOption> options;

    /// The option called `--name` (`-n` of one letter), or null. Underscores stand for dashes too.
    [[nodiscard]] CommandOption const* find(std::string_view name) const;
    /// Long names without their dashes.
    [[nodiscard]] std::vector<std::string> names() const;
};

/// The options of the command that `words` begins with; the words that are not its name are left in it.
/// @throws InputError: no such command or subcommand, one that writes no JSON, or a sweep itself.
CommandOptions options_of_command(std::vector<std::string>& words);

/// @throws InputError for the first "--name" among the arguments that is no option, with the nearest one.
void refuse_unknown_options(CommandOptions const& options, std::vector<std::string> const& arguments);

/// Where the values of an option stand in arguments: "--cluster X", "--cluster=X", "-c X" and "-cX".
struct ArgumentPlace {
    std::size_t index = 0;   ///< of the argument
    std::size_t offset = 0;  ///< of the value in it
};
std::vector<ArgumentPlace> places_of(CommandOption const& option, std::vector<std::string> const& arguments);

}  // namespace sextant::cli

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// What may stand after an option, as far as a shell can help.
enum class ValueKind : std::uint8_t { none, anything, file, listed };

enum class Need : std::uint8_t { optional, required };

/// Whether an option may be given again, or an argument be several.
enum class Times : std::uint8_t { once, repeated };

struct OptionDescription {
    std::vector<std::string> names;  ///< with dashes, the long ones last; of an argument without a name: none
    std::string argument{};          ///< what such an argument is called: "files"
    std::string placeholder;         ///< "NAME|FILE"; empty for a flag
    std::string text;
    std::string group;  ///< "Options", or the heading that the help has it under
    ValueKind kind = ValueKind::none;
    std::vector<std::string> values;  ///< names to choose from; with `listed` nothing else, with `file` files as well
    Need need = Need::optional;
    Times times = Times::once;
};

struct CommandDescription {
    std::string path;  ///< "scaling fit"
    std::string summary;
    std::vector<OptionDescription> options;  ///< with arguments that have no name
    std::vector<CommandDescription> subcommands;
    std::string remarks;                ///< what stands under the options, without the examples
    std::vector<std::string> examples;  ///< one line each, as a shell takes it
};

/// Every command of the program, from the same descriptions that parse and explain it: what completion and the manual
/// page are made of.
std::vector<CommandDescription> describe_commands();

/// The same as JSON (format "commands"), for programs that put the questions.
std::string commands_json(std::vector<CommandDescription> const& commands, std::string_view program_version);

/// The names that an option's help lists: "gpipe, 1f1b or zb-h1 (default: 1f1b)" has three. Empty if it lists none.
std::vector<std::string> listed_values(std::string_view help);

}  // namespace sextant::cli

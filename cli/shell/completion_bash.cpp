#include "cli/shell/completion.hpp"
#include "core/nearest.hpp"
#include "planner/exporters/quoting.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

void add_flattened(std::vector<CommandDescription const*>& out, std::span<CommandDescription const> commands) {
    for (auto const& command : commands) {
        out.push_back(&command);
        add_flattened(out, command.subcommands);
    }
}

/// "--format|-f) ...": what follows an option.
std::string value_cases(CommandDescription const& command) {
    std::string out;
    for (auto const& option : command.options) {
        if (option.names.empty() || option.kind == ValueKind::none) continue;
        std::string action = "COMPREPLY=()";
        std::string const names = join(option.values, " ");
        if (option.kind == ValueKind::file)
            action = names.empty() ? "_sextant_files"
                                   : fmt::format("_sextant_words {}; _sextant_files", shell_quoted(names));
        else if (!names.empty())
            action = fmt::format("_sextant_words {}", shell_quoted(names));
        out += fmt::format("            {}) {}; return ;;\n", join(option.names, "|"), action);
    }
    return out;
}

std::string options_of(CommandDescription const& command) {
    std::vector<std::string> words;
    for (auto const& option : command.options)
        words.insert(words.end(), option.names.begin(), option.names.end());
    return join(words, " ");
}

/// What completes a word that is no option: a subcommand, a listed value, else a file.
std::string arguments_of(CommandDescription const& command) {
    std::vector<std::string> subcommands;
    for (auto const& subcommand : command.subcommands)
        subcommands.push_back(last_word(subcommand.path));
    if (!subcommands.empty()) return fmt::format("_sextant_words {}", shell_quoted(join(subcommands, " ")));
    for (auto const& option : command.options) {
        if (!option.names.empty()) continue;
        if (!option.values.empty()) return fmt::format("_sextant_words {}", shell_quoted(join(option.values, " ")));
    }
    return "_sextant_files";
}

constexpr std::string_view frame = R"(# bash completion of sextant: source <(sextant completion bash)
_sextant_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
_sextant_files() {
    local file
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
}
_sextant() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word i
    COMPREPLY=()
    if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word="${path:+$path }${COMP_WORDS[i]}"
        case $word in
)";

}  // namespace

std::string last_word(std::string const& path) { return path.substr(path.rfind(' ') + 1); }

std::vector<CommandDescription const*> flattened(std::span<CommandDescription const> commands) {
    std::vector<CommandDescription const*> out;
    add_flattened(out, commands);
    return out;
}

std::string bash_completion(std::span<CommandDescription const> commands) {
    std::string out(frame);
    auto const all = flattened(commands);
    for (auto const* command : all)
        out += fmt::format("            {}) path=$word ;;\n", shell_quoted(command->path));
    out += "        esac\n    done\n    case $path in\n";
    std::vector<std::string> names{"--help", "--version", "help"};
    for (auto const& command : commands)
        names.push_back(command.path);
    out += fmt::format("        '') _sextant_words {} ;;\n", shell_quoted(join(names, " ")));
    for (auto const* command : all) {
        out += fmt::format("        {})\n            case $prev in\n{}            esac\n", shell_quoted(command->path),
                           value_cases(*command));
        out += fmt::format("            if [[ $cur == -* ]]; then _sextant_words {}; return; fi\n",
                           shell_quoted(options_of(*command)));
        out += fmt::format("            {} ;;\n", arguments_of(*command));
    }
    return out + "    esac\n}\ncomplete -F _sextant sextant\n";
}

}  // namespace sextant::cli

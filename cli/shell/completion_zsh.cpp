#include "cli/shell/completion.hpp"
#include "core/nearest.hpp"
#include "planner/exporters/quoting.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

/// Colons and brackets mean something in _arguments.
std::string escaped(std::string_view text) {
    std::string out;
    for (char const c : text) {
        if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

std::string function_name(std::string path) {
    for (char& c : path)
        if (c == ' ' || c == '-') c = '_';
    return "_sextant_" + path;
}

/// ":NAME|FILE:(a b c)": what the value is called and what completes it.
std::string value_of(OptionDescription const& option) {
    if (option.kind == ValueKind::none) return "";
    std::string const name = ":" + escaped(option.placeholder) + ":";
    std::string const words = "(" + join(option.values, " ") + ")";
    if (option.kind == ValueKind::file && option.values.empty()) return name + "_files";
    if (option.kind == ValueKind::file) return name + fmt::format("{{compadd {}; _files}}", join(option.values, " "));
    return name + (option.values.empty() ? " " : words);
}

std::string specification(OptionDescription const& option) {
    std::string out;
    std::string const rest = fmt::format("[{}]{}", escaped(option.text), value_of(option));
    for (auto const& name : option.names)
        out += " \\\n        " + shell_quoted(name +
                                              (option.kind == ValueKind::none ? ""
                                               : name.starts_with("--")       ? "="
                                                                              : "+") +
                                              rest);
    if (option.names.empty()) {
        bool const file = option.kind == ValueKind::file || option.values.empty();
        out += " \\\n        " + shell_quoted("*:" + escaped(option.placeholder) + ":" +
                                              (file ? "_files" : "(" + join(option.values, " ") + ")"));
    }
    return out;
}

/// A function that offers commands and then hands over to the one that was chosen.
std::string chooser(std::string const& name, std::string const& options, std::span<CommandDescription const> commands) {
    std::string out = fmt::format(
        "{}() {{\n    local line state\n    _arguments -C{} \\\n        '1: :->command' '*:: :->rest'\n    case $state "
        "in\n        command)\n            local -a commands=(",
        name, options);
    for (auto const& command : commands)
        out += "\n                " + shell_quoted(last_word(command.path) + ":" + escaped(command.summary));
    out += "\n            )\n            _describe command commands ;;\n        rest)\n            case $line[1] in\n";
    for (auto const& command : commands)
        out += fmt::format("                {}) {} ;;\n", last_word(command.path), function_name(command.path));
    return out + "            esac ;;\n    esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(std::span<CommandDescription const> commands) {
    std::string out =
        "#compdef sextant\n# zsh completion of sextant: sextant completion zsh > \"${fpath[1]}/_sextant\"\n\n";
    for (auto const* command : flattened(commands)) {
        std::string options;
        for (auto const& option : command->options)
            if (command->subcommands.empty() || !option.names.empty()) options += specification(option);
        std::string const name = function_name(command->path);
        out += command->subcommands.empty() ? fmt::format("{}() {{\n    _arguments{}\n}}\n\n", name, options)
                                            : chooser(name, options, command->subcommands);
    }
    out += chooser("_sextant", " \\\n        '--help[what there is]' \\\n        '--version[the version]'", commands);
    return out +
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sextant \"$@\"; else compdef _sextant sextant; fi\n";
}

}  // namespace sextant::cli

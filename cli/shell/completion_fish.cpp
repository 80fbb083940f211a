#include "cli/shell/completion.hpp"
#include "core/nearest.hpp"

#include <fmt/format.h>

#include <sstream>

namespace sextant::cli {
namespace {

std::string quoted(std::string_view text) {
    std::string out = "'";
    for (char const c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + "'";
}

/// True where this command, and none of its subcommands, is being typed.
std::string condition(CommandDescription const& command) {
    std::string out;
    std::istringstream path(command.path);
    for (std::string word; path >> word;)
        out += (out.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    std::vector<std::string> inner;
    for (auto const& subcommand : command.subcommands)
        inner.push_back(last_word(subcommand.path));
    if (!inner.empty()) out += "; and not __fish_seen_subcommand_from " + join(inner, " ");
    return out;
}

std::string option_line(std::string const& when, OptionDescription const& option) {
    std::string line = "complete -c sextant -n " + quoted(when);
    for (auto const& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.kind == ValueKind::file)
        line += " -r -F";
    else if (option.kind != ValueKind::none)
        line += " -x";
    else if (option.names.empty())
        return "";
    if (!option.values.empty()) line += " -a " + quoted(join(option.values, " "));
    return line + " -d " + quoted(option.text) + "\n";
}

}  // namespace

std::string fish_completion(std::span<CommandDescription const> commands) {
    std::string out =
        "# fish completion of sextant: sextant completion fish > ~/.config/fish/completions/sextant.fish\n";
    out += "complete -c sextant -n __fish_use_subcommand -f\n";
    for (auto const& command : commands)
        out += fmt::format("complete -c sextant -n __fish_use_subcommand -a {} -d {}\n", command.path,
                           quoted(command.summary));
    for (auto const* command : flattened(commands)) {
        std::string const when = condition(*command);
        for (auto const& subcommand : command->subcommands)
            out += fmt::format("complete -c sextant -n {} -f -a {} -d {}\n", quoted(when), last_word(subcommand.path),
                               quoted(subcommand.summary));
        for (auto const& option : command->options)
            out += option_line(when, option);
    }
    return out;
}

}  // namespace sextant::cli

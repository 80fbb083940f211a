#include "cli/shell/command_tree.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

char const* name_of(ValueKind kind) {
    switch (kind) {
        case ValueKind::none: return "none";
        case ValueKind::anything: return "anything";
        case ValueKind::file: return "file";
        case ValueKind::listed: return "listed";
    }
    return "?";
}

Json option_json(OptionDescription const& option) {
    Json json{{"names", option.names},
              {"value", option.placeholder},
              {"text", option.text},
              {"group", option.group},
              {"kind", name_of(option.kind)},
              {"values", option.values},
              {"required", option.need == Need::required},
              {"repeated", option.times == Times::repeated}};
    if (!option.argument.empty()) json["argument"] = option.argument;
    return json;
}

Json command_json(CommandDescription const& command) {
    Json options = Json::array();
    for (auto const& option : command.options)
        options.push_back(option_json(option));
    Json subcommands = Json::array();
    for (auto const& subcommand : command.subcommands)
        subcommands.push_back(command_json(subcommand));
    return {{"command", command.path},    {"summary", command.summary},   {"options", std::move(options)},
            {"remarks", command.remarks}, {"examples", command.examples}, {"subcommands", std::move(subcommands)}};
}

}  // namespace

std::string commands_json(std::vector<CommandDescription> const& commands, std::string_view program_version) {
    Json all = Json::array();
    for (auto const& command : commands)
        all.push_back(command_json(command));
    Json const json{
        {"format", "commands"}, {"version", 1}, {"program_version", program_version}, {"commands", std::move(all)}};
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli

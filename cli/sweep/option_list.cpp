#include "cli/sweep/option_list.hpp"

#include "cli/shell/words_of_others.hpp"

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <sstream>

namespace sextant::cli {
namespace {

/// Whether the command, or one of its subcommands, has reports that rows can be taken from.
bool writes_json(CLI::App const& app) {
    CLI::Option const* const format = app.get_option_no_throw("--format");
    if (format != nullptr && format->get_description().find("json") != std::string::npos) return true;
    auto const inner = app.get_subcommands([](CLI::App const*) { return true; });
    return std::any_of(inner.begin(), inner.end(), [](CLI::App const* each) { return writes_json(*each); });
}

bool writes_json(CommandEntry const& entry) {
    CLI::App app;
    std::ostringstream nowhere;
    CommandContext context{nowhere, nowhere};
    Action const unused = entry.describe(app, context);
    return writes_json(app);
}

CommandEntry const& command_called(std::string const& name) {
    auto const itself = [](std::string_view command) { return command == "sweep" || command == "merge"; };
    for (auto const* entry : command_catalog()) {
        if (name != entry->name || itself(name)) continue;
        if (writes_json(*entry)) return *entry;
        throw InputError("sweep: '{}' writes no JSON report, so there is nothing to put into rows", name);
    }
    if (itself(name))
        throw InputError(
            "sweep: '{0}' is no command to sweep but one of its own (without sweep before it: 'sextant {0} --help')",
            name);
    std::vector<std::string> known;
    for (auto const* entry : command_catalog())
        if (!itself(entry->name) && writes_json(*entry)) known.emplace_back(entry->name);
    throw InputError("sweep: '{}' is no command to sweep{} (commands: {})", name.substr(0, 60),
                     did_you_mean(name, known), join(known));
}

CLI::App& subcommand_called(CLI::App& app, std::vector<std::string> const& words) {
    std::vector<std::string> known;
    for (CLI::App* const sub : app.get_subcommands([](CLI::App const*) { return true; })) {
        if (words.size() > 1 && sub->get_name() == words[1]) return *sub;
        known.push_back(sub->get_name());
    }
    if (words.size() < 2) throw InputError("sweep: {}: a subcommand is needed ({})", words[0], join(known));
    throw InputError("sweep: {}: unknown subcommand '{}'{} (known: {})", words[0], words[1].substr(0, 60),
                     did_you_mean(words[1], known), join(known));
}

CommandOption described(CLI::Option const& option) {
    CommandOption out;
    for (std::string const& name : option.get_lnames())
        out.names.push_back("--" + name);
    for (std::string const& name : option.get_snames())
        out.names.push_back("-" + name);
    out.is_flag = option.get_items_expected_max() == 0;
    out.takes_many = option.get_items_expected_max() > 1;
    out.delimiter = option.get_delimiter();
    return out;
}

}  // namespace

CommandOption const* CommandOptions::find(std::string_view name) const {
    std::string wanted = (name.size() == 1 ? "-" : "--") + std::string(name);
    std::replace(wanted.begin() + 1, wanted.end(), '_', '-');
    for (CommandOption const& option : options)
        if (std::find(option.names.begin(), option.names.end(), wanted) != option.names.end()) return &option;
    return nullptr;
}

std::vector<std::string> CommandOptions::names() const {
    std::vector<std::string> out;
    for (CommandOption const& option : options)
        for (std::string const& name : option.names)
            if (name.starts_with("--")) out.push_back(name.substr(2));
    return out;
}

CommandOptions options_of_command(std::vector<std::string>& words) {
    if (words.empty()) throw InputError("sweep: no command is named (such as 'sextant sweep estimate --model ...')");
    CommandEntry const& entry = command_called(words[0]);
    CLI::App app;
    std::ostringstream nowhere;
    CommandContext context{nowhere, nowhere};
    Action const unused = entry.describe(app, context);
    CommandOptions out;
    bool const has_subcommands = !app.get_subcommands([](CLI::App const*) { return true; }).empty();
    CLI::App const& chosen = has_subcommands ? subcommand_called(app, words) : app;
    auto const end = words.begin() + (has_subcommands ? 2 : 1);
    out.words.assign(words.begin(), end);
    words.erase(words.begin(), end);
    for (CLI::App const* level = &chosen; level != nullptr;
         level = level->get_fallthrough() ? level->get_parent() : nullptr)
        for (CLI::Option const* const option : level->get_options())
            if (!option->get_lnames().empty()) out.options.push_back(described(*option));
    if (out.find("format") == nullptr)
        throw InputError("sweep: '{}' writes no JSON report, so there is nothing to put into rows",
                         join(out.words, " "));
    return out;
}

void refuse_unknown_options(CommandOptions const& options, std::vector<std::string> const& arguments) {
    for (std::string const& argument : arguments) {
        std::string_view const name = std::string_view(argument).substr(0, argument.find('='));
        if (!name.starts_with("--") || name.size() == 2) continue;
        bool const known = std::any_of(options.options.begin(), options.options.end(), [&](CommandOption const& o) {
            return std::find(o.names.begin(), o.names.end(), name) != o.names.end();
        });
        if (known) continue;
        std::vector<std::string> names = options.names();
        for (std::string& other : names)
            other.insert(0, "--");
        throw InputError("sweep: neither it nor '{0}' has an option '{1}'{2} (see 'sextant {0} --help')",
                         join(options.words, " "), name, did_you_mean_option(name, names));
    }
}

std::vector<ArgumentPlace> places_of(CommandOption const& option, std::vector<std::string> const& arguments) {
    std::vector<ArgumentPlace> places;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        for (std::string const& name : option.names) {
            std::string const& argument = arguments[i];
            if (argument == name) {
                for (std::size_t v = i + 1; v < arguments.size() && (v == i + 1 || option.takes_many); ++v) {
                    if (v > i + 1 && arguments[v].starts_with('-')) break;
                    places.push_back({v, 0});
                }
            } else if (name.starts_with("--") && argument.starts_with(name + "=")) {
                places.push_back({i, name.size() + 1});
            } else if (!name.starts_with("--") && argument.starts_with(name)) {
                places.push_back({i, name.size()});
            }
        }
    return places;
}

}  // namespace sextant::cli

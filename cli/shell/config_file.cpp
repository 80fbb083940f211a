#include "cli/shell/config_file.hpp"

#include "cli/command.hpp"
#include "cli/shell/words_of_others.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"
#include "core/toml.hpp"
#include "planner/exporters/quoting.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <set>

namespace sextant::cli {
namespace {

bool takes_value(CLI::Option const& option) { return option.get_items_expected_max() > 0; }

/// What an argument names: the option and, where it has one, the part after "=".
struct Named {
    CLI::Option* option = nullptr;
    std::string name;
    bool value_inside = false;
};

Named named_by(CLI::App& app, std::string const& argument) {
    if (argument.size() < 2 || argument[0] != '-') return {};
    bool const longer = argument[1] == '-';
    std::size_t const end = longer ? std::min(argument.find('='), argument.size()) : 2;
    Named named{.option = nullptr, .name = argument.substr(0, end), .value_inside = end < argument.size()};
    named.option = app.get_option_no_throw(named.name);
    return named;
}

/// The subcommand that the arguments choose, and where its own arguments begin.
struct Leaf {
    CLI::App* app = nullptr;
    std::string section;  ///< "scaling.fit"
    std::size_t begin = 0;
};

Leaf leaf_of(std::string const& command, CLI::App& app, std::vector<std::string> const& arguments) {
    Leaf leaf{.app = &app, .section = command};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        Named const named = named_by(*leaf.app, arguments[i]);
        if (named.option != nullptr && takes_value(*named.option) && !named.value_inside) ++i;
        if (named.option != nullptr || arguments[i].starts_with('-')) continue;
        auto const inner = leaf.app->get_subcommands([&](CLI::App const* s) { return s->get_name() == arguments[i]; });
        if (inner.empty()) continue;
        leaf = {.app = inner.front(), .section = leaf.section + "." + arguments[i], .begin = i + 1};
    }
    return leaf;
}

struct GivenEntry {
    std::set<CLI::Option const*> options;
    std::vector<std::string> files;
};

GivenEntry entry_given_by(Leaf const& leaf, std::vector<std::string> const& arguments) {
    GivenEntry given;
    for (std::size_t i = leaf.begin; i < arguments.size(); ++i) {
        Named const named = named_by(*leaf.app, arguments[i]);
        if (named.option == nullptr) continue;
        given.options.insert(named.option);
        if (named.name != "--config") continue;
        if (named.value_inside)
            given.files.push_back(arguments[i].substr(named.name.size() + 1));
        else if (i + 1 < arguments.size())
            given.files.push_back(arguments[++i]);
    }
    return given;
}

std::vector<std::string> keys_of(CLI::App const& app) {
    std::vector<std::string> keys;
    for (auto const* option : app.get_options())
        for (auto const& name : option->get_lnames())
            if (name != "help" && name != "config" && name != "write-config") keys.push_back(name);
    return keys;
}

/// A table of the file must be a command: a misspelt one would silently be left out.
void check_section(TomlEntry const& entry, Leaf const& leaf, std::string const& file) {
    std::vector<std::string> known;
    for (auto const* command : command_catalog())
        known.emplace_back(command->name);
    std::string const command = entry.section.substr(0, entry.section.find('.'));
    if (std::find(known.begin(), known.end(), command) == known.end())
        throw InputError("{}:{}: [{}]: no such command{}", file, entry.line, entry.section,
                         did_you_mean(command, known));
    CLI::App const* app = leaf.app;
    while (app->get_parent() != nullptr)
        app = app->get_parent();
    if (command != leaf.section.substr(0, leaf.section.find('.'))) return;
    for (std::size_t begin = command.size(); begin < entry.section.size();) {
        std::size_t const end = std::min(entry.section.find('.', begin + 1), entry.section.size());
        std::string const name = entry.section.substr(begin + 1, end - begin - 1);
        auto const inner = app->get_subcommands([&](CLI::App const* s) { return s->get_name() == name; });
        if (inner.empty())
            throw InputError("{}:{}: [{}]: '{}' is no subcommand of '{}'", file, entry.line, entry.section, name,
                             entry.section.substr(0, begin));
        app = inner.front();
        begin = end;
    }
}

std::vector<std::string> arguments_of(TomlEntry const& entry, CLI::Option const& option, std::string const& where) {
    std::string const name = "--" + entry.key;
    bool const value = takes_value(option);
    if (!value) {
        if (entry.kind != TomlKind::boolean) throw InputError("{}: {} is a flag (true or false)", where, entry.key);
        return {entry.values[0] == "true" ? name : name + "=false"};
    }
    bool const is_word = !entry.values.empty() && own_word(entry.key, entry.values[0]) != entry.values[0];
    if (entry.kind == TomlKind::boolean && !is_word)  // "recompute = false" is
        throw InputError("{}: {} takes a value, not {}", where, entry.key, entry.values[0]);
    if (entry.values.empty())
        throw InputError("{}: {} is an empty list (give it a value, or leave the line out)", where, entry.key);
    if (option.get_expected_max() == 1 && option.get_type_size_max() == 1)
        return {name + "=" + join(entry.values, ",")};
    std::vector<std::string> out;
    for (std::string const& each : entry.values)
        out.push_back(name + "=" + each);
    return out;
}

std::vector<std::string> arguments_from(std::string const& file, Leaf const& leaf, GivenEntry const& given) {
    std::vector<std::string> out;
    std::set<CLI::Option const*> from_file;
    auto const keys = keys_of(*leaf.app);
    for (TomlEntry const& entry : parse_toml(read_text_file(file), file)) {
        if (!entry.section.empty()) check_section(entry, leaf, file);
        if (!entry.section.empty() && entry.section != leaf.section) continue;
        std::string const where = fmt::format("{}:{}", file, entry.line);
        if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
            std::string path = leaf.section;
            std::replace(path.begin(), path.end(), '.', ' ');
            throw InputError("{}: {}: no such option of 'sextant {}'{}", where, entry.key, path,
                             did_you_mean(entry.key, keys));
        }
        CLI::Option const* const option = leaf.app->get_option_no_throw("--" + entry.key);
        if (given.options.contains(option)) continue;
        auto const more = arguments_of(entry, *option, where);
        out.insert(out.end(), more.begin(), more.end());
    }
    return out;
}

std::string value_text(CLI::Option const& option) {
    std::vector<std::string> quoted;
    for (std::string const& value : option.results())
        quoted.push_back(toml_string(value));
    if (!takes_value(option)) return option.results().front() == "false" ? "false" : "true";
    return quoted.size() == 1 ? quoted[0] : "[" + join(quoted) + "]";
}

}  // namespace

void add_config_options(CLI::App& app, ConfigOptions& options) {
    for (auto* subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
        add_config_options(*subcommand, options);
    if (app.get_require_subcommand_min() > 0) return;
    app.add_option("--config", options.read, "take options from this TOML file (gpus = 64); those given here win")
        ->option_text("FILE.toml");
    app.add_option("--write-config", options.write,
                   "write these options, and the others with what they mean, as a file for --config; '-': print it")
        ->option_text("FILE.toml");
}

std::vector<std::string> with_config(std::string const& command, CLI::App& app, std::vector<std::string> arguments) {
    Leaf const leaf = leaf_of(command, app, arguments);
    GivenEntry const given = entry_given_by(leaf, arguments);
    if (given.files.size() != 1 || given.files[0].empty()) return arguments;  // twice or empty: refused in parsing
    auto const more = arguments_from(given.files[0], leaf, given);
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(leaf.begin), more.begin(), more.end());
    return arguments;
}

std::string config_text(std::string_view path, CLI::App const& chosen) {
    std::string section(path);
    std::replace(section.begin(), section.end(), ' ', '.');
    std::string words(path);  // of 'sweep', with the command that is swept, whose options are not among these
    for (std::string const& word : chosen.remaining())
        words += " " + shell_quoted(word);
    std::string out =
        fmt::format("# Options of 'sextant {}': sextant {} --config THIS_FILE\n[{}]\n", path, words, section);
    for (auto const* option : chosen.get_options()) {
        if (option->get_lnames().empty()) continue;
        std::string const name = option->get_lnames().front();
        if (name == "help" || name == "config" || name == "write-config") continue;
        out += "\n" + wrapped("# " + option->get_description(), "#   ");
        if (option->count() > 0)
            out += fmt::format("{} = {}\n", name, value_text(*option));
        else
            out += fmt::format("# {} = {}\n", name, takes_value(*option) ? "\"\"" : "true");
    }
    return out;
}

}  // namespace sextant::cli

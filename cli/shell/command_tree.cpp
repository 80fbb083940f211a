#include "cli/shell/command_tree.hpp"

#include "cli/shell/described_command.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

namespace sextant::cli {
namespace {

constexpr std::string_view blanks = " \n";

bool is_name(std::string_view text) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789+.-";
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos && text.front() != '-' &&
           text.back() != '.' && text.back() != '-' &&
           text.find_first_not_of("0123456789.") != std::string_view::npos && text != "comma-separated";
}

std::string without_parentheses(std::string_view text) {
    std::string out;
    int depth = 0;
    for (char const c : text) {
        depth += c == '(' ? 1 : 0;
        if (depth == 0) out += c;
        depth -= c == ')' && depth > 0 ? 1 : 0;
    }
    return out;
}

/// A list is split at commas and at "or".
std::vector<std::string> items_of(std::string_view text) {
    std::vector<std::string> items;
    std::string rest(text);
    for (std::size_t at = rest.find(" or "); at != std::string::npos; at = rest.find(" or "))
        rest.replace(at, 4, ", ");
    std::istringstream in(rest);
    for (std::string item; std::getline(in, item, ',');) {
        item = trimmed(item, blanks);
        if (item.starts_with("or ")) item = item.substr(3);
        if (!item.empty()) items.push_back(item);
    }
    return items;
}

std::vector<std::string> cluster_names() {
    std::vector<std::string> names;
    for (auto const& cluster : all_clusters())
        names.push_back(cluster.name);
    return names;
}

std::vector<std::string> hardware_names() {
    std::vector<std::string> names = cluster_names();
    for (auto const& accelerator : all_accelerators())
        names.push_back(accelerator.name);
    for (auto const& framework : all_frameworks())
        names.push_back(framework.name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// "fair|ideal" says itself what it takes.
std::vector<std::string> alternatives(std::string placeholder) {
    std::replace(placeholder.begin(), placeholder.end(), '|', ',');
    auto names = items_of(placeholder);
    return names.size() > 1 && std::all_of(names.begin(), names.end(), is_name) ? names : std::vector<std::string>{};
}

/// A number, a time or a column may be described by a list of words, too: those are no names to choose from.
bool takes_name(std::string_view placeholder) {
    constexpr std::array<std::string_view, 6> names{"NAME", "TEXT", "KIND", "MODE", "FORMAT", "CHOICE"};
    return std::find(names.begin(), names.end(), placeholder) != names.end();
}

std::vector<std::string> catalogued(std::string_view path, OptionDescription const& option) {
    std::string_view const name = option.names.empty() ? std::string_view() : std::string_view(option.names.back());
    if (name == "--model" || name == "--critic" || name == "--reward-model") return model_names();
    if (name == "--cluster") return cluster_names();
    if (name == "--engine") return engine_names();
    if (name.empty() && path == "models show") return model_names();
    if (name.empty() && path == "hardware show") return hardware_names();
    return {};
}

void add_values(std::string_view path, OptionDescription& option) {
    std::string_view const what = option.placeholder;
    bool const file = what.find("FILE") != std::string_view::npos || what.find("FOLDER") != std::string_view::npos ||
                      what.find("file") != std::string_view::npos;
    option.kind = file ? ValueKind::file : ValueKind::anything;
    option.values = catalogued(path, option);
    if (!option.values.empty() || file) return;
    option.values = alternatives(option.placeholder);
    if (option.values.empty() && takes_name(what)) option.values = listed_values(option.text);
    if (!option.values.empty()) option.kind = ValueKind::listed;
}

OptionDescription describe_option(std::string_view path, CLI::Option const& option) {
    OptionDescription out{.names = {},
                          .placeholder = option.get_option_text(),
                          .text = option.get_description(),
                          .group = option.get_group(),
                          .kind = ValueKind::none,
                          .values = {},
                          .need = option.get_required() ? Need::required : Need::optional,
                          .times = option.get_items_expected_max() > 1 ? Times::repeated : Times::once};
    for (auto const& name : option.get_snames())
        out.names.push_back("-" + name);
    for (auto const& name : option.get_lnames())
        out.names.push_back("--" + name);
    bool const flag = option.get_items_expected_max() == 0;
    if (flag) out.placeholder.clear();
    if (flag) return out;
    if (out.names.empty()) out.argument = option.get_name(true);
    if (out.placeholder.empty()) out.placeholder = out.argument;
    if (out.placeholder.empty()) out.placeholder = option.get_type_name();
    add_values(path, out);
    return out;
}

/// Commands under "Examples:" of a footer, lines that end in a backslash joined; the rest is remarks.
void split_footer(CommandDescription& command, std::string const& footer) {
    std::istringstream in(footer);
    bool examples = false;
    bool joined = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("Example")) {
            examples = true;
            continue;
        }
        if (!examples) {
            command.remarks += line + "\n";
            continue;
        }
        std::string text(trimmed(line, blanks));
        bool const more = text.ends_with('\\');
        if (more) text = trimmed(std::string_view(text).substr(0, text.size() - 1), blanks);
        if (joined)
            command.examples.back() += " " + text;
        else if (text.starts_with("sextant ") || text.starts_with("mpirun "))
            command.examples.push_back(text);
        joined = more;
    }
    command.remarks = std::string(trimmed(command.remarks, blanks));
}

CommandDescription describe_app(std::string path, CLI::App const& app) {
    CommandDescription out{.path = std::move(path),
                           .summary = app.get_description(),
                           .options = {},
                           .subcommands = {},
                           .remarks = {},
                           .examples = {}};
    for (auto const* option : app.get_options())
        if (!option->get_group().empty()) out.options.push_back(describe_option(out.path, *option));
    for (auto const* subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
        out.subcommands.push_back(describe_app(out.path + " " + subcommand->get_name(), *subcommand));
    split_footer(out, app.get_footer());
    return out;
}

}  // namespace

std::vector<std::string> listed_values(std::string_view help) {
    std::vector<std::string> lines;  // "name - what it is", one a line
    std::istringstream in{std::string(help)};
    for (std::string line; std::getline(in, line);)
        if (auto const dash = line.find(" - ");
            dash != std::string::npos && is_name(trimmed(std::string_view(line).substr(0, dash), blanks)))
            lines.emplace_back(trimmed(std::string_view(line).substr(0, dash), blanks));
    if (lines.size() >= 2) return lines;
    std::string const text = without_parentheses(help);
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find_first_of(":;", begin), text.size());
        std::vector<std::string> names;
        auto const items = items_of(std::string_view(text).substr(begin, end - begin));
        std::copy_if(items.begin(), items.end(), std::back_inserter(names), is_name);
        bool const others = names.size() + 1 < items.size();  // one may be words: "or a file"
        if (names.size() >= 2 && !others && !items.empty() && is_name(items.front())) return names;
        begin = end + 1;
    }
    return {};
}

std::vector<CommandDescription> describe_commands() {
    std::ostringstream nowhere;
    CommandContext context{nowhere, nowhere};
    std::vector<CommandDescription> commands;
    for (auto const* entry : command_catalog()) {
        DescribedCommand const command = describe_command(*entry, context);
        commands.push_back(describe_app(entry->name, *command.app));
    }
    return commands;
}

}  // namespace sextant::cli

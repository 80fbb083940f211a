#include "cli/shell/described_command.hpp"

#include "cli/export/plan_import.hpp"
#include "cli/options/number_text.hpp"
#include "cli/shell/value_spellings.hpp"
#include "cli/shell/words_of_others.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace sextant::cli {
namespace {

std::vector<std::string> subcommand_names(CLI::App const& app) {
    std::vector<std::string> names;
    for (auto const* subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
        names.push_back(subcommand->get_name());
    return names;
}

std::string unexpected_sentence(CLI::App const& app, CLI::App const& chosen) {
    auto const extras = app.remaining(true);
    auto const option = std::find_if(extras.begin(), extras.end(), [](auto const& e) { return e.starts_with('-'); });
    if (option != extras.end()) {
        auto const name = option->substr(0, option->find('='));
        return fmt::format("unknown option '{}'{}", name, did_you_mean_option(name, option_names(chosen)));
    }
    std::string const extra = extras.empty() ? "" : extras.front();
    auto const known = subcommand_names(chosen);
    std::string hint = did_you_mean(extra, known);
    if (hint.empty() && known.size() == 1) hint = fmt::format("; did you mean '{} {}'?", known.front(), extra);
    return fmt::format("unexpected argument '{}'{}", extra, hint);
}

/// Whether an option was given that there is none of: what is missing is then mostly that, misspelt.
bool has_unknown_option(CLI::App const& app, CLI::App const& chosen) {
    auto const extras = app.remaining(true);
    return !chosen.get_allow_extras() &&
           std::any_of(extras.begin(), extras.end(), [](auto const& e) { return e.starts_with('-'); });
}

std::string subcommand_sentence(CLI::App const& app, CLI::App const& chosen) {
    std::vector<std::string> const known = subcommand_names(chosen);
    auto const extras = app.remaining(true);
    if (extras.empty()) return fmt::format("a subcommand is needed ({})", join(known));
    return fmt::format("unknown subcommand '{}'{} (known: {})", extras.front(), did_you_mean(extras.front(), known),
                       join(known));
}

/// What an option takes, by the type of what it is read into: "a whole number (digits alone, such as 512)".
std::string kind_of_number(CLI::App const& app, std::string const& name, std::string const& given) {
    CLI::Option const* option = nullptr;
    for (CLI::App const* level = &app; option == nullptr && level != nullptr; level = level->get_parent())
        option = level->get_option_no_throw(name);
    std::string const type = option == nullptr ? "" : option->get_type_name();
    if (type == "INT" || type == "UINT") return whole_number_words(given, name);
    if (type == "FLOAT") return "a number (digits alone, such as 0.5 or 1e6)";
    return "a number of the kind it takes";
}

/// One sentence for what CLI11 found wrong.
std::string sentence(CLI::App const& app, CLI::ParseError const& error) {
    auto const& chosen = chosen_app(app);
    std::string text = error.what();
    if (dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr) return unexpected_sentence(app, chosen);
    if (dynamic_cast<CLI::RequiredError const*>(&error) != nullptr && text.find("subcommand") != std::string::npos)
        return subcommand_sentence(app, chosen);
    if (dynamic_cast<CLI::RequiredError const*>(&error) != nullptr && has_unknown_option(app, chosen))
        return unexpected_sentence(app, chosen);
    if (dynamic_cast<CLI::RequiredError const*>(&error) != nullptr && text.starts_with("--model"))
        return text + presets_of_import(chosen);
    if (dynamic_cast<CLI::ArgumentMismatch const*>(&error) != nullptr &&
        text.find("At Most 1 required") != std::string::npos)
        return text.substr(0, text.find(':')) + ": given more than once";
    if (dynamic_cast<CLI::ArgumentMismatch const*>(&error) != nullptr && text.ends_with(" missing"))
        return text.substr(0, text.find(':')) + ": a value is missing behind it";
    if (dynamic_cast<CLI::ConversionError const*>(&error) != nullptr) {
        std::string_view constexpr before = "Could not convert: ";
        auto const equals = text.find(" = ");
        if (text.starts_with(before) && equals != std::string::npos) {
            std::string const name = text.substr(before.size(), equals - before.size());
            std::string const given = text.substr(equals + 3);
            return fmt::format("{}: '{}' is not {}", name, given, kind_of_number(chosen, name, given));
        }
    }
    if (auto const line = text.find('\n'); line != std::string::npos) text.resize(line);
    return text;
}

/// An empty value (an unset shell variable, mostly) is refused: taking it for "not given" would ignore what was asked.
void refuse_empty_values(CommandEntry const& entry, CLI::App const& app) {
    for (auto const* option : chosen_app(app).get_options())
        for (auto const& value : option->results())
            if (value.empty())
                throw InputError("{0}: {1}: the value is empty (see 'sextant {0} --help')", chosen_path(entry, app),
                                 option->get_name());
}

/// "--gpus=" would take the next word as its value.
void refuse_bare_equals(CommandEntry const& entry, std::vector<std::string> const& words) {
    for (std::string const& word : words)
        if (word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1)
            throw InputError("{0}: {1}: the value is empty (see 'sextant {0} --help')", entry.name,
                             word.substr(0, word.size() - 1));
}

/// CLI11 cuts a whole number that is too large to the largest there is, which would then be taken or blamed.
void refuse_cut_numbers(CommandEntry const& entry, CLI::App const& app) {
    for (auto const* option : chosen_app(app).get_options()) {
        if (option->get_type_name() != "INT" && option->get_type_name() != "UINT") continue;
        for (std::string const& value : option->results()) {
            std::int64_t number = 0;
            if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc::result_out_of_range)
                throw InputError("{0}: {1}: {2} is out of range (a whole number; see 'sextant {0} --help')",
                                 chosen_path(entry, app), option->get_name(), value.substr(0, 60));
        }
    }
}

/// The last of "--dropout --no-dropout" would win in silence. What a configuration file says is not among the words.
void refuse_contradictions(CommandEntry const& entry, CLI::App const& app, std::vector<std::string> const& words) {
    std::vector<std::string> const names = option_names(chosen_app(app));
    auto const given = [&](std::string const& flag) {
        return is_one_of(names, flag) && std::find(words.begin(), words.end(), flag) != words.end();
    };
    for (std::string const& name : names)
        if (std::string const negative = "--no-" + name.substr(2); given(name) && given(negative))
            throw InputError("{0}: {1} and {2} contradict each other (give one of them; see 'sextant {0} --help')",
                             chosen_path(entry, app), name, negative);
}

/// A file of options may be written before all that a question needs is known.
void require_nothing(CLI::App& app) {
    for (auto* option : app.get_options())
        option->required(false);
    for (auto* subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
        require_nothing(*subcommand);
}

}  // namespace

DescribedCommand describe_command(CommandEntry const& entry, CommandContext& context) {
    DescribedCommand command{.config = std::make_shared<ConfigOptions>(),
                             .app = std::make_unique<CLI::App>(entry.summary, std::string("sextant ") + entry.name),
                             .action = {}};
    command.app->set_help_flag("-h,--help", "this text");
    command.app->get_formatter()->column_width(34);
    command.app->failure_message(CLI::FailureMessage::simple);
    command.action = entry.describe(*command.app, context);
    add_config_options(*command.app, *command.config);
    accept_spellings(*command.app);
    return command;
}

CLI::App const& chosen_app(CLI::App const& app) {
    auto const chosen = app.get_subcommands();
    return chosen.empty() ? app : chosen_app(*chosen.back());
}

std::string chosen_path(CommandEntry const& entry, CLI::App const& app) {
    std::string path = entry.name;
    for (CLI::App const* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().back();
        path += " " + at->get_name();
    }
    return path;
}

std::vector<std::string> option_names(CLI::App const& app) {
    std::vector<std::string> names;
    for (auto const* option : app.get_options())
        for (auto const& name : option->get_lnames())
            names.push_back("--" + name);
    return names;
}

void parse_arguments(CommandEntry const& entry, DescribedCommand& command, std::vector<std::string> arguments) {
    CLI::App& app = *command.app;
    auto const writes = [](std::string const& a) { return a == "--write-config" || a.starts_with("--write-config="); };
    if (std::any_of(arguments.begin(), arguments.end(), writes)) require_nothing(app);
    std::vector<std::string> const words = arguments;
    refuse_bare_equals(entry, words);
    arguments = with_config(entry.name, app, std::move(arguments));
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments));
    } catch (CLI::CallForHelp const&) {
        throw;
    } catch (CLI::CallForAllHelp const&) {
        throw;
    } catch (CLI::ParseError const& error) {
        std::string const path = chosen_path(entry, app);
        throw InputError("{}: {} (see 'sextant {} --help')", path, sentence(app, error), path);
    }
    refuse_empty_values(entry, app);
    refuse_cut_numbers(entry, app);
    refuse_contradictions(entry, app, words);
}

}  // namespace sextant::cli

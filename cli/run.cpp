#include "cli/run.hpp"

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {
namespace {

void print_overview(std::ostream& out) {
    out << "Plans large-model training: how to split it, how long it takes, what it costs, and why.\n\n"
           "Usage: sextant COMMAND [OPTIONS]\n\nCommands:\n";
    std::size_t width = 0;
    for (auto const* entry : command_catalog())
        width = std::max(width, std::string_view(entry->name).size());
    for (auto const* entry : command_catalog())
        out << fmt::format("  {:{}}  {}\n", entry->name, width, entry->summary);
    out << "\nOptions:\n"
           "  -h, --help  this text; 'sextant COMMAND --help' explains one command, with examples\n"
           "  --version   the version of this program\n";
}

CommandEntry const* find_command(std::string_view name) {
    for (auto const* entry : command_catalog())
        if (name == entry->name) return entry;
    return nullptr;
}

CommandEntry const& require_command(std::string_view name) {
    if (auto const* entry = find_command(name)) return *entry;
    std::vector<std::string> known;
    for (auto const* entry : command_catalog())
        known.emplace_back(entry->name);
    bool const option = name.starts_with('-');
    throw InputError("{}: unknown {}{} (commands: {})", name, option ? "option before the command" : "command",
                     did_you_mean(name, known), join(known));
}

/// The innermost subcommand that was parsed.
CLI::App const& chosen_app(CLI::App const& app) {
    auto const chosen = app.get_subcommands();
    return chosen.empty() ? app : chosen_app(*chosen.back());
}

std::vector<std::string> option_names(CLI::App const& app) {
    std::vector<std::string> names;
    for (auto const* option : app.get_options())
        for (auto const& name : option->get_lnames())
            names.push_back("--" + name);
    return names;
}

std::vector<std::string> subcommand_names(CLI::App const& app) {
    std::vector<std::string> names;
    for (auto const* subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
        names.push_back(subcommand->get_name());
    return names;
}

/// "scaling fit": the command and the subcommand that were chosen.
std::string chosen_path(CommandEntry const& entry, CLI::App const& app) {
    std::string path = entry.name;
    for (CLI::App const* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().back();
        path += " " + at->get_name();
    }
    return path;
}

/// One sentence for what CLI11 found wrong.
std::string sentence(CLI::App const& app, CLI::ParseError const& error) {
    auto const& chosen = chosen_app(app);
    if (dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr) {
        auto const extras = app.remaining(true);
        auto const option =
            std::find_if(extras.begin(), extras.end(), [](auto const& e) { return e.starts_with('-'); });
        if (option != extras.end()) {
            auto const name = option->substr(0, option->find('='));
            return fmt::format("unknown option '{}'{}", name, did_you_mean(name, option_names(chosen)));
        }
        std::vector<std::string> const subcommands = subcommand_names(chosen);
        std::string const extra = extras.empty() ? "" : extras.front();
        return fmt::format("unexpected argument '{}'{}", extra, did_you_mean(extra, subcommands));
    }
    if (dynamic_cast<CLI::RequiredError const*>(&error) != nullptr &&
        std::string_view(error.what()).find("subcommand") != std::string_view::npos) {
        std::vector<std::string> const known = subcommand_names(chosen);
        auto const extras = app.remaining(true);
        if (extras.empty()) return fmt::format("a subcommand is needed ({})", join(known));
        return fmt::format("unknown subcommand '{}'{} (known: {})", extras.front(), did_you_mean(extras.front(), known),
                           join(known));
    }
    std::string text = error.what();
    if (dynamic_cast<CLI::ArgumentMismatch const*>(&error) != nullptr &&
        text.find("At Most 1 required") != std::string::npos)
        return text.substr(0, text.find(':')) + ": given more than once";
    if (dynamic_cast<CLI::ConversionError const*>(&error) != nullptr) {
        std::string_view constexpr before = "Could not convert: ";
        auto const equals = text.find(" = ");
        if (text.starts_with(before) && equals != std::string::npos)
            return fmt::format("{}: '{}' is not a number of the kind it takes",
                               text.substr(before.size(), equals - before.size()), text.substr(equals + 3));
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

/// CLI11 writes "--no-dropout{false}" for a flag's opposite.
std::string without_defaults_of_flags(std::string help) {
    constexpr std::string_view mark = "{false}";
    for (std::size_t at = help.find(mark); at != std::string::npos; at = help.find(mark, at)) {
        bool const ends_line = at + mark.size() < help.size() && help[at + mark.size()] == '\n';
        help.replace(at, mark.size(), ends_line ? 0 : mark.size(), ' ');
    }
    return help;
}

int run_command(CommandEntry const& entry, std::vector<std::string> arguments, CommandContext& context) {
    CLI::App app(entry.summary, std::string("sextant ") + entry.name);
    app.set_help_flag("-h,--help", "this text");
    app.get_formatter()->column_width(34);
    app.failure_message(CLI::FailureMessage::simple);
    Action const action = entry.describe(app, context);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments));
    } catch (CLI::CallForHelp const&) {
        context.out << without_defaults_of_flags(chosen_app(app).help());
        return exit_code::done;
    } catch (CLI::CallForAllHelp const&) {
        context.out << app.help("", CLI::AppFormatMode::All);
        return exit_code::done;
    } catch (CLI::ParseError const& error) {
        std::string const path = chosen_path(entry, app);
        throw InputError("{}: {} (see 'sextant {} --help')", path, sentence(app, error), path);
    }
    refuse_empty_values(entry, app);
    return action();
}

int dispatch(std::vector<std::string> arguments, CommandContext& context) {
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
        (arguments[0] == "help" && arguments.size() == 1)) {
        print_overview(context.out);
        return exit_code::done;
    }
    if (arguments[0] == "--version") {
        context.out << "sextant " << SEXTANT_VERSION << "\n";
        return exit_code::done;
    }
    if (arguments[0] == "help") return run_command(require_command(arguments[1]), {"--help"}, context);
    auto const& entry = require_command(arguments[0]);
    arguments.erase(arguments.begin());
    return run_command(entry, std::move(arguments), context);
}

}  // namespace

int run(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
    CommandContext context{out, err};
    try {
        std::vector<std::string> arguments;
        for (int i = 1; i < argc; ++i)
            arguments.emplace_back(argv[i]);
        int const code = dispatch(std::move(arguments), context);
        out.flush();
        if (!out)
            throw InputError("standard output: the report could not be written (is the disk full or the pipe closed?)");
        return code;
    } catch (InputError const& error) {
        err << "sextant: error: " << error.what() << "\n";
        return exit_code::bad_input;
    } catch (std::exception const& error) {
        err << "sextant: internal error: " << error.what() << "\n";
        return exit_code::our_bug;
    }
}

}  // namespace sextant::cli

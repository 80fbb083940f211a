#include "cli/run.hpp"

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/written_file.hpp"
#include "cli/progress.hpp"
#include "cli/shell/described_command.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/shell/help_text.hpp"
#include "cli/shell/terminal.hpp"
#include "cli/unavailable.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"

#include <CLI/App.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {
namespace {

constexpr std::string_view what_it_is =
    "Plans and simulates training and serving of large models: how to split it, how long it takes, what it costs, and "
    "why.\n\n";

void print_overview(std::ostream& out) {
    std::string text = std::string(what_it_is) + "Usage: sextant COMMAND [OPTIONS]\n\nCommands:\n";
    std::size_t width = 0;
    for (auto const* entry : command_catalog())
        width = std::max(width, std::string_view(entry->name).size());
    for (auto const* entry : command_catalog())
        text += fmt::format("  {:{}}  {}\n", entry->name, width, entry->summary);
    text +=
        "\nOptions:\n"
        "  -h, --help  this text; 'sextant COMMAND --help' explains one command, with examples\n"
        "  --version   the version of this program\n";
    out << fit_text(text, terminal_of(out).columns);
}

/// What to type first: questions in the words of their commands, each of which runs as it stands.
void print_first_steps(std::ostream& out) {
    auto const heading = [&](std::string_view text) { return in_bold(text, terminal_of(out)); };
    out << fit_text(what_it_is, terminal_of(out).columns) << "Usage: sextant COMMAND [OPTIONS]\n\n"
        << heading("Try first:")
        << "\n"
           "  sextant plan -m llama-3.1-8b -c h100-sxm -n 64\n"
           "      the best ways to train this model on 64 GPUs, and why\n"
           "  sextant estimate -m llama-3.1-8b -c h100-sxm --dp 8 --explain\n"
           "      one way: time, memory, and what binds it\n"
           "  sextant run-plan --dollars 1e6 -c h100-sxm\n"
           "      what a budget buys: model, tokens, GPUs, days\n"
           "  sextant serve plan -m llama-3.1-70b -c h100-sxm --rate 20 --ttft 2s --tpot 50ms\n"
           "      the cheapest way to serve it under objectives\n"
           "  sextant models          models it knows (a config.json does as well)\n"
           "  sextant hardware        machines it knows\n\n"
        << heading("Then:")
        << "\n"
           "  sextant --help          every command\n"
           "  sextant plan --help     one command, with examples\n"
           "  sextant doctor          what this build can do, and what is missing for more\n";
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
    if (name.starts_with('-'))
        throw InputError(
            "{}: unknown option before the command (options stand behind the command: sextant COMMAND {} ...; "
            "commands: {})",
            name, name, join(known));
    throw InputError("{}: unknown command{} (commands: {})", name, did_you_mean(name, known), join(known));
}

int run_command(CommandEntry const& entry, std::vector<std::string> arguments, CommandContext& context) {
    DescribedCommand command = describe_command(entry, context);
    try {
        parse_arguments(entry, command, std::move(arguments));
    } catch (CLI::CallForHelp const&) {
        context.out << help_for(chosen_app(*command.app), terminal_of(context.out));
        return exit_code::done;
    } catch (CLI::CallForAllHelp const&) {
        context.out << command.app->help("", CLI::AppFormatMode::All);
        return exit_code::done;
    }
    refuse_files_given_twice(*command.app);
    if (!command.config->write.empty()) {
        std::string const text = config_text(chosen_path(entry, *command.app), chosen_app(*command.app));
        if (command.config->write == "-")
            context.out << text;
        else
            write_text_file(command.config->write, text);
        return exit_code::done;
    }
    return command.action();
}

int dispatch(std::vector<std::string> arguments, CommandContext& context) {
    if (arguments.empty()) {
        print_first_steps(context.out);
        return exit_code::done;
    }
    if (arguments[0] == "--help" || arguments[0] == "-h" || (arguments[0] == "help" && arguments.size() == 1)) {
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

/// A message may quote a file of others, whose control characters are not for the terminal.
std::string printable(std::string_view message) {
    constexpr std::size_t longest = 4000;
    std::string out;
    for (char const c : message.substr(0, longest))
        if (auto const byte = static_cast<unsigned char>(c); (byte < 0x20 && c != '\n') || byte == 0x7F)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    return message.size() > longest ? out + "..." : out;
}

/// Where a standard stream was closed (`>&-`) the next file opened would take its number, and the report would end in
/// it. What stands in for standard output refuses to be written, so that a lost report is an error.
void open_standard_streams() {
    for (int const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(stream, F_GETFD) < 0)
            static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace

Ending run_arguments(std::vector<std::string> arguments, CommandContext& context) {
    try {
        int const code = dispatch(std::move(arguments), context);
        context.out.flush();
        if (!context.out)
            throw InputError("standard output: the report could not be written (is the disk full or the pipe closed?)");
        return {.exit_code = code, .error = {}};
    } catch (InputError const& error) {
        return {.exit_code = exit_code::bad_input, .error = printable(error.what())};
    } catch (UnavailableError const& error) {
        return {.exit_code = exit_code::unavailable, .error = printable(error.what())};
    } catch (Interrupted const&) {
        return {.exit_code = interrupted_exit, .error = {}};
    } catch (std::exception const& error) {
        return {.exit_code = exit_code::our_bug, .error = printable(error.what())};
    }
}

int run(std::vector<std::string> arguments, CommandContext& context) {
    Ending const ending = run_arguments(std::move(arguments), context);
    Terminal const terminal = terminal_of(context.err);
    constexpr std::string_view program = "sextant: ";
    constexpr std::string_view word = "error:";
    if (ending.exit_code == exit_code::our_bug) {
        context.err << program << "internal error: " << ending.error << "\n";
    } else if (!ending.error.empty()) {
        std::string const text = fit_text(fmt::format("{}{} {}\n", program, word, ending.error), terminal.columns);
        context.err << program << in_red(word, terminal) << text.substr(program.size() + word.size());
    }
    return ending.exit_code;
}

int run(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
    CommandContext context{out, err};
    return run({argv + std::min(argc, 1), argv + argc}, context);
}

int run_program(int argc, char const* const* argv) {
    open_standard_streams();
    std::ios::sync_with_stdio(false);
    set_terminal(std::cout, terminal_behind(STDOUT_FILENO));
    set_terminal(std::cerr, terminal_behind(STDERR_FILENO));
    return run(argc, argv, std::cout, std::cerr);
}

}  // namespace sextant::cli

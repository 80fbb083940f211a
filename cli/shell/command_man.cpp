#include "cli/command.hpp"
#include "cli/options/written_file.hpp"
#include "cli/output.hpp"
#include "cli/shell/man_page.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    auto output = std::make_shared<OutputOptions>();
    output->format_name = "man";  // roff, whatever the reader: lines are not fitted
    app.add_option("--format", output->format_name, "man (default), or json: every command and option for programs")
        ->option_text("man|json")
        ->check([](std::string const& name) {
            return name == "man" || name == "json" ? "" : fmt::format("'{}' is not man or json", name);
        });
    written(app.add_option("--output", output->file, "write the page to this file instead of standard output"))
        ->option_text("FILE");
    app.footer(
        "Read it with 'man -l'.\n\nExamples:\n"
        "  sextant man\n"
        "  sextant man --output sextant.1\n"
        "  sextant man --format json\n");
    return [output, &context] {
        auto const commands = describe_commands();
        deliver(*output, context,
                output->format_name == "json" ? commands_json(commands, SEXTANT_VERSION)
                                              : man_page(commands, SEXTANT_VERSION));
        return exit_code::done;
    };
}

}  // namespace

extern constinit CommandEntry const man_command;
constinit CommandEntry const man_command{
    .name = "man",
    .summary = "the manual page of this program, with every command and option",
    .describe = describe,
};

}  // namespace sextant::cli

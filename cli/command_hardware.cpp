#include "cli/output.hpp"
#include "core/embedded_text.hpp"

#include <memory>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<OutputOptions>();
    add_output_options(app, *options);
    app.footer("Examples:\n  sextant hardware\n  sextant hardware --format csv\n");
    return [options, &context] {
        Table table({{"kind"}, {"name"}});
        for (auto const& entry : embedded_accelerators()) table.add_row({"accelerator", std::string(entry.name)});
        for (auto const& entry : embedded_clusters()) table.add_row({"cluster", std::string(entry.name)});
        deliver(*options, context, render(table, options->format()));
        return exit_code::done;
    };
}

}  // namespace

extern constinit CommandEntry const hardware_command;
constinit CommandEntry const hardware_command{
    .name = "hardware",
    .summary = "list accelerators and clusters, and show every value with its source",
    .describe = describe,
};

}  // namespace sextant::cli

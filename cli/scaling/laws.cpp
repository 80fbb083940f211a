#include "cli/scaling/laws.hpp"
#include "cli/output.hpp"
#include "cli/scaling/subcommand.hpp"
#include "core/error.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    OutputOptions output;
    std::string name;
};

std::string list_in(Format format) {
    auto const laws = published_laws();
    switch (format) {
        case Format::json: return law_list_json(laws);
        case Format::text: return law_list_text(laws);
        default: return render(law_list_table(laws), format);
    }
}

std::string details_in(PublishedLaw const& law, Format format) {
    switch (format) {
        case Format::json: return fitted_law_text(law.law);
        case Format::text: return law_text(law);
        default: return render(law_parameter_table(law), format);
    }
}

}  // namespace

Subcommand describe_scaling_laws(CLI::App& scaling, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *scaling.add_subcommand("laws", "the laws that --law knows by name");
    add_output_options(app, o->output);
    auto* const list = app.add_subcommand("list", "all of them, and the rules for learning rate and batch (default)");
    list->fallthrough();
    list->footer(
        "Examples:\n"
        "  sextant scaling laws list\n"
        "  sextant scaling laws list --format csv\n");
    auto* const show = app.add_subcommand("show", "parameters, source and limits of one; --format json is a law file");
    show->add_option("name", o->name, "a law, or a file of one")->required()->type_name("NAME|FILE.json");
    show->fallthrough();
    show->footer(
        "Examples:\n"
        "  sextant scaling laws show hoffmann-tex\n"
        "  sextant scaling laws show chinchilla-huber --format json --output my.json\n");
    app.require_subcommand(0, 1);
    app.footer(
        "basis: fitted (ours, from published runs), published (as printed), assumed (as remembered).\n\n"
        "Examples:\n"
        "  sextant scaling laws\n"
        "  sextant scaling laws show muennighoff-c4\n");
    return {.app = &app, .run = [o, show, &context] {
                Format const format = o->output.format();
                if (!show->parsed()) {
                    deliver(o->output, context, list_in(format));
                    return exit_code::done;
                }
                // Found first: GCC 12 destroys a half-built aggregate when a part of it throws within `?:`.
                FittedLaw const law = find_scaling_law(o->name, "scaling laws");
                deliver(o->output, context, details_in({.name = o->name, .law = law}, format));
                return exit_code::done;
            }};
}

}  // namespace sextant::cli

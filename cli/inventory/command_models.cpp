#include "cli/command.hpp"
#include "cli/inventory/model_view.hpp"
#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    OutputOptions output;
    std::string name;
    std::int64_t sequence = 0;  // 0: not given
};

/// The sequence that work is counted at: as given, or 4096 where the model goes that far.
std::int64_t sequence_for(ModelSpec const& model, CLI::Option const& given, std::int64_t sequence) {
    constexpr std::int64_t usual = 4096;
    if (given.count() == 0) return std::min(usual, model.max_positions);
    // The position table of a model ends where its training ended; other schemes can be stretched.
    std::int64_t const longest = model.position_rows > 0 ? model.max_positions : std::int64_t{1} << 30;
    if (sequence < 1 || sequence > longest)
        throw InputError("--seq: is {} (1 to {} is allowed for {})", sequence, longest, model.name);
    return sequence;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    add_output_options(app, options->output);
    auto* const show =
        app.add_subcommand("show", "sizes, exact parameter counts, work and cache per token of one model");
    show->add_option("name", options->name, "a preset, or a Hugging Face config.json (or the folder it lies in)")
        ->required()
        ->type_name("NAME|config.json");
    auto* const sequence =
        show->add_option("--seq", options->sequence,
                         "tokens per sequence that work is counted at (default: 4096, or the longest)")
            ->option_text("TOKENS");
    show->fallthrough();
    app.require_subcommand(0, 1);
    app.footer(
        "Examples:\n"
        "  sextant models\n"
        "  sextant models --format csv\n"
        "  sextant models show llama-3.1-70b\n"
        "  sextant models show path/to/config.json --seq 8192 --format json\n");
    show->footer(
        "Examples:\n"
        "  sextant models show deepseek-v3 --seq 4096\n"
        "  sextant models show path/to/config.json --format json\n");
    return [options, show, sequence, &context] {
        auto const format = options->output.format();
        if (!show->parsed()) {
            deliver(options->output, context, model_list(format));
            return exit_code::done;
        }
        auto const model = find_model(options->name);
        deliver(options->output, context,
                model_details(model, sequence_for(model, *sequence, options->sequence), format));
        return exit_code::done;
    };
}

}  // namespace

extern constinit CommandEntry const models_command;
constinit CommandEntry const models_command{
    .name = "models",
    .summary = "list the model presets, and show the exact sizes of one model or config.json",
    .describe = describe,
};

}  // namespace sextant::cli

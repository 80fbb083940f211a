#include "cli/output.hpp"

#include "cli/options/written_file.hpp"
#include "cli/page/plotting_library.hpp"
#include "cli/shell/fit_text.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <cassert>
#include <ostream>

namespace sextant::cli {

std::string_view name_of(Format format) {
    switch (format) {
        case Format::text: return "text";
        case Format::json: return "json";
        case Format::csv: return "csv";
        case Format::markdown: return "markdown";
        case Format::html: return "html";
    }
    return "?";
}

Format OutputOptions::format() const {
    std::vector<std::string> known;
    for (auto const candidate : allowed) {
        if (name_of(candidate) == format_name) {
            if (candidate == Format::html) require_plotting_library();  // before a long answer is worked out
            return candidate;
        }
        known.emplace_back(name_of(candidate));
    }
    throw InputError("--format: unknown format '{}'{} (this command writes: {})", format_name,
                     did_you_mean(format_name, known), join(known));
}

void add_output_options(CLI::App& app, OutputOptions& options, std::span<Format const> allowed) {
    options.allowed = allowed;
    std::vector<std::string> known;
    for (auto const format : allowed)
        known.emplace_back(name_of(format));
    app.add_option("--format", options.format_name, "format of the report: " + join(known) + " (default: text)")
        ->type_name("NAME");
    bool const serves = app.get_option_no_throw("--output-tokens") != nullptr;
    written(app.add_option("--output", options.file, "write the report to this file instead of standard output"),
            serves ? "tokens of a request are --output-tokens" : "")
        ->type_name("FILE");
}

void deliver(OutputOptions const& options, CommandContext& context, std::string_view report) {
    if (!options.file.empty())
        write_text_file(options.file, report);
    else if (options.format_name == name_of(Format::text))
        context.out << for_terminal(report, terminal_of(context.out));
    else
        context.out << report;
}

void tell_beside(Format format, CommandContext& context, std::string_view text) {
    if (format == Format::json || format == Format::csv)
        context.err << fit_text(text, terminal_of(context.err).columns);
}

std::string render(Table const& table, Format format, QuestionCells const& question) {
    switch (format) {
        case Format::csv: return table.csv(question);
        case Format::markdown: return table.markdown();
        default: assert(format == Format::text); return table.text();
    }
}

}  // namespace sextant::cli

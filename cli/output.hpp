#pragma once

#include "cli/command.hpp"
#include "cli/view/table.hpp"

#include <span>
#include <string>
#include <string_view>

namespace sextant::cli {

enum class Format { text, json, csv, markdown, html };
std::string_view name_of(Format format);

/// What `--format` and `--output` were given.
struct OutputOptions {
    std::string format_name = "text";
    std::string file;

    /// @throws InputError naming the formats this command writes, UnavailableError for pages without their library.
    [[nodiscard]] Format format() const;
    std::span<Format const> allowed;
};

/// The formats that most commands write.
inline constexpr Format usual_formats[] = {Format::text, Format::json, Format::csv, Format::markdown};

/// The same for commands that write a page for a browser, too.
inline constexpr Format formats_and_page[] = {Format::text, Format::json, Format::csv, Format::markdown, Format::html};

/// Adds `--format` (one of `allowed`, which must outlive the program) and `--output FILE`.
void add_output_options(CLI::App& app, OutputOptions& options, std::span<Format const> allowed = usual_formats);

/// Writes the report to `--output` (a temporary file, then renamed) or else to `context.out`.
/// @throws InputError when the file cannot be written.
void deliver(OutputOptions const& options, CommandContext& context, std::string_view report);

/// What people should know of a report for programs (JSON, CSV) that its rows do not say, on standard error and fitted
/// to its terminal. Other formats say it themselves.
void tell_beside(Format format, CommandContext& context, std::string_view text);

/// `table` as text, csv (with `question` before every row) or markdown. @pre `format` is one of these.
std::string render(Table const& table, Format format, QuestionCells const& question = {});

}  // namespace sextant::cli

#pragma once

#include "cli/command.hpp"
#include "planner/exporters/exporter.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// The files of one format.
struct ExportedFormat {
    std::string format;
    std::vector<ExportedFile> files;
    std::vector<NotExpressed> not_expressed{};
};

/// Where the files go, and how the report looks.
struct ExportOutput {
    std::string folder;  ///< empty: the main file of the only format to standard output
    bool force = false;
    std::string report = "text";
};
void add_export_output(CLI::App& app, ExportOutput& output);

/// What the report says besides the files.
struct ExportFacts {
    std::string headline;
    std::optional<CheckpointPlan> checkpoint{};
    std::int64_t nodes = 1;
    std::int64_t per_node = 1;
};

/// Writes the files (each to a temporary file, then renamed) or prints the main one, and reports: with a folder, on
/// standard output; without, what is not expressed goes to standard error. With `--report json` everything, the texts
/// of the files included, is one object on standard output.
/// @throws InputError: several formats without a folder, a file that is there already without --force (before anything
/// is written), an unknown report.
void deliver_export(ExportOutput const& output, std::vector<ExportedFormat> const& formats, ExportFacts const& facts,
                    CommandContext& context);

/// The report as JSON (`format` "export", version 1).
std::string export_json(ExportOutput const& output, std::vector<ExportedFormat> const& formats,
                        ExportFacts const& facts);

}  // namespace sextant::cli

#include "cli/export/report.hpp"

#include "cli/options/written_file.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"

#include <CLI/App.hpp>

#include <filesystem>
#include <ostream>
#include <system_error>

namespace sextant::cli {
namespace {

namespace fs = std::filesystem;

void write_files(ExportOutput const& output, std::vector<ExportedFormat> const& formats) {
    fs::path const folder(output.folder);
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
        throw InputError("--output: {} is no folder", output.folder);
    if (!output.force)
        for (ExportedFormat const& format : formats)
            for (ExportedFile const& file : format.files)
                if (fs::exists(fs::symlink_status(folder / file.name, error)))
                    throw InputError("--output: {} is there already (--force replaces it)",
                                     (folder / file.name).string());
    fs::create_directories(folder, error);
    if (error) throw InputError("--output: {}: {}", output.folder, error.message());
    for (ExportedFormat const& format : formats)
        for (ExportedFile const& file : format.files) {
            fs::path const path = folder / file.name;
            write_text_file(path.string(), file.text);
            if (file.text.starts_with("#!"))
                fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add, error);
        }
}

/// "not expressed by megatron:" and a line each.
std::string not_expressed_lines(std::vector<ExportedFormat> const& formats) {
    std::string text;
    for (ExportedFormat const& format : formats) {
        if (format.not_expressed.empty()) continue;
        text += fmt::format("not expressed by {}:\n", format.format);
        for (NotExpressed const& note : format.not_expressed)
            text += wrapped(fmt::format("  {}: {}", note.field, note.message), "    ");
    }
    return text;
}

std::string text_report(ExportOutput const& output, std::vector<ExportedFormat> const& formats,
                        ExportFacts const& facts) {
    std::string text = wrapped(facts.headline);
    Table table({{"format"}, {"file"}, {"lines", Align::right}});
    for (ExportedFormat const& format : formats)
        for (ExportedFile const& file : format.files)
            table.add_row({format.format, (fs::path(output.folder) / file.name).string(),
                           fmt::format("{}", std::count(file.text.begin(), file.text.end(), '\n'))});
    text += table.text();
    std::string const missing = not_expressed_lines(formats);
    text += missing.empty() ? "every part of the plan is expressed\n" : missing;
    if (facts.checkpoint) text += wrapped("checkpoint " + facts.checkpoint->basis);
    return text + "REPLACE_WITH_... marks what the plan does not hold: data, tokenizer, checkpoints, image\n";
}

}  // namespace

void add_export_output(CLI::App& app, ExportOutput& o) {
    written(app.add_option("-o,--output", o.folder,
                           "write all files into this folder (default: the main file to standard output)"))
        ->option_text("DIR");
    app.add_flag("--force", o.force, "replace files that are there already");
    app.add_option("--report", o.report, "report as text or json (default: text)")->option_text("NAME");
}

void deliver_export(ExportOutput const& output, std::vector<ExportedFormat> const& formats, ExportFacts const& facts,
                    CommandContext& context) {
    if (output.report != "text" && output.report != "json")
        throw InputError("--report: unknown report '{}' (text or json)", output.report);
    bool const json = output.report == "json";
    if (output.folder.empty() && formats.size() > 1 && !json)
        throw InputError("--format: files of several formats need a folder (--output DIR), or --report json");
    if (!output.folder.empty()) write_files(output, formats);
    if (json) {
        context.out << export_json(output, formats, facts);
    } else if (!output.folder.empty()) {
        context.out << text_report(output, formats, facts);
    } else {
        ExportedFormat const& format = formats.front();
        context.out << format.files.front().text;
        context.err << not_expressed_lines(formats);
        for (std::size_t i = 1; i < format.files.size(); ++i)
            context.err << fmt::format("with --output DIR also {}\n", format.files[i].name);
    }
}

}  // namespace sextant::cli

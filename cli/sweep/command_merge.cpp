#include "cli/command.hpp"
#include "cli/options/written_file.hpp"
#include "cli/sweep/merge.hpp"
#include "cli/sweep/progress.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

struct Options {
    std::string out;
    std::vector<std::string> in;
    std::string format;
    std::string sensitivity;
    bool overwrite = false;
};

void check(Options const& o, SweepRecord const& record) {
    std::error_code ignored;
    if (std::filesystem::exists(o.out, ignored) && !o.overwrite)
        throw InputError("{}: exists (--overwrite replaces it)", o.out);
    auto const& columns = record.columns;
    if (!o.sensitivity.empty() && std::find(columns.begin(), columns.end(), o.sensitivity) == columns.end())
        throw InputError("--sensitivity: no column '{}'{} (columns: {})", o.sensitivity,
                         did_you_mean(o.sensitivity, columns), join(columns));
}

int merge(Options const& o, CommandContext& context) {
    SweepFormat const format = sweep_format(o.format, o.out);
    ShardFiles const shards(o.in);
    check(o, shards.record());
    SweepOutput output(shards.record(),
                       {.format = format, .file = o.out, .existing = Existing::overwrite, .sensitivity = o.sensitivity},
                       context);
    std::int64_t rows = 0;
    shards.for_each_line([&](std::string_view line, SweepRecord const& record) {
        output.add(parse_row(record, line, "merge"));
        if (++rows % 4096 == 0) output.flush();
    });
    output.finish(SweepOutput::End::complete);
    context.err << "sextant merge: " << grouped(rows) << " rows of " << o.in.size() << " file"
                << (o.in.size() == 1 ? "" : "s") << " in " << o.out << "\n";
    return exit_code::done;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    written(app.add_option("OUT", o->out, "file to write"))->required()->option_text("FILE");
    app.add_option("IN", o->in, "files of all shards of one sweep, each with its .sweep.json beside it")
        ->required()
        ->option_text("FILE...");
    app.add_option("--format", o->format,
                   "csv, jsonl, json, markdown, html or text (default: by the ending of OUT, or csv)")
        ->type_name("NAME");
    app.add_option("--sensitivity", o->sensitivity, "say which axis moves this column most")->option_text("PATH");
    app.add_flag("--overwrite", o->overwrite, "replace OUT if it is there");
    app.footer(
        "Rows come in the order of their points, as one process would have written them. Files of different sweeps,\n"
        "a shard that is missing, unfinished or there twice are refused. One finished file alone may be merged too,\n"
        "into another format.\n\nExamples:\n"
        "  sextant merge grid.csv shard-*.csv\n"
        "  sextant merge grid.md grid.csv --sensitivity iteration_time_s\n");
    return [o, &context] { return merge(*o, context); };
}

}  // namespace

extern constinit CommandEntry const merge_command;
constinit CommandEntry const merge_command{
    .name = "merge",
    .summary = "the shards of a sweep as one file, checked to be all of it",
    .describe = describe,
};

}  // namespace sextant::cli

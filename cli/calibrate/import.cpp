#include "cli/calibrate/import.hpp"

#include "calibrate/import/gzip.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "cli/calibrate/subcommand.hpp"
#include "cli/options/written_file.hpp"
#include "cli/progress.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/json/text_file.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/kernel_row.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

struct Kind {
    char const* title;
    char const* file;
    std::string (*csv)(ImportedTables const&);
    std::size_t (*rows)(ImportedTables const&);
    bool of_kernels = true;
};

constexpr Kind collectives{"collectives", "collectives.csv", collectives_csv,
                           [](ImportedTables const& t) { return t.collectives.size(); }, false};
constexpr std::array kinds{
    Kind{"matrix products", "gemm.csv", products_csv, [](ImportedTables const& t) { return t.products.size(); }},
    Kind{"attention", "attention.csv", attention_csv, [](ImportedTables const& t) { return t.attention.size(); }},
    Kind{"memory-bound kernels", "memory.csv", memory_csv, [](ImportedTables const& t) { return t.memory.size(); }},
    collectives,
    Kind{"training steps", "training.csv", training_csv, [](ImportedTables const& t) { return t.steps.size(); }, false},
    Kind{"served loads", "serving.csv", serving_csv, [](ImportedTables const& t) { return t.loads.size(); }, false},
};

template <class Row>
void append(std::vector<Row>& to, std::vector<Row>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void append(ImportedTables& to, ImportedTables from) {
    append(to.products, from.products);
    append(to.attention, from.attention);
    append(to.memory, from.memory);
    append(to.collectives, from.collectives);
    append(to.steps, from.steps);
    append(to.loads, from.loads);
    for (auto const& [reason, count] : from.skipped)
        to.skipped[reason] += count;
}

/// The text of a file, unpacked where gzip packed it, as profilers do with their traces.
std::string read_foreign_file(std::string const& file) {
    std::string text = read_text_file(file, largest_foreign_file);
    return is_gzip(text) ? gunzipped(text, file, largest_foreign_file) : text;
}

/// @param from an importer by name; empty: by what the text holds
ImportedTables imported(std::string const& from, std::string_view text, ImportRequest request,
                        CommandContext& context) {
    Importer const& importer = from.empty() ? importer_for(text, request.name) : find_importer(from);
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) throw InputError("{}: is empty", request.name);
    context.err << fmt::format("{}: read as {}\n", request.name, importer.name);
    ProgressLine line(context, Progress::on_terminals);
    request.progress = [&](std::size_t done, std::size_t of) {
        if (context.stop != nullptr && *context.stop) throw Interrupted();
        constexpr std::size_t mib = std::size_t{1} << 20;
        line.show(fmt::format("reading {}: {} of {} MiB", request.name, done / mib, of / mib));
    };
    return importer.read(text, request);
}

/// Rows of one kind as a table of ours; its lines are not those of the file.
CsvTable table_of(ImportedTables const& tables, Kind const& kind, std::string const& file) {
    return parse_csv(kind.csv(tables), fmt::format("{} as {}", file, kind.file));
}

void report_skipped(std::string const& file, ImportedTables const& tables, CommandContext& context) {
    for (auto const& [reason, count] : tables.skipped)
        context.err << fmt::format("{}: {} left out: {}\n", file, count, reason);
}

/// @throws InputError where no row has a column that is to be set.
void check_used(CellRow const& cells, ImportedTables const& tables) {
    for (auto const& [column, value] : cells) {
        bool const used = (!tables.steps.empty() && is_one_of(training_step_columns(), column)) ||
                          (!tables.loads.empty() && is_one_of(served_load_columns(), column)) ||
                          (!tables.collectives.empty() && is_one_of(unsaid_collective_columns(), column));
        if (!used)
            throw InputError(
                "--set: is for logs of training and of serving, and for runs and links of collectives, and no row here "
                "has "
                "a column '{}' (leave it out)",
                column);
    }
}

/// Traces take minutes: that their tables cannot be written is said before.
void check_out(std::string const& out) {
    namespace fs = std::filesystem;
    if (out.empty()) throw InputError("--out: is missing (FILE.csv, or a folder for several kinds of rows)");
    std::error_code fault;
    std::string const ending = fs::path(out).extension().string();
    if (is_one_of(std::array{".json", ".jsonl", ".txt", ".tsv", ".md", ".parquet"}, ending) &&
        !fs::is_directory(out, fault))
        throw InputError("--out: '{}' is the name of another kind of file (FILE.csv, or a folder)", out);
    if (out.ends_with(".csv")) require_folder_of(out);
}

/// Where each kind goes: one file for one kind, else a folder of files.
/// What the folder holds of other kinds, as of an earlier import, stays and is said.
/// @throws InputError also where a table would have the name of a file that it was made of.
void write_tables(ImportedTables const& tables, ImportCall const& call, CommandContext& context) {
    std::string const& out = call.out;
    namespace fs = std::filesystem;
    std::size_t present = 0;
    for (Kind const& kind : kinds)
        present += kind.rows(tables) > 0 ? 1 : 0;
    bool const one_file = out.ends_with(".csv");
    if (one_file && present > 1)
        throw InputError("--out: {} is one file, and there are {} kinds of rows (give a folder)", out, present);
    std::error_code fault;
    if (!one_file) {
        fs::create_directories(out, fault);
        if (!fs::is_directory(out)) throw InputError("--out: {} is no folder and cannot become one", out);
    }
    auto const path_of = [&](Kind const& kind) { return one_file ? fs::path(out) : fs::path(out) / kind.file; };
    for (Kind const& kind : kinds)
        for (std::string const& file : call.files)
            if (kind.rows(tables) > 0 && fs::equivalent(path_of(kind), file, fault))
                throw InputError("--out: the table of {} would overwrite {} (give another folder)", kind.title, file);
    for (Kind const& kind : kinds)
        if (kind.rows(tables) > 0) write_text_file(path_of(kind).string(), kind.csv(tables));
    for (Kind const& kind : kinds)
        if (!one_file && kind.rows(tables) == 0 && fs::exists(path_of(kind), fault))
            context.err << fmt::format(
                "warning: {} was there before and has no row of this import (remove it, unless it is to be fitted "
                "beside them)\n",
                path_of(kind).string());
}

bool is_known(std::string_view text) {
    return std::any_of(importers().begin(), importers().end(),
                       [&](Importer const* importer) { return importer->recognises(text); });
}

bool is_our_kernel_table(CsvTable const& table) {
    try {
        static_cast<void>(kernel_table_of(table));
        return true;
    } catch (InputError const&) {
        return false;
    }
}

/// Names the runs of a file, which have its name until then, with what tells them apart behind it.
/// @throws InputError where several files have runs of their own.
void name_runs(ImportedTables& tables, ImportCall const& call, std::string const& file, CellRow const& cells) {
    auto const run_id = cells.find("run_id");
    if (run_id == cells.end()) return;
    for (ImportedCollective& row : tables.collectives) {
        bool const of_one_rank = !row.group.empty();  // the traces of all ranks are of one run
        if (call.files.size() > 1 && !of_one_rank)
            throw InputError("--set: run_id is of one file, and there are {} (import each by itself)",
                             call.files.size());
        if (row.run.starts_with(file)) row.run.replace(0, file.size(), run_id->second);
    }
}

}  // namespace

int import_measurements(ImportCall const& call, CommandContext& context) {
    check_out(call.out);
    CellRow const cells = cells_set(call.cells);
    ImportedTables all;
    for (std::string const& file : call.files) {
        ImportedTables tables =
            imported(call.from, read_foreign_file(file),
                     {.name = file, .device = call.device, .source = call.source, .cells = cells}, context);
        report_skipped(file, tables, context);
        name_runs(tables, call, file, cells);
        append(all, std::move(tables));
    }
    all.keep_shortest();
    all.set_links(cells);
    if (all.rows() == 0)
        throw InputError("calibrate import: no row can be used ({})",
                         all.skipped.empty() ? "there is no measurement in it" : "the reasons are above");
    check_used(cells, all);
    write_tables(all, call, context);
    Table table({{"rows of"}, {"written", Align::right}});
    for (Kind const& kind : kinds)
        if (kind.rows(all) > 0) table.add_row({kind.title, fmt::to_string(kind.rows(all))});
    context.out << for_terminal(table.text(), terminal_of(context.out));
    return exit_code::done;
}

std::vector<CsvTable> kernel_tables_of(std::string const& file, std::string const& device, CommandContext& context) {
    std::string const text = read_foreign_file(file);
    bool const is_json = !text.empty() && (text.front() == '{' || text.front() == '[');
    if (is_json && text.find("\"median_us\"") != std::string::npos) return {parse_bench_rows(text, file)};
    if (!is_json && text.starts_with("bench,")) return {parse_bench_rows(text, file)};
    if (!is_json) {
        CsvTable table = parse_csv(text, file);
        if (is_our_kernel_table(table) || !is_known(text))
            return {std::move(table)};  // what is neither is refused by its reader
    }
    ImportedTables const tables = imported("", text, {.name = file, .device_where_unstated = device}, context);
    report_skipped(file, tables, context);
    std::vector<CsvTable> out;
    for (Kind const& kind : kinds)
        if (kind.of_kernels && kind.rows(tables) > 0) out.push_back(table_of(tables, kind, file));
    if (out.empty()) throw InputError("{}: has no kernel times that can be used", file);
    return out;
}

std::vector<CsvTable> collective_tables_of(std::vector<std::string> const& files, std::string const& device,
                                           CommandContext& context) {
    std::vector<CsvTable> out;
    ImportedTables of_ranks;  // traces of one rank each
    std::string first;
    for (std::string const& file : files) {
        std::string const text = read_foreign_file(file);
        if (text.starts_with("run_id,") || !is_known(text)) {
            if (auto const other = foreign_benchmark(text); !text.starts_with("run_id,") && !other.empty())
                throw InputError("{}: is of {}", file, other);
            out.push_back(parse_csv(text, file));
            continue;
        }
        ImportedTables tables = imported("", text, {.name = file, .device_where_unstated = device}, context);
        report_skipped(file, tables, context);
        if (tables.collectives.empty()) throw InputError("{}: has no collectives that can be used", file);
        bool const of_rank = !tables.collectives.front().group.empty();
        if (!of_rank) {
            out.push_back(table_of(tables, collectives, file));
            continue;
        }
        if (first.empty()) first = file;
        append(of_ranks.collectives, tables.collectives);
    }
    of_ranks.keep_shortest();
    if (!of_ranks.collectives.empty()) out.push_back(table_of(of_ranks, collectives, first));
    return out;
}

Subcommand describe_calibrate_import(CLI::App& calibrate, CommandContext& context) {
    auto const request = std::make_shared<ImportCall>();
    ImportCall& r = *request;
    CLI::App& app = *calibrate.add_subcommand("import", "measurements of other programs as tables of ours");
    app.add_option("files", r.files, "what the other program wrote")->required()->type_name("FILE");
    written(app.add_option("--out", r.out, "one file, or a folder where there are several kinds of rows"))
        ->required()
        ->option_text("FILE.csv|FOLDER");
    app.add_option("--from", r.from, "the format, where it is not to be told from the file")->option_text("NAME");
    app.add_option("--device", r.device, "the accelerator, where the rows do not say it or say it wrong")
        ->option_text("NAME");
    app.add_option("--source", r.source, "what stands in source_ref (default: the format and what the file says)")
        ->option_text("TEXT");
    app.add_option(
           "--set", r.cells,
           "a cell of the rows of training steps or served loads that the log does not say, or says wrong, "
           "such as gpus_per_node=8, or collective, intra_link, inter_link and run_id of collectives; may be repeated")
        ->allow_extra_args(false)
        ->option_text("COLUMN=VALUE");
    std::string formats = "Formats:\n";
    for (Importer const* importer : importers())
        formats += fmt::format("  {:<16}{}\n", importer->name, importer->summary);
    app.footer(formats +
               "\nRows that cannot be used are counted with the reason on standard error.\n\nExamples:\n"
               "  sextant calibrate import all_reduce.log --out collectives.csv\n"
               "  sextant calibrate import gemm_perf.txt --out gemm.csv --source 'aiconfigurator 1.0'\n"
               "  sextant calibrate import trace.json --out imported --device h100-sxm\n"
               "  sextant calibrate import megatron.log --out training.csv --device h100-sxm --set gpus_per_node=8\n");
    return {&app, [request, &context] { return import_measurements(*request, context); }};
}

}  // namespace sextant::cli

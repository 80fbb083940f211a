#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "cli/calibrate/calibration_file.hpp"
#include "cli/calibrate/named_otherwise.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/written_file.hpp"
#include "cli/output.hpp"
#include "cli/validate/page.hpp"
#include "cli/validate/plots.hpp"
#include "cli/validate/row_words.hpp"
#include "cli/validate/view.hpp"
#include "core/csv_stream.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "planner/validation/prediction_rows.hpp"
#include "planner/validation/table_predictor.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ios>
#include <memory>

namespace sextant::cli {
namespace {

/// What differs between the subcommands.
struct ValidatedKind {
    ValidationKind kind;
    char const* summary;
    char const* files;
    char const* profile;
    char const* footer;
};

constexpr std::array validated_kinds{
    ValidatedKind{
        .kind = ValidationKind::train,
        .summary = "predict published training steps and score time, memory and fits against them",
        .files = "tables of training steps (CSV with the header of docs/validation.md)",
        .profile = "framework constants for all rows: a name, or a file (default: by each row's framework)",
        .footer = "Appended columns of --rows: pred_iter_time_s, pred_peak_mem_gb_per_gpu (the figure that source "
                  "prints), pred_fits (1 or 0),\n"
                  "pred_low and pred_high (80 % interval of the time), skip_reason, not_scored_reason (of a measured "
                  "time).\n\n"
                  "Examples:\n"
                  "  sextant validate train runs.csv\n"
                  "  sextant validate train a.csv b.csv --format json --rows predicted.csv\n"
                  "  sextant validate train runs.csv --profile my-framework.json --max-median 10\n",
    },
    ValidatedKind{
        .kind = ValidationKind::kernels,
        .summary = "predict measured kernels (matrix products, attention) and score their times",
        .files = "tables of kernel times (CSV with one of the headers of docs/validation.md)",
        .profile = "accelerator for all rows: a name, or a file (default: by each row's device)",
        .footer = "Appended columns of --rows: pred_latency_us, pred_low and pred_high (80 % interval), "
                  "skip_reason.\n\n"
                  "Examples:\n"
                  "  sextant validate kernels gemm.csv attention.csv\n"
                  "  sextant validate kernels gemm.csv --format json --rows predicted.csv\n"
                  "  sextant validate kernels gemm.csv --profile my-accelerator.json --max-median 15\n"
                  "  sextant validate kernels rows.csv --profile host.json --calibration host-kernels.json\n",
    },
    ValidatedKind{
        .kind = ValidationKind::collectives,
        .summary = "predict runs of nccl-tests and rccl-tests and score their times",
        .files = "tables of collectives (CSV with the header of docs/validation.md)",
        .profile = "cluster for all rows: a name, or a file (default: by each row's device and links)",
        .footer = "Appended columns of --rows: pred_time_us, pred_low and pred_high (80 % interval), skip_reason.\n\n"
                  "Examples:\n"
                  "  sextant validate collectives nccl.csv\n"
                  "  sextant validate collectives nccl.csv --format json --rows predicted.csv\n"
                  "  sextant validate collectives nccl.csv --profile h100-roce --max-median 25\n",
    },
    ValidatedKind{
        .kind = ValidationKind::serving,
        .summary = "predict measured serving runs and score time to first token, time per token and throughput",
        .files = "tables of serving measurements (CSV with the header of docs/validation.md)",
        .profile = "engine for all rows: a name, or a file (default: by each row's engine)",
        .footer = "Appended columns of --rows: pred_ttft_ms, pred_tpot_ms, pred_output_tokens_per_s, pred_low and "
                  "pred_high\n(80 % interval of the throughput), skip_reason, scored_ttft_ms, scored_tpot_ms and "
                  "scored_output_tokens_per_s\n(measured figures that predictions are scored against, also where they "
                  "are derived).\n\n"
                  "Examples:\n"
                  "  sextant validate serving vllm.csv\n"
                  "  sextant validate serving a.csv b.csv --format json --rows predicted.csv\n"
                  "  sextant validate serving runs.csv --profile my-engine.json --max-median 10\n"
                  "  sextant validate serving runs.csv --cluster my-machine.json:calibration=my-kernels.json\n",
    },
};

struct Options {
    OutputOptions output;
    std::vector<std::string> files;
    std::string rows_file;
    std::string profile;
    std::string calibration;
    std::string cluster;
    std::string plots;
    double max_median = 0;
    CLI::App const* app = nullptr;
    CLI::Option const* limit = nullptr;
};

using Files = std::vector<std::unique_ptr<CsvStream>>;

/// What a benchmark printed is no table yet. @throws InputError that says how to make one, or that there is none.
void refuse_logs(CsvStream const& file) {
    auto const& header = file.header();
    if (std::find(header.begin(), header.end(), "size_bytes") != header.end()) return;
    std::string const text = read_text_file(file.name());
    if (auto const other = foreign_benchmark(text); !other.empty())
        throw InputError("{}: is of {}", file.name(), other);
    for (Importer const* importer : importers())
        if (importer->recognises(text))
            throw InputError("{}: is of {}, no table yet (sextant calibrate import {} --out collectives.csv)",
                             file.name(), importer->name, file.name());
}

/// Opened before anything is predicted, so that a name with a slip does not cost a minute.
Files open_files(ValidationKind kind, Options const& options) {
    Files files;
    for (std::string const& file : options.files) {
        if (kind != ValidationKind::collectives) refuse_foreign_file(file);
        files.push_back(std::make_unique<CsvStream>(file));
        if (kind == ValidationKind::collectives) refuse_logs(*files.back());
    }
    if (options.rows_file.empty()) return files;
    for (auto const& file : files)
        if (file->header() != files.front()->header())
            throw InputError("--rows: {} and {} have different columns (validate them one by one)",
                             files.front()->name(), file->name());
    return files;
}

/// What is collected of the rows; the rows themselves are read, predicted and dropped a part at a time.
struct Collected {
    Collected(ValidationKind kind, std::string const& profile)
        : scorer(kind), plots(kind), points(kind), as_one(kind, device_of_rows(kind, profile, "--profile")) {}

    void count_unreadable(RowPrediction const& p) {
        if (p.unreadable.empty()) return;
        if (++unreadable == 1) first_unreadable = fmt::format("{} ({})", p.skip_reason, p.unreadable);
    }

    Scorer scorer;
    ValidationPlots plots;
    ValidationPoints points;
    ScoredAsOne as_one;
    std::size_t rows = 0;
    std::size_t unreadable = 0;    ///< of them, those with a cell that cannot be read
    std::string first_unreadable;  ///< the first such cell, and what is wrong with it
};

/// @throws InputError where no row can be read: nothing is said of the others then.
void require_readable(Collected const& all, Files const& files) {
    if (all.rows == 0 || all.unreadable < all.rows) return;
    throw InputError("{}: no row can be read: {} (an empty cell or a finite number of at least 0)",
                     files.front()->name(), all.first_unreadable);
}

/// Rows predicted at once. Kernels of one part are compared with each other.
std::size_t rows_of_a_part(ValidationKind kind) { return kind == ValidationKind::kernels ? 16384 : 64; }

/// Keep::no when it was interrupted. @param out of `--rows`, or none.
Keep collect(ValidationKind kind, Options const& options, TablePredictor const& predict, Files& files, Collected& all,
             std::ostream* out, std::atomic<bool> const& stop) {
    bool const page = options.output.format() == Format::html;
    if (out != nullptr) *out << predictions_header(kind, files.front()->next(0));
    for (auto const& file : files) {
        for (bool first = true;; first = false) {
            CsvTable const part = file->next(rows_of_a_part(kind));
            if (part.records.empty() && !first) break;  // a file of a header alone is still checked
            std::vector<ScoredRow> rows = predict(part);
            all.as_one.add(part, rows);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                name_row(kind, part, part.records[i], rows[i]);
                all.scorer.add(rows[i]);
                all.count_unreadable(rows[i].prediction);
                if (!options.plots.empty()) all.plots.add(rows[i]);
                if (page) all.points.add(rows[i]);
                if (out != nullptr) *out << predictions_line(kind, part.records[i], rows[i].prediction);
            }
            all.rows += rows.size();
            if (stop) return Keep::no;
        }
    }
    require_readable(all, files);
    return Keep::yes;
}

Keep collect(ValidationKind kind, Options const& options, TablePredictor const& predict, Files& files, Collected& all,
             CommandContext const& context) {
    InterruptGuard const interrupt(context);
    if (options.rows_file.empty()) return collect(kind, options, predict, files, all, nullptr, interrupt.flag());
    return write_text_file(options.rows_file, [&](std::ostream& out) {
        return collect(kind, options, predict, files, all, &out, interrupt.flag());
    });
}

int run(ValidationKind kind, Options const& options, CommandContext& context) {
    auto const format = options.output.format();
    bool const is_limited = options.limit->count() > 0;
    if (is_limited && !(options.max_median > 0 && std::isfinite(options.max_median)))
        throw InputError("--max-median: is {} (a percentage above 0 is needed)", options.max_median);
    TablePredictor const predict = table_predictor(kind, options.profile, options.calibration, options.cluster);
    if (kind == ValidationKind::kernels && !options.calibration.empty())
        context.err << sheet_warning(read_calibration(options.calibration), options.profile);
    Files files = open_files(kind, options);
    Collected all(kind, options.profile);
    Keep const whole = collect(kind, options, predict, files, all, context);
    Validation result = all.scorer.result();
    result.interrupted = whole == Keep::no;
    context.err << all.as_one.text("as --profile says");
    if (!options.plots.empty())
        context.err << fmt::format("{} plots in {}\n", all.plots.write(options.plots, result), options.plots);
    deliver(options.output, context,
            format == Format::html ? validation_page(result, all.points) : validation_report(result, format));
    if (whole == Keep::no) {
        context.err << fmt::format("interrupted after {} rows\n", all.rows);
        return interrupted_exit;
    }
    if (!is_limited) return exit_code::done;
    ErrorStatistics const& time = result.overall.time;
    if (time.n > 0 && time.median_ape_pct <= options.max_median) return exit_code::done;
    context.err << fmt::format(
        "sextant: validate {}: median error of time is {} (at most {:g} % was asked for)\n", name_of(kind),
        time.n > 0 ? fmt::format("{:.2f} %", time.median_ape_pct) : "unknown, no row is scored", options.max_median);
    return exit_code::answer_is_no;
}

void add_subcommand(CLI::App& app, ValidatedKind const& what, Options& options) {
    auto* const sub = app.add_subcommand(std::string(name_of(what.kind)), what.summary);
    add_output_options(*sub, options.output, formats_and_page);
    sub->add_option("files", options.files, what.files)->required()->type_name("FILE.csv");
    written(sub->add_option("--rows", options.rows_file,
                            "write every input row with its prediction or the reason why there is none to this file"))
        ->type_name("OUT.csv");
    written(sub->add_option("--plots", options.plots,
                            "write predicted against measured times into this folder, an SVG per source"))
        ->type_name("FOLDER");
    sub->add_option("--profile", options.profile, what.profile)->type_name("NAME|file.json");
    if (what.kind == ValidationKind::kernels || what.kind == ValidationKind::collectives)
        sub->add_option("--calibration", options.calibration,
                        "fitted constants from 'sextant calibrate fit', for the devices or clusters that it names")
            ->type_name("FILE.json");
    if (what.kind == ValidationKind::train || what.kind == ValidationKind::serving)
        sub->add_option("-c,--cluster", options.cluster,
                        "the machine of rows that name its accelerator (default: the usual one of each row's device)")
            ->type_name("NAME|FILE.json");
    options.limit = sub->add_option("--max-median", options.max_median,
                                    "exit with 1 if the overall median error of time is larger (per cent)")
                        ->type_name("PCT");
    sub->footer(what.footer);
    options.app = sub;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<std::array<Options, validated_kinds.size()>>();
    for (std::size_t i = 0; i < validated_kinds.size(); ++i)
        add_subcommand(app, validated_kinds[i], (*options)[i]);
    app.require_subcommand(1);
    app.footer(
        "Examples:\n  sextant validate train runs.csv --rows predicted.csv\n"
        "  sextant validate collectives nccl.csv --format json\n");
    return [options, &context] {
        for (std::size_t i = 0; i < validated_kinds.size(); ++i)
            if ((*options)[i].app->parsed()) return run(validated_kinds[i].kind, (*options)[i], context);
        return exit_code::bad_input;
    };
}

}  // namespace

extern constinit CommandEntry const validate_command;
constinit CommandEntry const validate_command{
    .name = "validate",
    .summary = "compare predictions with published measurements, source by source",
    .describe = describe,
};

}  // namespace sextant::cli

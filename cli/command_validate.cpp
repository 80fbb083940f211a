#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/validate_view.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <cmath>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    OutputOptions output;
    std::vector<std::string> files;
    std::string rows_file;
    std::string profile;
    double max_median = 0;
};

bool same_header(CsvTable const& a, CsvTable const& b) { return a.header == b.header; }

int run_train(Options const& options, CLI::Option const& limit, CommandContext& context) {
    auto const format = options.output.format();
    if (limit.count() > 0 && !(options.max_median > 0 && std::isfinite(options.max_median)))
        throw InputError("--max-median: is {} (a percentage above 0 is needed)", options.max_median);
    std::vector<CsvTable> tables;
    for (std::string const& file : options.files)
        tables.push_back(read_csv(file));
    if (!options.rows_file.empty())
        for (CsvTable const& table : tables)
            if (!same_header(table, tables.front()))
                throw InputError("--rows: {} and {} have different columns (validate them one by one)",
                                 tables.front().name, table.name);

    TrainPredictor predictor(options.profile);
    TrainScorer scorer;
    std::string lines = predictions_header(tables.front());
    for (CsvTable const& table : tables) {
        std::vector<TrainingRow> const rows = training_rows(table);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowPrediction const prediction = predictor.predict(rows[i]);
            scorer.add(rows[i], prediction);
            if (!options.rows_file.empty()) lines += predictions_line(table.records[i], prediction);
        }
    }
    TrainValidation const result = scorer.result();
    if (!options.rows_file.empty()) write_text_file(options.rows_file, lines);
    deliver(options.output, context, train_validation_report(result, format));
    if (limit.count() == 0) return exit_code::done;
    ErrorStatistics const& time = result.overall.time;
    if (time.n > 0 && time.median_ape_pct <= options.max_median) return exit_code::done;
    context.err << fmt::format("sextant: validate train: median error of time is {} (at most {:g} % was asked for)\n",
                               time.n > 0 ? fmt::format("{:.2f} %", time.median_ape_pct) : "unknown, no row is scored",
                               options.max_median);
    return exit_code::answer_is_no;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    auto* const train =
        app.add_subcommand("train", "predict published training steps and score time, memory and fits against them");
    add_output_options(*train, options->output);
    train->add_option("files", options->files, "tables of training steps (CSV with the header of docs/validation.md)")
        ->required()
        ->type_name("FILE.csv...");
    train
        ->add_option("--rows", options->rows_file,
                     "write every input row with its prediction or the reason why there is none to this file")
        ->type_name("OUT.csv");
    train
        ->add_option("--profile", options->profile,
                     "framework constants for all rows: a name, or a file (default: by each row's framework)")
        ->type_name("NAME|file.json");
    auto* const limit = train
                            ->add_option("--max-median", options->max_median,
                                         "exit with 1 if the overall median error of time is larger (per cent)")
                            ->type_name("PCT");
    train->footer(
        "Appended columns of --rows: pred_iter_time_s, pred_peak_mem_gb_per_gpu (the figure that source prints), "
        "pred_fits (1 or 0),\n"
        "pred_low and pred_high (80 % interval of the time), skip_reason.\n\n"
        "Examples:\n"
        "  sextant validate train runs.csv\n"
        "  sextant validate train a.csv b.csv --format json --rows predicted.csv\n"
        "  sextant validate train runs.csv --profile my-framework.json --max-median 10\n");
    app.require_subcommand(1);
    app.footer("Examples:\n  sextant validate train runs.csv --rows predicted.csv\n");
    return [options, limit, &context] { return run_train(*options, *limit, context); };
}

}  // namespace

extern constinit CommandEntry const validate_command;
constinit CommandEntry const validate_command{
    .name = "validate",
    .summary = "compare predictions with published measurements, source by source",
    .describe = describe,
};

}  // namespace sextant::cli

#include "calibrate/collective_score.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "cli/calibrate/diff.hpp"
#include "cli/calibrate/import.hpp"
#include "cli/calibrate/kernels.hpp"
#include "cli/calibrate/report.hpp"
#include "cli/calibrate/run.hpp"
#include "cli/calibrate/serving.hpp"
#include "cli/calibrate/train.hpp"
#include "cli/command.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

namespace sextant::cli {
namespace {

struct FitRequest {
    std::vector<std::string> collectives;
    std::vector<std::string> logs;
    std::vector<std::string> kernels;
    std::string device;
    std::vector<std::string> train;
    std::string framework;
    std::vector<std::string> serving;
    std::string engine;
    std::string cluster;
    std::string catalogue;
    std::string out;
    std::vector<std::string> only;
    double held_out = 0.2;
};

std::vector<CollectiveMeasurement> read_rows(FitRequest const& request, ClusterSpec const* cluster,
                                             CommandContext& context) {
    std::vector<CollectiveMeasurement> rows;
    auto const add = [&](std::string const& file, CollectiveMeasurements read) {
        for (auto const& [reason, count] : read.skipped)
            context.err << fmt::format("{}: {} rows left out: {}\n", file, count, reason);
        rows.insert(rows.end(), std::make_move_iterator(read.rows.begin()), std::make_move_iterator(read.rows.end()));
    };
    for (std::string const& file : request.collectives)
        add(file, collective_measurements(collective_table_of(file, context), cluster));
    for (std::string const& file : request.logs) {
        if (cluster == nullptr)
            throw InputError("--nccl-log: needs --cluster (a log does not name the network it ran on)");
        NcclTestsLog const log = read_nccl_tests_log(read_text_file(file), file);
        add(file, collective_measurements(log.rows, cluster));
    }
    if (rows.empty()) throw InputError("calibrate fit: no usable rows (--collectives FILE.csv or --nccl-log FILE)");
    prepare_rows(rows);
    return rows;
}

MeasurementList list_of(std::vector<CollectiveMeasurement> const& rows) {
    MeasurementList out;
    for (CollectiveMeasurement const& row : rows)
        out.push_back(&row);
    return out;
}

Table error_table(std::vector<NetworkHeldOut> const& errors) {
    Table table({{"held out"},
                 {"network"},
                 {"from", Align::right},
                 {"rows", Align::right},
                 {"median %", Align::right},
                 {"p95 %", Align::right},
                 {"bias %", Align::right}});
    for (NetworkHeldOut const& e : errors)
        table.add_row({std::string(name_of(e.range)), e.between_domains ? "between domains" : "in one domain",
                       human(e.from), fmt::format("{}", e.rows), fmt::format("{:.1f}", e.median_pct),
                       fmt::format("{:.1f}", e.p95_pct), fmt::format("{:+.1f}", e.bias_pct)});
    return table;
}

/// The catalogue: every calibration that ships, with intervals and errors from rows that were held out.
int fit_catalogue(FitRequest const& request, CommandContext& context) {
    auto const rows = read_rows(request, nullptr, context);
    MeasurementList const list = list_of(rows);
    FitOptions const options{.starts = 2};
    std::string const command = "sextant calibrate fit --collectives FILE.csv --catalogue FOLDER";
    std::vector<std::string> names;
    for (NetworkEntry const& entry : network_entries())
        if (request.only.empty() ||
            std::find(request.only.begin(), request.only.end(), entry.name) != request.only.end())
            names.push_back(entry.name);
    auto const none = [](CollectiveMeasurement const&) { return false; };
    context.err << "fitting\n";
    auto calibrations = fit_entries(names, list, none, {}, options, command);
    auto const scored = score_entries(list, calibrations, options,
                                      [&](std::string const& name) { context.err << "scoring " << name << "\n"; });
    for (NetworkCalibration& calibration : calibrations) {
        auto const part = calibration.scale_up ? NetworkPart::scale_up : NetworkPart::scale_out;
        add_scores(calibration, scored, part);
        write_text_file(request.catalogue + "/" + calibration.name + ".json", network_calibration_json(calibration));
    }
    auto const grown = score_growth(list, calibrations, options);
    context.out << error_table(errors_from(scored, "")).text() << "\n4 to 8 ranks of a domain, 2 to 8 domains\n\n"
                << error_table(errors_from(grown, "")).text();
    if (!request.out.empty()) {
        write_text_file(request.out, held_out_csv(scored));
        write_text_file(request.out + ".growth.csv", held_out_csv(grown));
    }
    return exit_code::done;
}

/// One machine of the user's: constants from most runs, errors from the runs that were held out.
int fit_cluster(FitRequest const& request, CommandContext& context) {
    ClusterSpec const cluster = find_cluster(request.cluster, "--cluster");
    auto const rows = read_rows(request, &cluster, context);
    NetworkCalibration const calibration = fit_with_held_out(
        list_of(rows), cluster,
        {.held_out = request.held_out,
         .command = fmt::format("sextant calibrate fit --cluster {} --collectives FILE.csv", request.cluster)});
    write_text_file(request.out, network_calibration_json(calibration));
    context.out << fmt::format("{} runs, {} rows; held out: {}\n", calibration.provenance.runs,
                               calibration.provenance.rows, calibration.provenance.method);
    if (!calibration.provenance.held_out.empty()) context.out << error_table(calibration.provenance.held_out).text();
    return exit_code::done;
}

/// A fit takes minutes: that its result cannot be written is said before.
void require_writable(FitRequest const& request) {
    auto const probe = [](std::string const& file) {
        write_text_file(file, [](std::ostream& /*out*/) { return Keep::no; });
    };
    if (!request.out.empty()) probe(request.out);
    if (!request.catalogue.empty()) probe(request.catalogue + "/probe.json");
}

int fit(FitRequest const& request, CommandContext& context) {
    require_writable(request);
    if (!request.kernels.empty())
        return fit_kernel_tables(
            {.tables = request.kernels, .device = request.device, .out = request.out, .catalogue = request.catalogue},
            context);
    if (!request.train.empty())
        return fit_training_tables({.tables = request.train,
                                    .framework = request.framework,
                                    .out = request.out,
                                    .catalogue = request.catalogue},
                                   context);
    if (!request.serving.empty())
        return fit_serving_tables(
            {.tables = request.serving, .engine = request.engine, .out = request.out, .catalogue = request.catalogue},
            context);
    if (request.collectives.empty() && request.logs.empty())
        throw InputError(
            "calibrate fit: nothing to fit to (--kernels, --collectives, --train or --serving FILE.csv, or --nccl-log "
            "FILE)");
    if (!request.catalogue.empty()) return fit_catalogue(request, context);
    if (request.cluster.empty()) throw InputError("--cluster: is missing (whose network is it?)");
    if (request.out.empty()) throw InputError("--out: is missing (the calibration is written there)");
    if (!(request.held_out >= 0 && request.held_out <= 0.5))
        throw InputError("--held-out: {} (0 to 0.5 of the runs)", request.held_out);
    return fit_cluster(request, context);
}

/// What `calibrate` was asked to do; one member per subcommand.
struct Options {
    FitRequest fit;
    BenchRequest run;
    ImportCall import;
    ReportRequest report;
    DiffRequest diff;
    CLI::App const* report_app = nullptr;
    CLI::App const* diff_app = nullptr;
    CLI::App const* import_app = nullptr;
    CLI::App const* fit_app = nullptr;
    CLI::App const* run_app = nullptr;
};

void describe_run(CLI::App& calibrate, std::shared_ptr<Options> const& options) {
    BenchRequest& r = options->run;
    CLI::App& app = *calibrate.add_subcommand("run", "measure this machine with sextant-bench");
    app.add_option("--out", r.out, "the rows are written there (CSV, docs/kernels.md)")
        ->required()
        ->option_text("FILE.csv");
    app.add_option("--bench", r.program, "the benchmark program (default: beside this one, else on PATH)")
        ->option_text("PROGRAM");
    app.add_option("--backend", r.backend, "auto (cuda where there is a GPU, else host), cuda, host")
        ->option_text("NAME");
    app.add_option("--bench-names", r.benches, "only these benchmarks (see 'sextant-bench --list')")
        ->delimiter(',')
        ->option_text("A[,B...]");
    app.add_flag_callback(
        "--quick", [&r] { r.effort = BenchEffort::quick; }, "few shapes, 2 % of noise (default)");
    app.add_flag_callback(
        "--full", [&r] { r.effort = BenchEffort::full; }, "many shapes, half a percent");
    app.add_flag_callback(
        "--resume", [&r] { r.file = BenchFile::resume; },
        "go on with an existing --out: what it has is not measured again");
    app.add_option("--max-seconds", r.max_seconds, "begin nothing new after so many seconds")->option_text("S");
    app.add_option("--time-limit", r.time_limit,
                   "end the benchmarks after so long, whatever they are at (default: never)")
        ->option_text("TIME");
    app.add_option("--gpu", r.gpu, "which CUDA device (default 0)")->option_text("N");
    app.add_option("--describe-host", r.describe_host,
                   "write an accelerator profile of this machine's processor from the rows")
        ->option_text("FILE.json");
    app.add_option("--describe-cluster", r.describe_cluster,
                   "the same as a cluster of processes, for the rows of collectives")
        ->option_text("FILE.json");
    app.footer(
        "Progress goes to standard error. Ctrl-C leaves whole rows; the same call with --resume goes on.\n\nExamples:\n"
        "  sextant calibrate run --out rows.csv\n"
        "  sextant calibrate run --full --out rows.csv --resume\n"
        "  sextant calibrate run --backend host --out rows.csv --describe-host host.json\n");
    options->run_app = &app;
}

void describe_import(CLI::App& calibrate, std::shared_ptr<Options> const& options) {
    ImportCall& r = options->import;
    CLI::App& app = *calibrate.add_subcommand("import", "measurements of other programs as tables of ours");
    app.add_option("files", r.files, "what the other program wrote")->required()->type_name("FILE...");
    app.add_option("--out", r.out, "one file, or a folder where there are several kinds of rows")
        ->required()
        ->option_text("FILE.csv|FOLDER");
    app.add_option("--from", r.from, "the format, where it is not to be told from the file")->option_text("NAME");
    app.add_option("--device", r.device, "the accelerator, where the rows do not say it or say it wrong")
        ->option_text("NAME");
    app.add_option("--source", r.source, "what stands in source_ref (default: the format and what the file says)")
        ->option_text("TEXT");
    std::string formats = "Formats:\n";
    for (Importer const* importer : importers())
        formats += fmt::format("  {:<16}{}\n", importer->name, importer->summary);
    app.footer(formats +
               "\nRows that cannot be used are counted with the reason on standard error.\n\nExamples:\n"
               "  sextant calibrate import all_reduce.log --out collectives.csv\n"
               "  sextant calibrate import gemm_perf.txt --out gemm.csv --source 'aiconfigurator 1.0'\n"
               "  sextant calibrate import trace.json --out imported --device h100-sxm\n");
    options->import_app = &app;
}

void describe_fit(CLI::App& calibrate, std::shared_ptr<Options> const& options) {
    FitRequest& r = options->fit;
    CLI::App& app = *calibrate.add_subcommand("fit", "constants of the cost models from measurements");
    app.add_option("--collectives", r.collectives,
                   "table of nccl-tests runs, columns as in docs/formats.md; may be repeated")
        ->option_text("FILE.csv");
    app.add_option("--nccl-log", r.logs, "what nccl-tests printed; may be repeated")->option_text("FILE");
    app.add_option(
           "--kernels", r.kernels,
           "table of kernel times (docs/formats.md), rows of sextant-bench or any format of import; may be repeated")
        ->option_text("FILE");
    app.add_option("--device", r.device,
                   "the accelerator that --kernels were measured on, or its file (default: as the rows say)")
        ->option_text("NAME|FILE.json");
    app.add_option("--train", r.train, "table of training steps, columns as in docs/validation.md; may be repeated")
        ->option_text("FILE.csv");
    app.add_option("--framework", r.framework, "of --train, the rows of this framework alone")->option_text("NAME");
    app.add_option("--serving", r.serving,
                   "table of serving measurements, columns as in docs/validation.md; may be repeated")
        ->option_text("FILE.csv");
    app.add_option("--engine", r.engine, "of --serving, the rows of this engine alone")->option_text("NAME");
    app.add_option("-c,--cluster", r.cluster, "the cluster it was measured on, or a cluster file")
        ->option_text("NAME|FILE.json");
    app.add_option("--out", r.out, "the calibration (format network-calibration)")->option_text("FILE.json");
    app.add_option("--held-out", r.held_out, "share of the runs, chosen by their names, that judge and are not fitted")
        ->option_text("SHARE");
    app.add_option("--catalogue", r.catalogue, "fits every calibration that the program ships, into this folder")
        ->option_text("FOLDER");
    app.add_option("--only", r.only, "of the catalogue, these")->option_text("NAME");
    app.footer(
        "A calibration of collectives is used with 'sextant validate collectives --profile FILE.json', one of kernels\n"
        "with 'sextant validate kernels --calibration FILE.json'. docs/collectives.md and docs/calibration.md explain "
        "the\n"
        "constants and how rows are held out.\n\nExamples:\n"
        "  sextant calibrate fit --kernels gemm.csv --kernels attention.csv --device h100-sxm --out mine.json\n"
        "  sextant calibrate fit --collectives runs.csv --cluster h100-sxm --out mine.json\n"
        "  sextant calibrate fit --serving runs.csv --engine vllm --out my-vllm.json\n"
        "  sextant calibrate fit --nccl-log all_reduce.log --cluster h100-sxm --out mine.json\n");
    options->fit_app = &app;
}

constexpr Format report_formats[] = {Format::text, Format::json, Format::markdown};

void describe_report(CLI::App& calibrate, std::shared_ptr<Options> const& options) {
    ReportRequest& r = options->report;
    CLI::App& app = *calibrate.add_subcommand("report", "how well fitted constants hold");
    add_output_options(app, r.output, report_formats);
    app.add_option("file", r.file, "kernel-calibration, network-calibration or framework")
        ->required()
        ->type_name("FILE.json");
    app.add_option("--rows", r.rows, "measurements to score it on, as of fit and validate; may be repeated")
        ->option_text("FILE");
    app.add_option("--device", r.device, "of kernels, the accelerator that the rows are of (default: as they say)")
        ->option_text("NAME|FILE.json");
    app.add_option("--plots", r.plots, "write predicted against measured times of --rows into this folder, as SVG")
        ->option_text("FOLDER");
    app.footer(
        "Rows that the fit held out are scored apart from those that it saw.\n\nExamples:\n"
        "  sextant calibrate report mine.json\n"
        "  sextant calibrate report mine.json --rows gemm.csv --rows attention.csv --plots plots\n"
        "  sextant calibrate report out.json --rows rows.csv --device host.json --format markdown\n");
    options->report_app = &app;
}

void describe_diff(CLI::App& calibrate, std::shared_ptr<Options> const& options) {
    DiffRequest& r = options->diff;
    CLI::App& app = *calibrate.add_subcommand("diff", "what two files of fitted constants differ in");
    add_output_options(app, r.output, report_formats);
    app.add_option("first", r.first, "a calibration")->required()->type_name("A.json");
    app.add_option("second", r.second, "another of the same format")->required()->type_name("B.json");
    app.add_option("--on", r.on, "the accelerator or cluster that times are compared on (default: whose it is)")
        ->option_text("NAME|FILE.json");
    app.footer(
        "Spreads are one standard deviation of the fit. Times are predicted over usual shapes and sizes.\n\nExamples:\n"
        "  sextant calibrate diff before.json after.json\n"
        "  sextant calibrate diff mine.json theirs.json --on host.json --format json\n");
    options->diff_app = &app;
}

int calibrate(Options const& options, CommandContext& context) {
    if (options.report_app->parsed()) return report_calibration(options.report, context);
    if (options.diff_app->parsed()) return diff_calibrations(options.diff, context);
    if (options.import_app->parsed()) return import_measurements(options.import, context);
    if (options.run_app->parsed()) return run_benchmarks(options.run, context);
    return fit(options.fit, context);
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    describe_run(app, options);
    describe_import(app, options);
    describe_fit(app, options);
    describe_report(app, options);
    describe_diff(app, options);
    app.require_subcommand(1);
    app.footer(
        "Measure, fit, look, use: docs/calibration.md. Every subcommand has a --help of its own.\n\nExamples:\n"
        "  sextant calibrate run --out rows.csv --describe-host host.json\n"
        "  sextant calibrate fit --kernels rows.csv --device host.json --out mine.json\n"
        "  sextant calibrate report mine.json --rows rows.csv --device host.json\n"
        "  sextant validate kernels rows.csv --profile host.json --calibration mine.json\n");
    return [options, &context] { return calibrate(*options, context); };
}

}  // namespace

extern constinit CommandEntry const calibrate_command;
constinit CommandEntry const calibrate_command{
    .name = "calibrate",
    .summary = "measure a machine, fit the cost models to it, and see how well they hold",
    .describe = describe,
};

}  // namespace sextant::cli

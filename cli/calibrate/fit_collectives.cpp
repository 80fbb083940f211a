#include "cli/calibrate/fit_collectives.hpp"

#include "calibrate/collective_score.hpp"
#include "calibrate/collective_screen.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "cli/calibrate/fitted_file.hpp"
#include "cli/calibrate/import.hpp"
#include "cli/calibrate/named_otherwise.hpp"
#include "cli/progress.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

namespace sextant::cli {
namespace {

std::vector<CollectiveMeasurement> read_rows(CollectiveFitRequest const& request, ClusterSpec const* cluster,
                                             CommandContext& context) {
    std::vector<CollectiveMeasurement> rows;
    NamedOtherwise named_otherwise;
    auto const add = [&](std::string const& file, CollectiveMeasurements read) {
        for (auto const& [reason, count] : read.skipped)
            context.err << fmt::format("{}: {} rows left out: {}\n", file, count, reason);
        for (CollectiveMeasurement const& row : read.rows)
            if (cluster != nullptr) count_named_otherwise(named_otherwise, row.device, cluster->accelerator);
        part_runs(read.rows, rows, file);
        rows.insert(rows.end(), std::make_move_iterator(read.rows.begin()), std::make_move_iterator(read.rows.end()));
    };
    std::string const device = cluster != nullptr ? cluster->accelerator.name : "";
    for (CsvTable const& table : collective_tables_of(request.tables, device, context))
        add(table.name, collective_measurements(table, cluster));
    for (std::string const& file : request.logs) {
        if (cluster == nullptr)
            throw InputError("--nccl-log: needs --cluster (a log does not name the network it ran on)");
        for (NcclTestsLog const& run : read_nccl_tests_log(read_text_file(file, largest_foreign_file), file)) {
            for (auto const& [reason, count] : run.skipped)
                context.err << fmt::format("{}: {} lines left out: {}\n", file, count, reason);
            add(file, collective_measurements(run.rows, cluster));
        }
    }
    if (cluster != nullptr)
        context.err << named_otherwise_text(named_otherwise, cluster->accelerator.name, "as --cluster says");
    if (rows.empty()) throw InputError("calibrate fit: no usable rows (--collectives FILE.csv or --nccl-log FILE)");
    if (std::size_t const repeats = drop_repeats(rows); repeats > 0)
        context.err << fmt::format("{} rows left out: each says what another row says\n", repeats);
    for (CopiedSweep const& copy : drop_copies(rows))
        context.err << fmt::format("{} rows of run '{}' left out: run '{}' has the same (a copy is no second run)\n",
                                   copy.rows, copy.run, copy.of);
    if (cluster != nullptr)
        for (auto const& [reason, count] : drop_impossible(rows, *cluster))
            context.err << fmt::format("{} rows left out: {}\n", count, reason);
    if (std::size_t const slips = drop_too_fast(rows); slips > 0)
        context.err << fmt::format(
            "{} rows left out: under half the time of the two smaller sizes of their run, and the larger ones have "
            "less "
            "bandwidth (measure these sizes again)\n",
            slips);
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
int fit_catalogue(CollectiveFitRequest const& request, CommandContext& context) {
    auto const rows = read_rows(request, nullptr, context);
    MeasurementList const list = list_of(rows);
    FitOptions const options{.starts = 3, .starts_from = StartsFrom::priors};
    std::string const command = "sextant calibrate fit --collectives FILE.csv --catalogue FOLDER";
    std::vector<std::string> names;
    for (NetworkEntry const& entry : network_entries())
        if (request.only.empty() ||
            std::find(request.only.begin(), request.only.end(), entry.name) != request.only.end())
            names.push_back(entry.name);
    auto const none = [](CollectiveMeasurement const&) { return false; };
    begin_step(context, "fitting");
    auto calibrations = fit_entries(names, list, none, {}, options, command);
    auto const scored = score_entries(list, calibrations, options,
                                      [&](std::string const& name) { begin_step(context, "scoring " + name); });
    for (NetworkCalibration& calibration : calibrations) {
        auto const part = calibration.scale_up ? NetworkPart::scale_up : NetworkPart::scale_out;
        add_scores(calibration, scored, part);
        write_fitted(request.catalogue + "/" + calibration.name + ".json", network_calibration_json(calibration));
    }
    auto const grown = score_growth(list, calibrations, options);
    begin_step(context, "scoring rows of runs that are fitted");
    auto const single = score_rows(list, calibrations, options);
    context.out << for_terminal(
        error_table(errors_from(scored, "")).text() + "\n4 to 8 ranks of a domain, 2 to 8 domains\n\n" +
            error_table(errors_from(grown, "")).text() + "\nother rows of the same runs fitted\n\n" +
            error_table(errors_from(single, "")).text(),
        terminal_of(context.out));
    if (!request.out.empty()) {
        write_text_file(request.out, held_out_csv(scored));
        write_text_file(request.out + ".growth.csv", held_out_csv(grown));
        write_text_file(request.out + ".rows.csv", held_out_csv(single));
    }
    return exit_code::done;
}

/// The command that fits these rows again.
std::string command_of(CollectiveFitRequest const& request) {
    std::string out = fmt::format("sextant calibrate fit --cluster {}", request.cluster);
    auto const add = [&](char const* flag, std::vector<std::string> const& files) {
        for (std::string const& file : files)
            out += fmt::format(" {} {}", flag, std::filesystem::path(file).filename().string());
    };
    add("--collectives", request.tables);
    add("--nccl-log", request.logs);
    if (request.held_out > 0) out += fmt::format(" --held-out {:g}", request.held_out);
    return out;
}

/// One machine of the user's: constants from most runs, errors from the runs that were held out.
int fit_cluster(CollectiveFitRequest const& request, CommandContext& context) {
    ClusterSpec const cluster = find_cluster(request.cluster, "--cluster");
    auto const rows = read_rows(request, &cluster, context);
    NetworkCalibration const calibration =
        fit_with_held_out(list_of(rows), cluster, {.held_out = request.held_out, .command = command_of(request)});
    write_fitted(request.out, network_calibration_json(calibration));
    context.out << fmt::format("{} runs, {} rows; held out: {}\n", calibration.provenance.runs,
                               calibration.provenance.rows, calibration.provenance.method);
    if (!calibration.provenance.held_out.empty())
        context.out << for_terminal(error_table(calibration.provenance.held_out).text(), terminal_of(context.out));
    return exit_code::done;
}

}  // namespace

int fit_collective_tables(CollectiveFitRequest const& request, CommandContext& context) {
    if (!request.catalogue.empty()) return fit_catalogue(request, context);
    if (request.cluster.empty()) throw InputError("--cluster: is missing (whose network is it?)");
    if (request.out.empty()) throw InputError("--out: is missing (the calibration is written there)");
    if (!(request.held_out >= 0 && request.held_out <= 0.5))
        throw InputError("--held-out: {} (0 to 0.5 of the runs)", request.held_out);
    return fit_cluster(request, context);
}

}  // namespace sextant::cli

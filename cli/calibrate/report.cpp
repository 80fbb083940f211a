#include "cli/calibrate/report.hpp"

#include "calibrate/import/importer.hpp"
#include "cli/calibrate/import.hpp"
#include "cli/calibrate/named_otherwise.hpp"
#include "cli/calibrate/subcommand.hpp"
#include "cli/options/written_file.hpp"
#include "cli/validate/plots.hpp"
#include "cli/validate/row_words.hpp"
#include "core/error.hpp"
#include "planner/validation/table_predictor.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <limits>
#include <map>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

ValidationKind kind_of(CalibrationFile const& file) {
    constexpr ValidationKind kinds[] = {ValidationKind::kernels, ValidationKind::collectives, ValidationKind::train};
    return kinds[file.index()];
}

/// @param device of rows of foreign formats that say none
std::vector<CsvTable> tables_of(ReportRequest const& request, ValidationKind kind, std::string const& device,
                                CommandContext& context) {
    if (kind == ValidationKind::collectives) return collective_tables_of(request.rows, device, context);
    std::vector<CsvTable> tables;
    for (std::string const& file : request.rows) {
        if (kind == ValidationKind::train) {
            refuse_foreign_file(file);
            tables.push_back(read_csv(file));
        } else {
            for (CsvTable& table : kernel_tables_of(file, device, context))
                tables.push_back(std::move(table));
        }
    }
    return tables;
}

/// The groups that a report shows: "product bf16" is a kernel and a number format.
std::vector<RowGroup> shown_groups(ScoredRow const& row, ValidationKind kind) {
    std::vector<RowGroup> out;
    for (RowGroup const& group : row.groups) {
        if (group.by == "split" || group.by == "kernel on device" || group.by == "run") continue;
        if (group.by == "kernel") {
            auto const space = group.name.find(' ');
            out.push_back({.by = "op", .order = 0, .name = group.name.substr(0, space)});
            if (space != std::string::npos) out.push_back({.by = "op and format", .order = 0, .name = group.name});
            continue;
        }
        out.push_back(group);
    }
    if (kind == ValidationKind::train) out.push_back({.by = "source", .order = 0, .name = row.source});
    return out;
}

struct Errors {
    std::vector<double> held_out, fitted, other;
};

/// Which of the three the row belongs to.
std::vector<double>& list_for(Errors& errors, ScoredRow const& row) {
    for (RowGroup const& group : row.groups)
        if (group.by == "split") {
            if (group.order == 0) return errors.held_out;
            return group.order == 1 ? errors.fitted : errors.other;
        }
    return errors.other;
}

/// What a row is, whatever the fit has seen of it: "gemm bf16", "all_reduce, in one domain"; of a step its source.
RowGroup kind_group(ScoredRow const& row) {
    for (RowGroup const& group : row.groups)
        if (group.by == "kernel" || group.by == "collective") return group;
    return {.by = "source", .order = 0, .name = row.source.empty() ? "rows" : row.source};
}

class Collector {
public:
    /// @param format of the report: a page has the rows as points.
    Collector(ValidationKind kind, Format format)
        : kind_(kind), with_points_(format == Format::html), scorer_(kind), plots_(kind) {}

    void add(ScoredRow const& row) {
        scorer_.add(row);
        plots_.add(row);
        RowPrediction const& p = row.prediction;
        if (!p.time || !p.measured_time || !p.time_reason.empty() || !p.skip_reason.empty()) return;
        double const error = *p.time / *p.measured_time - 1;
        list_for(all_, row).push_back(error);
        for (RowGroup const& group : shown_groups(row, kind_))
            list_for(groups_[group], row).push_back(error);
        if (with_points_) add_point(row);
    }

    void finish(CalibrationReport& report, std::string const& plots, CommandContext& context) const {
        report.validation = scorer_.result();
        report.points = points_;
        auto const add = [&](RowGroup const& group, Errors const& errors) {
            report.groups.push_back({.by = group.by,
                                     .order = group.order,
                                     .name = group.name,
                                     .held_out = error_statistics(errors.held_out),
                                     .fitted = error_statistics(errors.fitted),
                                     .other = error_statistics(errors.other)});
        };
        add({.by = "", .order = 0, .name = "all rows"}, all_);
        for (auto const& [group, errors] : groups_)
            add(group, errors);
        bool const split = !all_.held_out.empty();
        report.histogram_of = split ? "rows that were held out" : "rows";
        std::vector<double> percent;
        std::vector<double> const& shown = split ? all_.held_out : all_.other;
        for (double const error : shown)
            percent.push_back(100 * error);
        report.histogram = error_histogram(percent);
        if (!plots.empty())
            context.err << fmt::format("{} plots in {}\n", plots_.write(plots, report.validation), plots);
    }

private:
    void add_point(ScoredRow const& row) {
        ValidationPoints::Point const point{.measured = row.prediction.measured_time->base(),
                                            .predicted = row.prediction.time->base(),
                                            .label = row.what.empty() ? row.where : row.where + ": " + row.what};
        if (!(point.measured > 0 && point.predicted > 0)) return;
        RowGroup split{.by = "split", .order = 2, .name = "rows"};
        for (RowGroup const& group : row.groups)
            if (group.by == "split") split = group;
        points_.by_split.groups[split].push_back(point);
        points_.by_kind.groups[kind_group(row)].push_back(point);
    }

    ValidationKind kind_;
    bool with_points_;
    CalibrationPoints points_;
    Scorer scorer_;
    ValidationPlots plots_;
    Errors all_;
    std::map<RowGroup, Errors> groups_;
};

std::vector<std::string> unidentified_constants(CalibrationFile const& file) {
    std::vector<std::string> out;
    if (std::holds_alternative<FrameworkProfile>(file)) return out;  // says nothing of spreads
    std::string part;
    for (CalibrationConstant const& c : constants_of(file)) {
        if (c.spread) continue;
        if (c.part != part)
            out.push_back(fmt::format("{}: {}", c.part, c.key));
        else
            out.back() += ", " + c.key;
        part = c.part;
    }
    return out;
}

}  // namespace

std::vector<ErrorBin> error_histogram(std::vector<double> const& errors_pct) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    constexpr double edges[] = {-infinite, -50, -25, -15, -10, -5, -2, 2, 5, 10, 15, 25, 50, infinite};
    std::vector<ErrorBin> bins;
    for (std::size_t i = 0; i + 1 < std::size(edges); ++i)
        bins.push_back({.low_pct = edges[i], .high_pct = edges[i + 1], .rows = 0});
    for (double const error : errors_pct)
        for (ErrorBin& bin : bins)
            if (error >= bin.low_pct && error < bin.high_pct) ++bin.rows;
    return bins;
}

int report_calibration(ReportRequest const& request, CommandContext& context) {
    auto const format = request.output.format();
    CalibrationReport report{.file = read_calibration(request.file),
                             .held_out = {},
                             .unidentified = {},
                             .groups = {},
                             .histogram_of = "",
                             .histogram = {},
                             .validation = {}};
    report.held_out = held_out_of(report.file);
    report.unidentified = unidentified_constants(report.file);
    if (request.rows.empty() && (!request.plots.empty() || !request.device.empty()))
        throw InputError("calibrate report: --plots and --device need --rows");
    if (!request.rows.empty()) {
        ValidationKind const kind = kind_of(report.file);
        auto const device = device_of_rows(kind, request.device, "--device");
        bool const of_device =
            kind == ValidationKind::kernels || (kind == ValidationKind::collectives && !request.device.empty());
        TablePredictor const predict =
            table_predictor(kind, of_device ? request.device : request.file, of_device ? request.file : "");
        context.err << sheet_warning(report.file, request.device);
        Collector collector(kind, format);
        ScoredAsOne as_one(kind, device);
        for (CsvTable const& table : tables_of(request, kind, device ? device->name : "", context)) {
            std::vector<ScoredRow> rows = predict(table);
            as_one.add(table, rows);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                name_row(kind, table, table.records[i], rows[i]);
                collector.add(rows[i]);
            }
        }
        context.err << as_one.text("as --device says");
        collector.finish(report, request.plots, context);
    }
    deliver(request.output, context, calibration_report(report, format));
    return exit_code::done;
}

Subcommand describe_calibrate_report(CLI::App& calibrate, CommandContext& context) {
    auto const request = std::make_shared<ReportRequest>();
    ReportRequest& r = *request;
    CLI::App& app = *calibrate.add_subcommand("report", "how well fitted constants hold");
    add_output_options(app, r.output, formats_and_page);
    app.add_option("file", r.file, "kernel-calibration, network-calibration or framework")
        ->required()
        ->type_name("FILE.json");
    app.add_option("--rows", r.rows, "measurements to score it on, as of fit and validate; may be repeated")
        ->option_text("FILE");
    app.add_option("--device", r.device,
                   "the accelerator, or of networks the cluster, that the rows are of (default: as they say)")
        ->option_text("NAME|FILE.json");
    written(
        app.add_option("--plots", r.plots, "write predicted against measured times of --rows into this folder, as SVG"))
        ->option_text("FOLDER");
    app.footer(
        "Rows that a fit of kernels held out are scored apart from those that it saw; those of networks and\n"
        "frameworks are scored together.\n\nExamples:\n"
        "  sextant calibrate report mine.json\n"
        "  sextant calibrate report mine.json --rows gemm.csv --rows attention.csv --plots plots\n"
        "  sextant calibrate report mine.json --rows rows.csv --device host.json --format html --output report.html\n"
        "  sextant calibrate report out.json --rows rows.csv --device host.json --format markdown\n");
    return {&app, [request, &context] { return report_calibration(*request, context); }};
}

}  // namespace sextant::cli

#pragma once

#include "cli/calibrate/calibration_file.hpp"
#include "cli/output.hpp"
#include "cli/validate/page.hpp"
#include "planner/validation/score.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What `calibrate report` was asked to do.
struct ReportRequest {
    OutputOptions output{};
    std::string file;
    std::vector<std::string> rows;  ///< tables to score it on
    std::string device;             ///< accelerator, cluster or framework that the rows are of; empty: as they say
    std::string plots;              ///< folder; empty: none
};

/// Errors of one group of rows, those that the fit saw apart from those that it did not.
struct SplitErrors {
    std::string by;  ///< "kernel", "number format", "predicted time", ...
    int order = 0;
    std::string name;
    ErrorStatistics held_out;
    ErrorStatistics fitted;
    ErrorStatistics other;  ///< rows of other sources, and all rows where the file does not say which it saw
};

/// A bar of the histogram of signed errors.
struct ErrorBin {
    double low_pct = 0;
    double high_pct = 0;
    std::size_t rows = 0;
};

/// The rows as points, for the page alone: by whether the fit saw them, and by what they are.
struct CalibrationPoints {
    ValidationPoints::Figure by_split{.name = "time", .unit = "s"};
    ValidationPoints::Figure by_kind{.name = "time", .unit = "s"};
};

struct CalibrationReport {
    CalibrationFile file;
    std::vector<HeldOutLine> held_out;      ///< as the file says
    std::vector<std::string> unidentified;  ///< constants that the rows said nothing of
    std::vector<SplitErrors> groups;        ///< of --rows
    std::string histogram_of;               ///< which rows: "held-out rows", "rows"; empty without --rows
    std::vector<ErrorBin> histogram;
    Validation validation;  ///< of --rows
    CalibrationPoints points{};
};

/// Bins of signed errors in per cent, the outermost open.
std::vector<ErrorBin> error_histogram(std::vector<double> const& errors_pct);

/// "below -50 %", "-2 to +2 %".
std::string bin_name(ErrorBin const& bin);

/// One of the three kinds of rows: "held out" and where its errors stand.
struct RowSplit {
    char const* name;
    ErrorStatistics SplitErrors::*errors;
};
/// Those that there are rows of. @pre the report has groups.
std::vector<RowSplit> splits_of(CalibrationReport const& report);

std::string calibration_report(CalibrationReport const& report, Format format);
std::string calibration_report_json(CalibrationReport const& report);

/// The report as a page: predicted against measured, how large the errors are, tables by group, the worst rows, what
/// the file says of itself.
std::string calibration_page(CalibrationReport const& report);

/// Reads, scores and prints.
int report_calibration(ReportRequest const& request, CommandContext& context);

}  // namespace sextant::cli

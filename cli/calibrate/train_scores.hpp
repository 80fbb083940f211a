#pragma once

#include "calibrate/framework_fit.hpp"
#include "cli/view/table.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

constexpr char const* experts_kind = "mixtures of experts";
constexpr char const* waiting_kind = "steps that wait for the host";

/// Whose interval a step has: that of a kind of steps, whatever the framework, or that of the family.
std::string interval_kind(StepMeasurement const& row, std::string const& family);

/// Errors of steps: log(predicted / measured).
struct TrainScores {
    std::map<std::string, std::vector<double>> fitted;     ///< by source
    std::map<std::string, std::vector<double>> left_out;   ///< the same, the source left out
    std::vector<double> all;                               ///< of left-out sources
    std::vector<double> before;                            ///< of all rows, by the profile that a fit is around
    std::map<std::string, std::vector<double>> of_family;  ///< both: a plan may be like a row that was fitted or not
    std::vector<double> of_all;
    std::map<std::string, std::vector<double>> of_kind;  ///< of steps whose interval is not their framework's
    std::vector<std::pair<std::string, double>> alone;   ///< left out: kind or family, and error

    /// An error that intervals come from.
    void add(std::string const& family, StepMeasurement const& row, double error);
};

/// One line per row that was fitted: measured, and predicted with and without its source.
class RowsFile {
public:
    void add(std::string const& framework, LeftOutStep const& step, double fitted);
    /// Of a source that could not be left out.
    void add_fitted(std::string const& framework, StepMeasurement const& row, double fitted);
    void write(std::string const& file) const;

private:
    std::string lines_;
};

/// Per cent of the rows left out that lie in their intervals.
double inside_intervals(TrainScores const& scores, std::map<std::string, FrameworkProfile> const& profiles,
                        std::map<std::string, StepInterval> const& of_kind);

/// 80 % of the errors, and 2 % either way at least.
StepInterval interval_of_errors(std::vector<double> const& log_errors);
/// No narrower than the interval of the profile that a fit begins with: rows of one machine say nothing of others.
StepInterval widened(StepInterval const& before, std::vector<double> const& log_errors);

/// What rows of one's own say of the table they are in, where a fit around a shipped profile does not meet them; empty
/// where it does.
std::string misfit(TrainScores const& scores);

/// One line per source, and one of what was said before the fit where that was around a profile.
Table score_table(TrainScores const& scores);

}  // namespace sextant::cli

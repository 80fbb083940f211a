#pragma once

#include "core/csv.hpp"
#include "planner/validation/error_statistics.hpp"
#include "planner/validation/training_case.hpp"
#include "simulator/closed_form.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// The 80 % interval of a step time as factors of the prediction. Assumed: within a framework family constants carry to
/// 2-8 % in the median and to 15-30 % at the 90 % quantile.
inline constexpr double time_interval_low = 0.8;
inline constexpr double time_interval_high = 1.25;

/// What the closed form says of one row, and what was measured.
struct RowPrediction {
    std::optional<Seconds> time;
    std::optional<double> memory_gb;  ///< the figure, rank and unit of that source's column
    std::optional<bool> fits;
    std::string skip_reason;  ///< not empty: the row could not be expressed, nothing is predicted
    std::string time_reason;  ///< why time is not scored (or not predicted)
    std::string memory_reason;
    std::optional<Seconds> measured_time;
    std::optional<double> measured_memory_gb;
    std::optional<bool> ran;  ///< false: ended out of memory; nothing where that says nothing
    std::vector<std::string> assumptions;
};

/// Says of plans that ran out of memory and plans that ran whether they fit.
struct FitScore {
    std::size_t n = 0;
    std::size_t missed = 0;        ///< ran out of memory, predicted to fit
    std::size_t false_alarms = 0;  ///< ran, predicted not to fit
    [[nodiscard]] double accuracy_pct() const;
};

using ReasonCounts = std::map<std::string, std::size_t>;

struct SourceScore {
    std::string source;
    std::size_t n = 0;        ///< rows read
    std::size_t skipped = 0;  ///< of them, rows that cannot be expressed
    ErrorStatistics time;
    ErrorStatistics memory;
    FitScore oom;
    ReasonCounts skip_reasons;
    ReasonCounts time_reasons;  ///< rows predicted but not scored on time
    ReasonCounts memory_reasons;
    ReasonCounts assumptions;
};

/// All files together.
struct TrainValidation {
    SourceScore overall;
    std::vector<SourceScore> sources;  ///< in alphabetical order
};

/// Predictions for one table, in the order of its rows.
class TrainPredictor {
public:
    explicit TrainPredictor(std::string profile = "") : builder_(std::move(profile)) {}
    RowPrediction predict(TrainingRow const& row);

private:
    CaseBuilder builder_;
};

/// Bytes of this stage list that a source's peak stands for.
Bytes comparable_memory(MemoryQuantity quantity, std::vector<StageMemory> const& stages,
                        FrameworkMemory const& framework);

/// Time of one step as it was measured: iteration time; else from tokens/s; else from TFLOP/s or MFU with the formula
/// of arXiv:2104.04473 (full recompute counted in for hardware figures). Nothing where the row does not say.
std::optional<Seconds> measured_time(TrainingRow const& row, TrainingCase const& c);

/// Adds a row to the score of its source and to the overall score.
class TrainScorer {
public:
    void add(TrainingRow const& row, RowPrediction const& prediction);
    [[nodiscard]] TrainValidation result() const;

private:
    struct Tally {
        SourceScore score;
        std::vector<double> time_errors;
        std::vector<double> memory_errors;
    };
    static void add(Tally& tally, RowPrediction const& prediction);
    std::map<std::string, Tally> tallies_;
    Tally overall_;
};

/// Header and rows of `--rows`: the input's cells with the prediction appended. Columns: see docs/validation.md.
std::string predictions_header(CsvTable const& table);
std::string predictions_line(CsvRecord const& record, RowPrediction const& prediction);

}  // namespace sextant

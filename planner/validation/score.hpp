#pragma once

#include "core/units.hpp"
#include "planner/validation/error_statistics.hpp"
#include "planner/validation/layout_ranking.hpp"
#include "planner/validation/worst_rows.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// What is compared with measurements.
enum class ValidationKind : std::uint8_t { train, kernels, collectives, serving };
std::string_view name_of(ValidationKind kind);

/// The 80 % interval of a predicted time, as factors of it.
struct IntervalFactors {
    double low = 1;
    double high = 1;
};

/// assumed, until they come from the residuals of a fit. Train: within a framework family constants carry to 2-8 % in
/// the median and to 15-30 % at the 90 % quantile. Kernels and collectives: as their models have it where nothing was
/// fitted (`assumed_kernel_factors`, `assumed_collective_factors`).
IntervalFactors interval_factors(ValidationKind kind);

struct RowPrediction;
/// The interval of this prediction: its own, else that of its kind.
IntervalFactors interval_of(ValidationKind kind, RowPrediction const& prediction);

/// A part of the rows that is scored on its own besides their source. Ordered as they are shown.
struct RowGroup {
    std::string by;  ///< "collective", "size", "run", ...
    int order = 0;
    std::string name;
    auto operator<=>(RowGroup const&) const = default;
};

/// What is predicted of a serving row, in this order: time to the first token and from token to token in milliseconds,
/// output tokens per second.
inline constexpr std::array<std::string_view, 3> served_names{"ttft", "tpot", "throughput"};

struct ServedFigure {
    std::optional<double> predicted;
    std::optional<double> measured;
};

/// What our models say of one row, and what was measured.
struct RowPrediction {
    std::optional<Seconds> time;
    std::optional<IntervalFactors> interval;  ///< of this time; absent: that of its kind
    std::optional<double> memory_gb;          ///< the figure, rank and unit of that source's column
    std::optional<bool> fits;
    std::string skip_reason;  ///< not empty: the row could not be expressed, nothing is predicted
    std::string unreadable;   ///< the cell that is the reason, with its line; empty: it is something else
    std::string time_reason;  ///< why time is not scored (or not predicted)
    std::string memory_reason;
    std::optional<Seconds> measured_time;
    std::optional<double> measured_memory_gb;
    std::optional<bool> ran;  ///< false: ended out of memory; nothing where that says nothing
    std::vector<std::string> assumptions;
    std::array<ServedFigure, served_names.size()> served{};
    std::string question;  ///< which rows differ from this one in their layout alone; empty: none is asked for
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
    std::size_t inside_interval = 0;  ///< of the rows scored on time, those measured inside the 80 % interval
    ErrorStatistics memory;
    std::array<ErrorStatistics, served_names.size()> served{};
    FitScore oom;
    ReasonCounts skip_reasons;
    ReasonCounts time_reasons;  ///< rows predicted but not scored on time
    ReasonCounts memory_reasons;
    ReasonCounts assumptions;
};

struct GroupScore {
    RowGroup group;
    SourceScore score;  ///< of predicted rows: a row that cannot be expressed belongs to no group
};

/// All files together.
struct Validation {
    ValidationKind kind = ValidationKind::train;
    SourceScore overall;
    std::vector<SourceScore> sources;  ///< in alphabetical order
    std::vector<GroupScore> groups;
    LayoutRanking ranking{};
    std::vector<WorstRow> worst{};  ///< ten, from the worst on
    bool interrupted = false;       ///< there are more rows, which nobody looked at
};

/// A row's prediction and where it counts.
struct ScoredRow {
    std::string source;
    std::vector<RowGroup> groups;
    RowPrediction prediction;
    std::string where{};  ///< "FILE line N"
    std::string what{};   ///< the row in words
    std::string doubt{};  ///< what speaks against the row, or against its prediction; empty: nothing known
};

/// Adds rows to the scores of their source, of their groups and over all.
class Scorer {
public:
    explicit Scorer(ValidationKind kind) : kind_(kind) {}
    void add(ScoredRow const& row);
    [[nodiscard]] Validation result() const;

private:
    struct Tally {
        SourceScore score;
        std::vector<double> time_errors;
        std::vector<double> memory_errors;
        std::array<std::vector<double>, served_names.size()> served_errors;
    };
    void add(Tally& tally, RowPrediction const& prediction) const;
    void add_to_worst(ScoredRow const& row);
    ValidationKind kind_;
    std::map<std::string, Tally> sources_;
    std::map<RowGroup, Tally> groups_;
    Tally overall_;
    std::map<std::string, std::vector<LayoutTimes>> questions_;
    WorstRows worst_{10};
    std::map<std::pair<std::string, double>, std::vector<double>> alike_;  ///< measured, by source and predicted time
};

}  // namespace sextant

#pragma once

#include "simulator/faults/fault_trial.hpp"

#include <atomic>
#include <functional>

namespace sextant {

/// A quantity over the trials: mean, its standard error, quantiles.
struct Spread {
    double mean = 0;
    double standard_error = 0;
    double p5 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;
};

/// A cause over all trials.
struct SimulatedCause {
    std::string name;
    double per_day = 0;  ///< incidents per day of wall-clock time, as `CauseLoss` counts them
    Seconds each{};      ///< share / per_day
    double share = 0;    ///< of the wall-clock time
};

/// Many runs of one case.
struct FaultStudy {
    std::int64_t trials = 0;    ///< that ran
    std::int64_t finished = 0;  ///< the others made no progress to speak of and were given up
    bool interrupted = false;
    Spread wall_s;  ///< of the finished ones, as is all that follows
    Spread ratio;   ///< work / wall of each trial
    Spread failures;
    TimeUse<double> shares;  ///< of the wall-clock time of all trials together
    std::vector<SimulatedCause> causes;

    /// Work over mean wall-clock time: what the closed form's ratio is.
    [[nodiscard]] double ratio_of_means() const { return shares.useful; }
    /// Standard error of it, from that of the wall-clock time.
    [[nodiscard]] double ratio_error() const {
        return finished > 0 ? shares.useful * wall_s.standard_error / wall_s.mean : 0;
    }
};

struct StudyOptions {
    TrialOptions trial{};
    std::int64_t trials = 200;
    unsigned threads = 0;                          ///< 0: all cores; the result does not depend on it
    std::atomic<bool> const* stop = nullptr;       ///< when set, no further trial is begun
    std::function<void(std::int64_t)> progress{};  ///< trials done, from any thread
};

/// @throws InputError as check_goodput_case; when a trial would take more snapshots than can be simulated.
FaultStudy study_faults(GoodputCase const& run, StudyOptions const& options);

/// One interval of a search: the first tier's.
struct IntervalTrial {
    Seconds interval{};
    double ratio = 0;
    double behind = 0;        ///< how much lower its ratio is than the best's, over common random numbers
    double behind_error = 0;  ///< standard error of that difference
};
struct IntervalSearch {
    std::vector<IntervalTrial> tried;  ///< ascending
    Seconds best{};
    Seconds flat_low{};  ///< the intervals around it that are not worse by more than two standard errors
    Seconds flat_high{};
    bool interrupted = false;
};

/// The first tier's interval with the shortest simulated run: a geometric grid around the closed form's optimum, then a
/// finer one around the best of these, all against the same failures. Tiers that share the first one's interval go with
/// it.
IntervalSearch search_interval(GoodputCase const& run, StudyOptions const& options);

}  // namespace sextant

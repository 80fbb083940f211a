#pragma once

#include "cost_models/goodput/goodput_case.hpp"

#include <string>
#include <vector>

namespace sextant {

/// Wall-clock time by what it was spent on: shares that add up to one, or times that add up to the run.
template <class Amount>
struct TimeUse {
    Amount useful{};       ///< work that counted in the end
    Amount stall{};        ///< standing still for checkpoints
    Amount rewind{};       ///< work that had to be done again
    Amount detection{};    ///< from the failure until it is noticed
    Amount restart{};      ///< scheduling, loading, starting again, also in vain
    Amount waiting{};      ///< no spare node
    Amount shrink{};       ///< work not done for want of a dropped replica
    Amount maintenance{};  ///< planned stops

    [[nodiscard]] Amount total() const {
        return useful + stall + rewind + detection + restart + waiting + shrink + maintenance;
    }
};

/// What one cause costs.
struct CauseLoss {
    std::string name;
    double per_day = 0;  ///< incidents per day of wall-clock time: those that strike a running job or its restart;
                         ///< failures while it is detected, waits or is stopped are found with the first
    Seconds rewind{};    ///< work that one loses in a running job, on average
    Seconds each{};      ///< detection, restart and rewind of one, on average: share / per_day
    double share = 0;    ///< of the wall-clock time
};

/// Rules for the interval of a tier.
struct TierInterval {
    Seconds used{};
    Seconds mtbf{};  ///< between the failures (and loss spikes) that go back to this tier or to one that it feeds
    Seconds young{};
    Seconds daly{};
    Seconds exact{};   ///< optimum under exponential failures
    Seconds lowest{};  ///< a write in the background has to end before the next begins
};

struct Goodput {
    TimeUse<double> shares;  ///< `useful` is the effective training time ratio
    std::vector<CauseLoss> causes;
    std::vector<TierInterval> intervals;  ///< of each tier
    Seconds wall{};                       ///< expected length of the run; infinite when it makes no progress
    Seconds mtbf{};                       ///< between any two failures of the run; infinite without failures
    std::string approximation{};          ///< why the figures are of first order, empty: exact for exponential failures

    [[nodiscard]] double ratio() const { return shares.useful; }
};

/// Effective training time ratio and what becomes of the rest, by closed form.
///
/// With one tier, exponential failures and no shortage of nodes the ratio is exact:
///   tau exp(-l w) / ((1/l + D) exp(l R) (exp(l (tau + C)) - 1)),
/// l: failures per second, tau: interval, C: stall, w: lag, D: detection, R: restart and load (failures strike in R,
/// not in D). A write in the background that takes longer than the interval holds up the next snapshot, and that wait
/// is part of C. Several tiers are combined to first order in l; nodes in repair are an M/G/infinity queue; Weibull
/// processes count with their long-run rate. Source: Daly 2006 and Bougeret et al. 2011 for w = 0; docs/goodput.md
/// derives the rest.
/// @throws InputError: a value out of range, no tier that survives a failure of some process.
Goodput expected_goodput(GoodputCase const& given);

}  // namespace sextant

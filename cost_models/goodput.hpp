#pragma once

#include "cost_models/goodput/checkpoint.hpp"
#include "cost_models/goodput/failure_process.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// What happens while more nodes are in repair than there are spares.
enum class Shortage : std::uint8_t {
    wait,    ///< the run stands until a node comes back
    shrink,  ///< each missing node costs one data-parallel replica until it comes back
};

/// Nodes held ready, and how broken ones come back.
struct Replacement {
    std::optional<std::int64_t> spares{};  ///< absent: there is always another
    Seconds repair = 1 * units::day;       ///< from the failure until the node is a spare again (assumed)
    Shortage shortage = Shortage::wait;
    std::int64_t dp = 1;  ///< data-parallel replicas, of which a shrinking run drops some
};

/// Losses of quality: the loss jumps up, the run goes back to well before it and leaves out some data.
struct LossSpikes {
    double per_day = 0;  ///< of training
    Seconds rewind{};    ///< at least this much work before the spike; then to the checkpoint before that
};

/// Stops on schedule: a checkpoint first, nothing is lost but the time.
struct Maintenance {
    Seconds every{};  ///< wall-clock time from one to the next, zero: none
    Seconds duration{};
};

/// A training run that failures interrupt.
struct GoodputCase {
    Seconds work{};  ///< how long it would take without failures and checkpoints
    std::vector<FailureProcess> failures;
    std::vector<CheckpointTier> tiers;
    Seconds detection =
        10 * units::minute;               ///< from the failure until somebody knows (assumed: a collective's timeout)
    Seconds restart = 5 * units::minute;  ///< scheduling, start, communicators, first step; without loading (assumed)
    Replacement replacement{};
    LossSpikes spikes{};
    Maintenance maintenance{};

    /// Failures per second of all processes.
    [[nodiscard]] double failures_per_s() const;
};

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
    double per_day = 0;  ///< incidents per day of wall-clock time
    Seconds each{};      ///< detection, restart and rewind of one, on average
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

/// Sets each interval that is zero: the exact optimum for the failures that go back to this tier or to one that it
/// feeds (and for loss spikes, which go back to the storage), at least as long as its write in the background, and as
/// the interval of the tier that feeds it.
/// @throws InputError: no tier that survives a failure of some process.
void choose_intervals(GoodputCase& run);

/// Whether the snapshots of this tier are copies of those of the tier before it: it has no stall of its own.
bool is_fed(GoodputCase const& run, std::size_t tier);

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

/// @throws InputError naming the first value of the case that is out of range.
void check_goodput_case(GoodputCase const& run);

/// The tier with the least loss per failure of this scope among those that survive it, at the intervals set.
/// @throws InputError when none does.
std::size_t best_tier(GoodputCase const& run, FailureScope scope);

/// Training on `gpus` accelerators under the rates of Llama 3, with asynchronous checkpoints of this size on a parallel
/// file system and the best interval: what to assume when nothing else is known.
/// @param host_bandwidth of one accelerator.
GoodputCase usual_goodput_case(Seconds work, std::int64_t gpus, std::int64_t gpus_per_node, Bytes checkpoint,
                               BytesPerSecond host_bandwidth);

}  // namespace sextant

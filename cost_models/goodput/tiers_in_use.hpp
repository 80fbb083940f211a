#pragma once

#include "cost_models/goodput/goodput_case.hpp"

#include <cstddef>
#include <vector>

namespace sextant {

/// Seconds of running from one snapshot of the tier to the next: its work and the stalls of all tiers in it.
Seconds period_of(GoodputCase const& run, std::size_t tier);

/// The tier with the least loss per failure of this scope among those that survive it, at the intervals set.
/// @throws InputError when none does.
std::size_t best_tier(GoodputCase const& run, FailureScope scope);

/// Whether the snapshots of this tier are copies of those of the tier before it: it has no stall of its own.
bool is_fed(GoodputCase const& run, std::size_t tier);

/// Failures that go back to each tier, per second, at the intervals set.
std::vector<double> served_rates(GoodputCase const& run);

/// What goes back to this tier, or to one that it feeds, per second: failures, and to the last one, the storage, loss
/// spikes.
double with_spikes(GoodputCase const& run, std::vector<double> const& rates, std::size_t tier);

/// Sets each interval that is zero: the exact optimum for the failures that go back to this tier or to one that it
/// feeds (and for loss spikes, as `with_spikes`), at least as long as its write in the background, and as
/// the interval of the tier that feeds it.
/// @throws InputError: no tier that survives a failure of some process.
void choose_intervals(GoodputCase& run);

}  // namespace sextant

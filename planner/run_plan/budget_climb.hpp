#pragma once

#include "planner/run_plan/budget_rounds.hpp"

#include <cstdint>

namespace sextant {

/// The best use of a budget on the way up the ladder of accelerators.
struct BudgetClimb {
    BudgetRun best;
    std::int64_t first = 0;  ///< rung with a plan
    std::int64_t last = 0;   ///< rung that was tried
};

/// Plans a budget of money or machine time on the rungs from `first`: on and on while nothing fits, then all of them to
/// the next power of two, then one an octave until two in succession are no better. Better is the lower loss, of laws
/// without one more compute; more tokens of a model that is given, a larger model of tokens that are.
/// @throws InputError: as `plan_budget` does for the first rung.
BudgetClimb climb_ladder(RunSetting const& setting, RunQuestion const& question, std::int64_t first);

}  // namespace sextant

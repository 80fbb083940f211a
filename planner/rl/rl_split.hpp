#pragma once

#include "planner/rl/rl_step.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace sextant {

/// The best way to divide the accelerators in one mode.
struct RlModeAnswer {
    RlMode mode = RlMode::colocated;
    std::optional<RlStep> best;  ///< by effective responses a second; absent: nothing is possible
    std::vector<RlStep> splits;  ///< the best engine for each division that was tried, by accelerators of the engines
    std::string reason;          ///< why there is no best
};

struct RlAnswer {
    std::vector<RlModeAnswer> modes;
    bool interrupted = false;
    [[nodiscard]] RlModeAnswer const* find(RlMode mode) const;
    /// The best step of this mode, or null.
    [[nodiscard]] RlStep const* best(RlMode mode) const;
    /// Of all modes, by effective responses a second; null: nothing is possible.
    [[nodiscard]] RlStep const* best() const;
};

/// Accelerators of the engines that are tried: all numbers up to 32 accelerators, whole domains beyond or, where
/// fewer than seven of these are there, a power of two below; of more than 32 of these about every 1/16;
/// `refine_splits` names those between the neighbours of the best.
std::vector<std::int64_t> coarse_splits(std::int64_t accelerators, std::int64_t domain);
std::vector<std::int64_t> refine_splits(std::vector<std::int64_t> const& tried, std::int64_t best, std::int64_t domain);

/// What the search was asked to look at.
struct RlSearch {
    std::vector<RlMode> modes;
    std::optional<std::int64_t> rollout_accelerators;  ///< absent: searched
    std::function<bool()> stop;                        ///< asked between steps; may be empty
};

/// Every mode with every division and tensor parallelism of the engines.
RlAnswer search_rl(RlPlanner& planner, RlSearch const& search);

}  // namespace sextant

#pragma once

#include "planner/run_plan/training_run.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// One number of accelerators of a scaling curve.
struct CurvePoint {
    std::int64_t accelerators = 0;
    std::optional<TrainingRun> run;  ///< absent: it does not fit
    std::string reason;              ///< why not
    double efficiency = 0;           ///< tokens/s per accelerator against the smallest number that fits
    /// Tokens/s gained per accelerator added since the point before, against the tokens/s per accelerator of the
    /// smallest number that fits; 1 for that number.
    double marginal_efficiency = 0;
    std::optional<Dollars> cost_per_halving{};    ///< extra cost of each halved wall clock since the point before
    std::optional<Dollars> cost_per_day_saved{};  ///< extra cost of each day less since the point before
};

struct ScalingCurve {
    std::vector<CurvePoint> points;  ///< by accelerators
    double pays_above = 0.5;         ///< marginal efficiency below which scaling is said not to pay
    /// The first number of accelerators from which on every marginal efficiency is below `pays_above`; absent: the last
    /// step up still pays.
    std::optional<std::int64_t> stops_paying_at;
    bool interrupted = false;
};

/// 1, 8, 64, 256, 512, 1,024, ... 16,384: those that the cluster has.
std::vector<std::int64_t> usual_curve_counts(ClusterSpec const& cluster);

/// The best plan of each number of accelerators, global batch fixed, and what each step up brings.
/// @pre counts ascend and are positive.
ScalingCurve scaling_curve(RunSetting const& setting, ModelSpec const& model, Workload const& workload, double tokens,
                           std::span<std::int64_t const> counts);

/// The same from runs that are known, by accelerators: the efficiencies and costs of each step up.
void fill_efficiencies(ScalingCurve& curve);

}  // namespace sextant

#include "planner/run_plan/scaling_curve.hpp"

#include <cmath>

namespace sextant {
namespace {

double rate_of(TrainingRun const& run) { return run.tokens_per_second(); }

/// What this point costs more than the one before, per halving and per day saved; nothing where it saves no time.
void fill_marginal_cost(CurvePoint& point, TrainingRun const& before) {
    TrainingRun const& run = *point.run;
    if (!run.cost || !before.cost || run.wall >= before.wall) return;
    Dollars const extra = *run.cost - *before.cost;
    point.cost_per_halving = extra / std::log2(before.wall / run.wall);
    point.cost_per_day_saved = extra / (before.wall - run.wall).in(units::day);
}

}  // namespace

std::vector<std::int64_t> usual_curve_counts(ClusterSpec const& cluster) {
    std::vector<std::int64_t> counts;
    for (std::int64_t const n : {1, 8, 64, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
        bool const has = cluster.max_accelerators == 0 || n <= cluster.max_accelerators;
        if (has && (n <= cluster.domain_size || cluster.scale_out)) counts.push_back(n);
    }
    return counts;
}

void fill_efficiencies(ScalingCurve& curve) {
    CurvePoint const* smallest = nullptr;
    CurvePoint const* before = nullptr;
    curve.stops_paying_at.reset();
    for (CurvePoint& point : curve.points) {
        if (!point.run) continue;
        auto const count = static_cast<double>(point.accelerators);
        if (smallest == nullptr) {
            smallest = &point;
            point.efficiency = point.marginal_efficiency = 1;
        } else {
            double const base = rate_of(*smallest->run) / static_cast<double>(smallest->accelerators);
            point.efficiency = rate_of(*point.run) / count / base;
            point.marginal_efficiency = (rate_of(*point.run) - rate_of(*before->run)) /
                                        (count - static_cast<double>(before->accelerators)) / base;
            fill_marginal_cost(point, *before->run);
            if (point.marginal_efficiency >= curve.pays_above)
                curve.stops_paying_at.reset();
            else if (!curve.stops_paying_at)
                curve.stops_paying_at = point.accelerators;
        }
        before = &point;
    }
}

ScalingCurve scaling_curve(RunSetting const& setting, ModelSpec const& model, Workload const& workload, double tokens,
                           std::span<std::int64_t const> counts) {
    ScalingCurve curve;
    for (std::int64_t const count : counts) {
        if (setting.stopped()) {
            curve.interrupted = true;
            break;
        }
        PlannedStep planned = plan_step(setting, model, workload, count);
        curve.interrupted = curve.interrupted || planned.interrupted;
        CurvePoint point{.accelerators = count, .run = {}, .reason = planned.reason};
        if (planned.report) point.run = training_run(setting, planned, tokens);
        curve.points.push_back(std::move(point));
    }
    fill_efficiencies(curve);
    return curve;
}

}  // namespace sextant

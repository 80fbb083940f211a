#pragma once

#include "planner/run_plan/run_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Parameters that a token uses.
double active_parameters(ModelSpec const& model);

/// The model for this much compute: the one that is given, a shape of the size that is given or that the tokens leave,
/// else one of the law's optimum, no larger than `most_parameters`.
/// @throws InputError: a size without a shape.
ModelSpec model_for(RunQuestion const& question, double flops, std::optional<double> most_parameters = {});

/// What a budget of time or money is enough for on so many accelerators.
struct BudgetRun {
    std::int64_t accelerators = 0;
    ModelSpec model;  ///< where there is no plan, the last that was tried
    double tokens = 0;
    Workload workload;
    PlannedStep planned;  ///< without a report: there is no plan
    std::string reason;   ///< why there is none
    std::vector<BudgetRound> rounds;
    std::size_t taken = 0;  ///< of the rounds
    Convergence convergence = Convergence::not_needed;
    bool less_than_a_step = false;    ///< the budget is not enough for one
    std::optional<double> too_large;  ///< parameters of a model that would be better and has no plan
    bool interrupted = false;
};

/// Rounds of model, plan and tokens until the compute agrees; see `answer_run`. Of all rounds the one with the lowest
/// loss is taken, of laws without a loss the last (of a circle the one with the most compute). Each plan is made for
/// the batch of the tokens that it delivers: it is repeated until the batch stays (of a circle the smaller batch).
/// Where the law's optimum does not fit, smaller shapes are tried up to the largest that does (within 2 %), and the one
/// with the lowest loss takes its place. Sizes 3 % beside the best are tried, and further ones while the loss falls.
/// Where a later round has no plan the earlier ones answer. Tokens that are given are trained exactly, by the largest
/// model (within 2 %) that sees them in the time; where none does by the one that sees most.
/// @pre a budget that is not of FLOPs. @throws InputError: as `wall_within`, `model_for` and `run_workload` do.
BudgetRun plan_budget(RunSetting const& setting, RunQuestion const& question, std::int64_t accelerators);

}  // namespace sextant

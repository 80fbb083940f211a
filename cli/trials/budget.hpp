#pragma once

#include "cli/view/table.hpp"
#include "planner/trials/search_simulation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What a full trial is, as far as it was said.
struct TrialCost {
    std::optional<double> flops;        ///< of a whole trial
    std::optional<double> gpu_seconds;  ///< of a whole trial
    std::optional<double> usd_per_gpu_hour;
    std::int64_t gpus_per_trial = 1;
    std::string words;  ///< "1 B parameters on 20 B tokens, 8 h100-sxm each at 40 % MFU"
};

/// One way to search.
struct SearchAnswer {
    SearchPlan plan;
    SearchCost cost;
    SearchStudy study;
};

/// The answer of `sextant trials budget`.
struct BudgetReport {
    std::vector<SearchAnswer> answers;
    SearchMachine machine;
    TrialCost trial;
    std::uint64_t seed = 1;
    bool timed = false;  ///< a unit has a duration that was said; else times are in units
    std::vector<std::string> assumptions;

    /// Whole trials' worth of training.
    [[nodiscard]] double trials_of(SearchAnswer const& answer, double units) const { return units / answer.plan.full; }
    /// Seconds of accelerators that train or start a piece, jitter and stragglers at their mean; idle workers are not
    /// billed. @pre trial.gpu_seconds
    [[nodiscard]] double gpu_seconds_of(SearchAnswer const& answer, double units, double pieces) const {
        return trials_of(answer, units) * *trial.gpu_seconds * mean_slowdown(machine) +
               pieces * machine.start_s * static_cast<double>(trial.gpus_per_trial);
    }
    /// The same, and what it costs, of one search: usually, on average over the simulated ones (as they came), and at
    /// worst. Empty where the time, the price or a simulation is not there.
    struct Amounts {
        std::optional<double> usual, mean, worst;
    };
    [[nodiscard]] Amounts gpu_seconds_of(SearchAnswer const& answer) const {
        if (!trial.gpu_seconds) return {};
        Amounts seconds{.usual = gpu_seconds_of(answer, answer.cost.units, answer.cost.pieces),
                        .mean = {},
                        .worst = gpu_seconds_of(answer, answer.cost.worst_units, answer.cost.worst_pieces)};
        if (answer.study.runs > 0) seconds.mean = answer.study.busy_s * static_cast<double>(trial.gpus_per_trial);
        return seconds;
    }
    [[nodiscard]] Amounts usd_of(SearchAnswer const& answer) const {
        Amounts amounts = gpu_seconds_of(answer);
        for (std::optional<double>* amount : {&amounts.usual, &amounts.mean, &amounts.worst})
            if (!trial.usd_per_gpu_hour)
                amount->reset();
            else if (*amount)
                **amount *= *trial.usd_per_gpu_hour / 3600;
        return amounts;
    }
};

/// For people. Sample:
///
///     method     started  whole  units  of random  wall clock ...
std::string budget_text(BudgetReport const& report);
/// A row per method, in base units.
Table budget_table(BudgetReport const& report);
/// Keys: docs/trials.md.
std::string budget_json(BudgetReport const& report);

}  // namespace sextant::cli

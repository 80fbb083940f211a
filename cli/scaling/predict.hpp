#pragma once

#include "cli/scaling/machine.hpp"
#include "cli/view/table.hpp"
#include "cost_models/scaling/rate_laws.hpp"
#include "cost_models/scaling/scaling_answer.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

/// What one law makes of a run.
struct PredictRow {
    ScalingAnswer answer;
    std::optional<AllocationPenalty> penalty{};  ///< against the optimum of the same compute
    std::optional<double> tokens_for_target{};   ///< infinite: no number of tokens does
};

struct PredictReport {
    double parameters = 0;
    double tokens = 0;
    double total_parameters = 0;  ///< of a model with experts; else as `parameters`
    LawSetting setting{};
    std::optional<double> target{};
    std::vector<PredictRow> rows{};
    /// By the first law: the optimum that has the run's loss, and the run's size and compute over it.
    std::optional<ScalingPoint> same_loss{};
    std::optional<double> flops_over_same_loss{};
    std::optional<double> rounding{};  ///< loss added by --post-training-bits
    double post_training_bits = 0;
    RateBand rates{};
    std::optional<ScalingMachine> machine{};
    std::optional<RunCost> cost{};
    std::vector<std::string> assumptions{};

    [[nodiscard]] double flops() const { return training_flops_per_parameter_token * parameters * tokens; }
};

/// For people. Sample:
///
///     70 B parameters, 1.4 T tokens: 5.88e23 FLOP, 20 tokens per parameter
///
///     law                loss         80 %         95 %  above optimum  compute needed  basis
///     ----------------  -----  -----------  -----------  -------------  --------------  ------
///     chinchilla-huber  1.973  1.958-1.990  1.951-2.000       0.000112          99.6 %  fitted
std::string predict_text(PredictReport const& report);

/// Its part about the first law, in names and values.
std::vector<std::pair<std::string, std::string>> predict_details(PredictReport const& report);

/// A row per law, in base units.
Table predict_table(PredictReport const& report);

/// Keys: docs/scaling.md.
std::string predict_json(PredictReport const& report);

}  // namespace sextant::cli

#pragma once

#include "cli/scaling/machine.hpp"
#include "cli/view/table.hpp"
#include "cost_models/scaling/inference_optimum.hpp"
#include "cost_models/scaling/parameter_counting.hpp"
#include "cost_models/scaling/rate_laws.hpp"
#include "cost_models/scaling/repeated_data.hpp"
#include "cost_models/scaling/scaling_answer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

/// What the user may spend, or wants to reach.
enum class BudgetKind : std::uint8_t { flops, dollars, days, loss };
std::string_view name_of(BudgetKind kind);

/// One law's answer; for a loss each law needs a compute of its own.
struct OptimumRow {
    double flops = 0;
    ScalingAnswer answer;
};

/// A model smaller than the optimum, at the optimum's loss.
struct SmallerModel {
    double size_factor = 1;
    SizeTrade trade;
};

/// The model that is cheapest over training and use, at the loss of the optimum.
struct InferenceAnswer {
    ServingDemand demand;
    bool in_dollars = false;  ///< else in FLOPs
    InferenceOptimum optimum;
    InferenceOptimum training_only;  ///< the same demand served by the compute optimum
};

struct RepeatedAnswer {
    std::string law;
    double unique_tokens = 0;
    RepeatedPoint point;
    std::optional<LawInterval> epochs_interval{};
    std::optional<LawInterval> parameters_interval{};
};

/// What so many experts make of a budget.
struct ExpertAnswer {
    std::string law;
    std::optional<double> effective_dense{};  ///< parameters of the dense model that N* with experts is worth
    std::optional<double> loss{};             ///< of the answering law at that size, or of the law itself
    std::optional<double> dense_loss{};
    std::optional<ScalingPoint> optimum{};  ///< by active parameters
};

struct BitsAnswer {
    double bits = 16;
    double retention = 1;         ///< effective over real parameters
    double optimal_bits = 0;      ///< by the law, cost in proportion to bits
    double equal_parameters = 0;  ///< parameters that would have N*'s effect at these bits
};

/// Attention scores in the budget: N and D with (6 N + attention) D = C.
struct ContextAnswer {
    double context = 0;
    double width_per_layer = 0;
    double layers = 0;
    double width = 0;
    double share = 0;  ///< of attention, over 6 N
    ScalingPoint optimum{};
    std::optional<double> model_share{};  ///< of --model, from its operations
    std::string model{};
};

struct BatchAnswer {
    double batch = 0;
    struct Trade {
        std::string law;
        double critical_batch = 0;
        double noise_scale = 0;  ///< E_min / S_min, which the factors follow from
        double steps_factor = 1;
        double samples_factor = 1;
    };
    std::vector<Trade> trades;
};

/// Everything about one budget. What is not per law is by the first one.
struct BudgetAnswer {
    double amount = 0;  ///< as given
    double flops = 0;
    std::optional<RunCost> cost{};
    std::vector<OptimumRow> rows{};
    std::optional<LawInterval> flops_interval{};  ///< for a loss
    std::optional<FlatRegion> flat{};
    double rule_ratio = 20;
    std::optional<AllocationPenalty> rule{};
    std::vector<SmallerModel> smaller{};
    std::optional<InferenceAnswer> inference{};
    std::vector<RepeatedAnswer> repeated{};
    std::vector<ExpertAnswer> experts{};
    std::optional<BitsAnswer> bits{};
    std::optional<ContextAnswer> context{};
    std::optional<CountedOptimum> counting{};
    double kaplan_exponent = 0;  ///< what the first law looks like over the sizes of Kaplan's runs
    RateBand rates{};
    std::optional<BatchAnswer> batch{};

    [[nodiscard]] ScalingAnswer const& first() const { return rows.front().answer; }
};

struct OptimumReport {
    BudgetKind kind = BudgetKind::flops;
    std::optional<ScalingMachine> machine{};
    double experts = 0;  ///< 0: not asked
    std::vector<BudgetAnswer> budgets{};
    std::vector<std::string> left_out{};  ///< laws that have no answer, and why
    std::vector<std::string> assumptions{};
};

/// For people. Sample:
///
///     5.76e23 FLOP
///
///     law                    N*       D*   D/N     80 %       95 %   loss  basis
///     ----------------  -------  -------  ----  -------  ---------  -----  ------
///     chinchilla-huber   73.2 B   1.31 T  17.9  9.88-29  7.6-35.9   1.974  fitted
std::string optimum_text(OptimumReport const& report);

/// Its parts: what the budget is, "1.2 M accelerator-hours, 40 days", the answer of the first law in names and values,
/// and what was asked besides (use, repetition, experts, ...), empty where nothing was.
std::string optimum_heading(OptimumReport const& report, BudgetAnswer const& budget);
std::string run_cost_text(RunCost const& cost);
std::vector<std::pair<std::string, std::string>> optimum_details(BudgetAnswer const& budget);
std::string optimum_sections(OptimumReport const& report, BudgetAnswer const& budget);

/// A row per budget and law, in base units.
Table optimum_table(OptimumReport const& report);

/// Keys: docs/scaling.md.
std::string optimum_json(OptimumReport const& report);

}  // namespace sextant::cli

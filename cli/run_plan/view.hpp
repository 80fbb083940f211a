#pragma once

#include "cli/view/table.hpp"
#include "planner/run_plan/plain_arithmetic.hpp"
#include "planner/run_plan/run_plan.hpp"
#include "planner/run_plan/scaling_curve.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

/// Everything that `sextant run-plan` says.
struct RunPlanReport {
    RunSetting const& setting;
    RunQuestion const& question;
    RunAnswer answer;
    std::optional<PlainArithmetic> plain;  ///< with --mfu
    std::vector<TimeTerm> difference;      ///< from the plain arithmetic to the run; empty without either
    std::optional<ScalingCurve> curve;
    std::vector<std::string> advice{};  ///< where there is no run: what would fit
};

/// What would fit where nothing does, a sentence each: which machines have the memory, which option is in the way, how
/// many accelerators. Nothing where there is a run.
std::vector<std::string> run_plan_advice(RunSetting const& setting, RunQuestion const& question,
                                         RunAnswer const& answer);

/// Sample:
///
///     6.1e+23 FLOPs of llama-2-70b on 1,024 x h100-sxm, megatron
///
///       model         dense-96.4B: 68 layers of 10240, 80 heads (8 kv), ...
///       time          21.3 days (80 %: 18.6 to 29.2), ...
std::string run_plan_text(RunPlanReport const& report, std::size_t most_assumptions);

using NamesAndValues = std::vector<std::pair<std::string, std::string>>;

/// What text and page share. The question in a line; what the run is, a name and a value a line (a value without a name
/// goes on with the one before); the fewest accelerators for a deadline, of `answer.deadline->run`; 6 N D.
std::string run_plan_question(RunPlanReport const& report);
NamesAndValues run_plan_pairs(RunPlanReport const& report);
std::string fewest_sentence(RunPlanReport const& report);
std::string plain_sentence(PlainArithmetic const& plain);
/// "round 3 is taken: the lowest loss". @pre there are rounds.
std::string taken_sentence(RunPlanReport const& report);

/// The report as a page: figures, scaling curve, where a step goes, from 6 N D to the run.
std::string run_plan_page(RunPlanReport const& report);

/// `format` "run_plan", version 1.
std::string run_plan_json(RunPlanReport const& report);

/// A shape of `model_of_size` as a Hugging Face config.json, which every command takes with --model.
std::string model_config_json(ModelSpec const& model);

/// One row for each figure of the run, or for why there is none.
Table run_figures_table(RunPlanReport const& report);
/// The scaling curve for programs: a row for each number of accelerators, in base units.
Table curve_table(ScalingCurve const& curve);
/// In CSV: the curve where that was asked for, with model, cluster, framework and workload in each row, else the
/// figures.
std::string run_plan_csv(RunPlanReport const& report, bool curve_asked);

/// The scaling curve for people (`with units`), as the text report has it.
Table curve_text_table(ScalingCurve const& curve);

/// "as expected" values of the run that the figures assume: the step's, the power's, the curve's.
std::vector<std::string> run_assumptions(RunPlanReport const& report);

/// Days against accelerators, both logarithmic, with the line of perfect scaling from the smallest that fits.
std::string curve_svg(ScalingCurve const& curve, std::string const& title);

}  // namespace sextant::cli

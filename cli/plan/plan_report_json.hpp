#pragma once

#include "planner/search.hpp"
#include "planner/verify.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

/// What a plan report is about.
struct PlanQuestion {
    ModelSpec const& model;
    ClusterSpec const& cluster;
    FrameworkProfile const& framework;
    Workload workload;
};

/// Model, cluster, framework and workload, before each row of a CSV.
std::vector<std::pair<std::string, std::string>> question_cells(PlanQuestion const& question);

/// The object `plan` of every report, as JSON text.
std::string plan_object_json(ParallelPlan const& plan);

/// A step report as JSON text (`format` "step_report", version 1): SI base units, unit-suffixed keys.
std::string step_report_json(PlanQuestion const& question, StepReport const& report,
                             std::vector<std::string> const& explanation);

/// A ranked plan list as JSON text (`format` "plan", version 1).
struct PlanAnswer {
    SearchResult const& result;
    std::vector<StepReport> const& reports;  ///< one per `result.best`; with --verify in the order of simulated times
    std::vector<StepReport> const& pareto;   ///< one per `result.pareto`
    std::vector<std::string> explanation;    ///< of the best plan, with --explain
    std::vector<std::string> advice;         ///< what to relax when there is no answer
    MemoryLimit limit;
    std::vector<Verification> verified{};  ///< of the first reports, with --verify
    std::optional<StepReport> present{};   ///< of a plan that another program's file describes
};
std::string plan_json(PlanQuestion const& question, PlanAnswer const& answer);

}  // namespace sextant::cli

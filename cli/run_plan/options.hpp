#pragma once

#include "cli/options/plan_options.hpp"
#include "planner/run_plan/run_plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// The options of `run-plan` as they were typed.
struct RunPlanOptions {
    PlanOptions plan;
    std::string flops, dollars, accelerator_hours, days;
    std::string parameters, tokens, deadline;
    std::string law;
    std::optional<std::int64_t> vocabulary;
    std::string mfu;
    std::string curve;
    bool no_curve = false;
    std::string pays_above = "50%";
    std::string failures = "llama3";
    std::optional<double> idle_share, host_share, pue;
    std::int64_t threads = 0;
};

void add_run_plan_options(CLI::App& app, RunPlanOptions& options);

/// A share: "0.5" or "50%", above 0 up to 1. @throws InputError otherwise.
double share_or_percent(std::string const& text, char const* flag);
/// A time: "30d", "720 h", "30" (days).
Seconds deadline_from(std::string const& text, char const* flag);

RunSetting run_setting(RunPlanOptions const& options);
/// @throws InputError: two budgets, no number, more accelerators than the cluster has, ...
RunQuestion run_question(RunPlanOptions const& options, RunSetting const& setting);
/// Numbers of accelerators of the scaling curve, ascending; empty: none was asked for, and none is usual.
std::vector<std::int64_t> curve_counts(RunPlanOptions const& options, RunSetting const& setting,
                                       RunQuestion const& question);

}  // namespace sextant::cli

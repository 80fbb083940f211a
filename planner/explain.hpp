#pragma once

#include "planner/report.hpp"
#include "planner/search.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// The parts of a breakdown by name, in report order, zero parts included.
std::vector<std::pair<std::string_view, Seconds>> breakdown_parts(StepBreakdown const& breakdown);

/// "bubble 9 %, tp 8 %": the two largest losses besides matrix products and attention, as shares of the step.
std::string largest_losses(StepEstimate const& estimate);

/// What binds this plan and what would move it, a sentence per line. Other plans that it names have been evaluated and
/// are faster; whether they fit is left open, but for other settings (`better_settings`), which do.
std::vector<std::string> explain(StepReport const& report, ClosedForm& form);

/// "1,204 rejected: 960 memory, 244 heads".
std::string rejection_summary(SearchCounts const& counts);

/// "the first, tp3 dp8 mb1 zero0: tp 3 does not divide the 32 attention heads": what broke the structural rule that
/// most plans did. Empty where none broke any.
std::string commonest_refusal(SearchResult const& result, ModelSpec const& model, Workload const& workload);

/// Both: "244 rejected: 244 heads; the first, ...".
std::string rejection_summary(SearchResult const& result, ModelSpec const& model, Workload const& workload);

/// "tp8 pp4 dp16 mb1": the degrees of a plan that are not one, and what else sets it apart.
std::string plan_label(ParallelPlan const& plan);

/// 1204 -> "1,204".
std::string grouped_digits(std::int64_t value);

}  // namespace sextant

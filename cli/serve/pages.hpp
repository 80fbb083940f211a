#pragma once

#include "cli/serve/estimate.hpp"
#include "cli/serve/plan_report.hpp"
#include "cli/serve/simulate_report.hpp"

#include <string>

namespace sextant::cli {

/// One replica over its loads as a page: throughput against latency, where an iteration goes, memory, the table.
std::string serve_estimate_page(ServeEstimateReport const& report);

/// A served load as a page: latencies, and queue, batch, cache and tokens over time.
std::string serve_simulate_page(ServeSimulateReport const& report);

/// Deployments ranked by cost as a page, with the frontier of latency and throughput.
std::string serve_plan_page(ServePlanReport const& report);

}  // namespace sextant::cli

#pragma once

#include "cli/serve/simulate_report.hpp"

#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

/// Throughput, cost, fleet, batches, queue and cache of a run, a line each: what it is about, words.
std::vector<std::pair<std::string, std::string>> serve_simulate_facts(ServeSimulateReport const& report);

/// "12.3 %".
std::string share_text(double share);

}  // namespace sextant::cli

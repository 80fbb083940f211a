#pragma once

#include "cli/serve/simulate_report.hpp"

#include <string>

namespace sextant::cli {

/// Writes latency.svg (shares of the requests by latency), load.svg (queue, batches, cache and tokens over time),
/// cost.svg (replicas, use and cost over time) and over_time.csv into the folder, which is made where it is missing.
/// Without latencies (overload) there is no latency.svg. @throws InputError when it cannot be written.
void write_serve_simulate_plots(ServeSimulateReport const& report, std::string const& folder);

/// One row per sample: the queue, the batches, the cache, tokens, replicas, and use and cost since the row above.
std::string over_time_csv(ServeSimulateReport const& report);

}  // namespace sextant::cli

#pragma once

#include "cli/serve/options.hpp"
#include "cli/view/table.hpp"
#include "planner/serving/serving_support.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// How the load of a row is given.
enum class ServeLoad : std::uint8_t { concurrency, rate, static_batch };
std::string_view name_of(ServeLoad load);

/// One load and what comes of it.
struct ServeRow {
    double load = 0;
    ServingEstimate estimate;
    std::string bound;   ///< which of compute, weights, KV cache, network, host takes most of the time
    double watts = 0;    ///< of one accelerator, mean
    double touched = 0;  ///< share of the experts that the batch touches; 0 without experts
};

/// A batch that the cache does not hold to its end.
struct ServeMisfitRow {
    double batch = 0;
    std::string reason;
    [[nodiscard]] std::string sentence() const;
};

struct ServeEstimateReport {
    ServingCase what;
    RequestShape request;
    ServeLoad load = ServeLoad::concurrency;
    ServingMemory memory;
    double largest = 0;                ///< batch of requests at their full length, up to --max-batch
    double held = 0;                   ///< such requests that the cache holds
    double capacity = 0;               ///< requests a second of the full replica
    double cache_bytes_per_token = 0;  ///< of the model, all ranks of a replica together without replication
    std::optional<double> price;
    std::vector<ServeRow> rows;
    std::vector<ServeMisfitRow> misfits;  ///< beside these
    ServingSupport support;
    std::vector<std::string> assumptions;

    /// Mean time from token to token; nothing where answers have one token.
    [[nodiscard]] std::optional<Seconds> tpot(ServeRow const& row) const;
};

std::string serve_estimate_text(ServeEstimateReport const& report);
std::string serve_estimate_json(ServeEstimateReport const& report);
Table serve_estimate_table(ServeEstimateReport const& report);

/// What to think of times to the first token near the capacity; empty where no load is.
std::string near_capacity_text(ServeEstimateReport const& report);

/// US dollars per million output tokens.
double usd_per_million(ServeEstimateReport const& report, ServeRow const& row);

}  // namespace sextant::cli

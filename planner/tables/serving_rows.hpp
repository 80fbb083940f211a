#pragma once

#include "cost_models/serving/steady_state.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// A model served by one replica, at one number of requests at a time.
struct ServedTableRow {
    ServingCase what;
    double concurrency = 0;
    std::optional<ServingEstimate> estimate;  ///< nothing: it does not fit, or the device has no such format
    std::string missing;
    std::optional<double> million_tokens_dollars;  ///< of output
};

/// Requests of the table: tokens of the prompt and of the answer.
RequestShape serving_table_request();

/// llama-3.1-8b, llama-3.1-70b and deepseek-v3 on the reference clusters with vLLM's constants, 16 and 128 requests at
/// a time.
std::vector<ServedTableRow> serving_rows();

}  // namespace sextant

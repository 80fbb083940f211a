#pragma once

#include "core/csv.hpp"
#include "simulator/serving/serving_request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// Requests that were recorded.
struct RequestTrace {
    std::vector<ServingRequest> requests;
    std::vector<std::string> tenants;  ///< names by number; the first is that of rows without one
    bool has_prefixes = false;
    bool has_priorities = false;
    std::vector<std::string> adapters;  ///< names by number; empty without such a column
};

/// Reads columns arrival_s, prompt, output and, where there, prefix_id with prefix_tokens, tenant, priority (smaller
/// is served first) and adapter (empty: the model itself). @param longest prompt and output together.
/// @throws InputError with the line: times that are negative, not finite or before the row above, lengths below one or
/// beyond `longest`, a prefix without its length or longer than the prompt, two lengths of one prefix, an unknown
/// column, no rows.
RequestTrace request_trace(CsvTable const& table, std::int64_t longest);

}  // namespace sextant

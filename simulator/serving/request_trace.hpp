#pragma once

#include "core/csv.hpp"
#include "simulator/serving/serving_request.hpp"

#include <cstdint>
#include <memory>
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

/// Reads the requests of a table, or of one part of a long table after another, so that nobody needs all of its text.
///
/// Columns arrival_s, prompt, output and, where there, prefix_id with prefix_tokens, tenant, priority (smaller is
/// served first) and adapter (empty: the model itself).
class RequestTraceReader {
public:
    /// @param longest prompt and output together.
    explicit RequestTraceReader(std::int64_t longest);
    ~RequestTraceReader();
    RequestTraceReader(RequestTraceReader const&) = delete;
    RequestTraceReader& operator=(RequestTraceReader const&) = delete;

    /// The next rows, with the same header each time. @throws InputError with the line: times that are negative, not
    /// finite or before the row above, lengths below one or beyond `longest`, a prefix without its length or longer
    /// than the prompt, two lengths of one prefix, an unknown column.
    void add(CsvTable const& part);
    /// All of them. @throws InputError: there are none.
    RequestTrace take();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The requests of a table. @throws InputError as `RequestTraceReader`.
RequestTrace request_trace(CsvTable const& table, std::int64_t longest);

/// The requests of a file, in memory as requests and never as text. @throws InputError also as `CsvStream`.
RequestTrace read_request_trace(std::string const& path, std::int64_t longest);

}  // namespace sextant

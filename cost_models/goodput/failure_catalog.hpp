#pragma once

#include "cost_models/goodput/failure_process.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace sextant {

/// What a failure rate grows with when it is carried to another number of accelerators.
enum class FailureUnit : std::uint8_t { gpu, node };

/// One cause of interruptions as it was counted.
struct FailureCount {
    char const* cause;
    FailureScope scope;
    FailureUnit unit;
    double count;
};

/// Interruptions that somebody counted over a stretch of training, or a rate that somebody published.
struct FailureRecord {
    char const* name;
    char const* title;
    std::int64_t gpus;
    std::int64_t gpus_per_node;
    double days;
    std::span<FailureCount const> counts;
    char const* basis;  ///< "published", or "assumed" where a published range or an estimate had to be made a number
    char const* source;
    char const* remark;
};

/// Published records, the default (llama3) first.
std::span<FailureRecord const> failure_catalog();

/// @throws InputError with the known names and the nearest one.
FailureRecord const& find_failure_record(std::string_view name, std::string_view where);

/// The record's causes carried to `gpus` accelerators in nodes of `gpus_per_node`, each in proportion to its unit. What
/// is not per accelerator grows with the nodes of the record's size (an assumption for software and fabric).
/// @pre gpus >= 1, gpus_per_node >= 1.
std::vector<FailureProcess> failures_of(FailureRecord const& record, std::int64_t gpus, std::int64_t gpus_per_node);

}  // namespace sextant

#pragma once

#include "planner/report.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// A training run that people ask for again and again.
struct ReferenceRun {
    char const* model;
    std::int64_t accelerators;
    std::int64_t sequence;
    std::int64_t global_batch;  ///< sequences
    double tokens;              ///< of the whole run
    char const* tokens_source;
};

/// From 7 billion parameters on 8 accelerators to a trillion on 3,072.
std::span<ReferenceRun const> reference_runs();

/// The fastest plan that fits, or what is nearest to one.
struct ReferenceAnswer {
    ReferenceRun run{};
    std::string cluster;
    std::optional<StepReport> report;  ///< nothing: no plan fits
    std::string missing;               ///< then: what would be needed, or why nothing can be split so
    double days = 0;
    std::optional<double> dollars;  ///< of the accelerators; nothing where no price is known
    std::string price_basis;        ///< "datasheet", "assumed", ...
};

/// Every run on every cluster, searched with Megatron's constants (MaxText's on TPUs), in the order of the two lists.
/// `threads`: 0 for all; the answer does not depend on it.
std::vector<ReferenceAnswer> answer_reference_runs(unsigned threads);

}  // namespace sextant

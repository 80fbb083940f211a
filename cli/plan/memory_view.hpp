#pragma once

#include "cli/output.hpp"
#include "cli/plan/plan_report_json.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// Everything the budget sheet shows.
struct MemorySheet {
    PlanQuestion question;
    ParallelPlan plan;
    StepGraph const& graph;
    std::vector<StageMemory> const& stages;
    MemoryLimit limit;
    double input_bytes;  ///< `FrameworkMemory::narrow_input_bytes`
    std::string digest;
    struct Variant {
        std::string name;
        StageMemory fullest;
    };
    std::vector<Variant> variants;  ///< the same plan with another ZeRO stage or recompute policy
};

/// The stage that reserves the most. @pre there is one.
std::size_t fullest_stage(std::vector<StageMemory> const& stages);

/// Per stage, per tensor, and what ZeRO and recompute would change.
std::string memory_text(MemorySheet const& sheet);
/// One row per stage, exact bytes.
Table memory_table(MemorySheet const& sheet);

}  // namespace sextant::cli

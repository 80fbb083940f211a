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
    std::string digest;
    struct Variant {
        std::string name;
        StageMemory fullest;
    };
    std::vector<Variant> variants;             ///< the same plan with another ZeRO stage or recompute policy
    std::vector<std::string> not_expressed{};  ///< what its framework refuses or has no words for
};

/// A tensor that a block keeps of one microbatch for its backward pass.
struct KeptTensor {
    std::string block, tensor, formula;
    Bytes per_layer;
    std::int64_t layers = 0;  ///< of the stage that have it
    std::string dropped_by;   ///< recompute policies; empty: none
};

/// The stage that reserves the most. @pre there is one.
std::size_t fullest_stage(std::vector<StageMemory> const& stages);
/// Every tensor that the blocks of a stage keep.
std::vector<KeptTensor> kept_tensors(MemorySheet const& sheet, std::size_t stage);

/// Per stage, per tensor, and what ZeRO and recompute would change.
std::string memory_text(MemorySheet const& sheet);
/// The same as JSON text (`format` "memory", version 1), in exact bytes.
std::string memory_json(MemorySheet const& sheet);
/// One row per stage, exact bytes.
Table memory_table(MemorySheet const& sheet);

}  // namespace sextant::cli

#pragma once

#include "planner/report.hpp"

#include <string>
#include <vector>

namespace sextant {

/// One way among several of running the same model on the same machines.
struct ComparedPlan {
    std::string model;
    std::int64_t accelerators = 0;
    std::string way;        ///< "FSDP2", "interleaved, 2 chunks"
    std::string framework;  ///< whose constants
    std::optional<StepReport> report;
    std::string remark;  ///< why it is where it is, or why it cannot run
};

/// DDP, FSDP (one sharding group), FSDP2, ZeRO-3 and tensor x pipeline x data by size of the model, on h100-sxm: 1.3 to
/// 175 billion parameters. The three-dimensional plan is the fastest that a search finds.
std::vector<ComparedPlan> compare_data_parallelism();

/// Every pipeline schedule for one model, batch and machine: gpt3-175b on 64 h100-sxm, tp 8, pp 8, 32 microbatches.
std::vector<ComparedPlan> compare_schedules();

/// Bubble over the whole step.
double bubble_share(StepReport const& report);

}  // namespace sextant

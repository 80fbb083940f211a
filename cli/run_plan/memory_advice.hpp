#pragma once

#include "planner/run_plan/run_plan.hpp"

#include <string>
#include <string_view>

namespace sextant::cli {

/// "38.81 GB more of memory on each of 16 accelerators would give an answer, such as tp8 pp2 ...; so much have
/// h200-sxm (141 GB)": what `misfit` lacks, and clusters of the same vendor on which a search finds a plan.
/// @param outcome what more memory would do: "give an answer"
std::string memory_advice(RunSetting const& setting, RunAnswer const& answer, Candidate const& misfit,
                          std::string_view outcome);

}  // namespace sextant::cli

#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <string>
#include <vector>

namespace sextant {

/// What a search chose for this plan and its framework refuses, or has no words for in the files of `export`:
/// "micro_batch: interleaving wants ...". Nothing for frameworks and models that no files are written for.
std::vector<std::string> not_expressed(ModelSpec const& model, ClusterSpec const& cluster,
                                       FrameworkProfile const& framework, Workload const& workload,
                                       ParallelPlan const& plan);

}  // namespace sextant

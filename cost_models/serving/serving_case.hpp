#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/engine_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"

#include <string>
#include <vector>

namespace sextant {

/// A model on machines, served by an engine.
struct ServingCase {
    ModelSpec model;
    ClusterSpec cluster;
    ServingPlan plan;
    EngineProfile engine;
    std::vector<std::string> format_notes{};  ///< what the formats of the plan are not, or why, a sentence each
};

}  // namespace sextant

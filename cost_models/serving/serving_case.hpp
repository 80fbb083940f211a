#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/engine_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"

namespace sextant {

/// A model on machines, served by an engine.
struct ServingCase {
    ModelSpec model;
    ClusterSpec cluster;
    ServingPlan plan;
    EngineProfile engine;
};

}  // namespace sextant

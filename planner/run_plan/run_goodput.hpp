#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "cost_models/goodput.hpp"
#include "cost_models/goodput/failure_catalog.hpp"

namespace sextant {

/// Failures and checkpoints of a run.
struct RunGoodput {
    Bytes checkpoint;  ///< of the whole model
    Seconds interval;  ///< of work between two checkpoints
    Goodput expected;
};

/// Expected use of the wall clock under a record's failure rates: asynchronous checkpoints on a parallel file system at
/// their best interval, as `usual_goodput_case` has them. Nodes have eight accelerators, or a domain if that is
/// smaller. The shares do not depend on the length of the run.
RunGoodput run_goodput(FailureRecord const& record, ClusterSpec const& cluster, FrameworkProfile const& framework,
                       ModelSpec const& model, ParallelPlan const& plan);

}  // namespace sextant

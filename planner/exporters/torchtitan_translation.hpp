#pragma once

#include "planner/exporters/exporter.hpp"

namespace sextant {

/// Takes out of a plan what torchtitan has no words for or refuses, and says so. Source: torchtitan 0.2.0 to 0.2.2,
/// distributed/parallel_dims.py, models/*/infra/parallelize.py and components/quantization.
void translate_for_torchtitan(Translation& t, LaunchPlan const& launch);

/// Its class of torch.distributed.pipelining; "1F1B" for those that have none.
char const* torchtitan_schedule(Schedule schedule);

/// Whether experts are multiplied in the narrow format as well: torchtitan's float8 ones go without pipeline and
/// context parallelism only.
bool torchtitan_narrows_experts(ParallelPlan const& plan, ModelSpec const& model);

/// Whether the model is compiled: not in mxfp8 with tensor parallelism.
bool torchtitan_compiles(ParallelPlan const& plan);

}  // namespace sextant

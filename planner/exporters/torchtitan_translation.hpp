#pragma once

#include "planner/exporters/exporter.hpp"
#include "planner/torchtitan_models.hpp"

#include <string>
#include <vector>

namespace sextant {

/// Takes out of a plan what torchtitan has no words for or refuses, and says so. Source: torchtitan 0.2.0 to 0.2.2 and
/// 0.3.0, distributed/parallel_dims.py, models/*/infra/parallelize.py (0.3: models/*/parallelize.py),
/// components/quantization and, of 0.3, models/common/moe_sharding.py and distributed/full_dtensor.py.
void translate_for_torchtitan(Translation& t, LaunchPlan const& launch, TorchtitanRelease release);

/// Its class of torch.distributed.pipelining; "1F1B" for those that have none.
char const* torchtitan_schedule(Schedule schedule);

/// Whether experts are multiplied in the narrow format as well: float8 ones of 0.2 go without pipeline and context
/// parallelism only, and 0.3 has none in fp4.
bool torchtitan_narrows_experts(ParallelPlan const& plan, ModelSpec const& model, TorchtitanRelease release);

/// Whether the model is compiled: not in mxfp8 with tensor parallelism.
bool torchtitan_compiles(ParallelPlan const& plan);

/// Degrees of data parallelism in torchtitan's words.
struct TorchtitanShards {
    std::int64_t replicas;
    std::int64_t shards;
    char const* reshard;  ///< "always" or "never": whether the forward pass frees the weights again
};
TorchtitanShards torchtitan_shards(ParallelPlan const& plan);

/// Sequences of a data-parallel rank that one call of the model takes, or with a pipeline all of a step.
std::int64_t torchtitan_local_batch(LaunchPlan const& launch, ParallelPlan const& plan);

/// ["a", "b"], as TOML and Python have it.
std::string torchtitan_list(std::vector<std::string> const& names);

/// `mixed_precision_param`, and the list of what is compiled.
char const* torchtitan_parameters(ParallelPlan const& plan);
std::string torchtitan_components(ParallelPlan const& plan);

/// The script that starts `program`; whether fp32 is TF32 is set there.
std::string torchtitan_script(LaunchPlan const& launch, ParallelPlan const& plan, std::string const& header,
                              std::string const& program);

}  // namespace sextant

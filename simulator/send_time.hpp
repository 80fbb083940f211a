#pragma once

#include "core/spec/framework_profile.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/units.hpp"
#include "simulator/closed_form.hpp"

namespace sextant {

/// What one send to the next stage takes.
struct SendTime {
    Seconds time;
    Seconds latency;  ///< of it, whatever the bytes
};

/// Of the hidden states that a tensor-parallel rank has: of its tokens with sequence parallelism, else of all, or of a
/// part, which the receivers gather (`StageSends`).
/// Source: Megatron-Core, pipeline_parallel/schedules.py, get_tensor_shapes; of parts: DeepSpeed,
/// runtime/pipe/engine.py, is_pipe_partitioned, and Megatron-LM 2.2 to 3.0, p2p_communication.py,
/// scatter_gather_tensors_in_pipeline.
SendTime send_time(StageLoad const& load, ParallelPlan const& plan, FrameworkProfile const& framework, Pricer& pricer);

}  // namespace sextant

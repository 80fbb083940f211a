#pragma once

#include "core/spec/parallel_plan.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <span>

namespace sextant {

/// Time of one microbatch on a run of `count` pipeline stages that cost the same.
struct StageTimes {
    Seconds forward;
    Seconds backward;
    std::int64_t count = 1;
};

/// Makespan of a pipeline and how it divides on its slowest stage.
struct PipelineTime {
    Seconds busy;    ///< m microbatches on the slowest stage
    Seconds bubble;  ///< the rest: waiting for the pipeline to fill and drain
    std::size_t slowest = 0;
    [[nodiscard]] Seconds total() const { return busy + bubble; }
};

/// Closed forms; S_i = F_i + B_i, m microbatches, p stages, v chunks:
/// - 1F1B: sum_i S_i + (m - 1) max S_i; uniform stages: (m + p - 1) S, bubble (p - 1) / (m + p - 1) (arXiv:2104.04473 sec. 2.2.1).
/// - GPipe: sum F + (m - 1) max F + sum B + (m - 1) max B: the same when uniform (arXiv:1811.06965).
/// - interleaved: m max S + (sum of the other S_i) / v; uniform bubble (p - 1) S / v (arXiv:2104.04473 sec. 2.2.2).
/// Exact for uniform stages and for one slow first or last stage under 1F1B; otherwise a lower bound that fills and drains at full speed.
/// @pre stages is not empty, microbatches > 0.
PipelineTime pipeline_time(Schedule schedule, std::span<StageTimes const> stages, std::int64_t microbatches, std::int64_t vpp);

/// Microbatches (in units of a whole stage) whose activations rank r of p holds at its peak:
/// GPipe m; 1F1B min(m, p - r); interleaved min(m v, 2 (p - r - 1) + (v - 1) p + 1) / v chunks (Megatron-LM's warm-up count plus one).
double microbatches_in_flight(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t microbatches, std::int64_t rank);

}  // namespace sextant

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

/// Whether there is a form for the schedule: `pipeline_time`, and for passes in pairs that of the interleaved one less
/// what pairs save; the others are walked.
bool has_closed_form(Schedule schedule);

/// Pairs of a rank where forwards run beside backwards (`Schedule::overlapped`); the last has most. Ranks wait as long
/// as in the interleaved schedule, so the step is shorter by what those of the last save: exact for uniform stages.
std::int64_t pairs_on_rank(std::int64_t pp, std::int64_t vpp, std::int64_t microbatches, std::int64_t rank);

/// Closed forms; S_i = F_i + B_i of stage i, m microbatches, p stages, v chunks:
/// - GPipe: sum F + (m - 1) max F + sum B + (m - 1) max B (arXiv:1811.06965): exact.
/// - 1F1B: the largest, over stages r, of what r needs at least: sum of S_i before r, its own m S_r, and its two waits,
/// for the first
///   microbatch to come back, max(0, D_r - w F_r), and for the last, max(0, D_r - w B_r), with D_r the sum of S_i after
///   r and w = p - 1 - r forwards of warm-up. Uniform: (m + p - 1) S, bubble (p - 1) / m of the work (arXiv:2104.04473
///   sec. 2.2.1). Exact for uniform stages and, with m >= p, for one slow first or last stage; a lower bound otherwise
///   (within 3 % where stages differ by up to a factor of two).
/// - interleaved: the same over chunks. Uniform bubble (p - 1) S / v (arXiv:2104.04473 sec. 2.2.2), exact where m is a
/// multiple of p;
///   otherwise a lower bound.
/// @pre stages is not empty, microbatches > 0, the schedule is one of these.
PipelineTime pipeline_time(Schedule schedule, std::span<StageTimes const> stages, std::int64_t microbatches,
                           std::int64_t vpp);

/// Microbatches (in units of all that a rank has of the model) whose activations rank r of p holds at its peak:
/// GPipe m; 1F1B min(m, p - r); interleaved min(m v, 2 (p - r - 1) + (v - 1) g + 1) / v (Megatron-LM's warm-up count
/// plus one), g the microbatches of a group, p where m is a multiple of it; the others what their publication says
/// (docs/schedules.md).
double microbatches_in_flight(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t microbatches,
                              std::int64_t rank);

/// Microbatches whose weight gradients of the last chunk are still to come while a next one's are put off too, at the
/// most, on the rank that has that chunk: each holds the gradient of its logits meanwhile. Zero where the last chunk's
/// backward is never split for long.
std::int64_t postponed_head_weights(Schedule schedule, std::int64_t pp, std::int64_t microbatches);

}  // namespace sextant

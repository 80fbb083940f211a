#include "simulator/pipeline_formula.hpp"

#include <algorithm>

namespace sextant {

PipelineTime pipeline_time(Schedule schedule, std::span<StageTimes const> stages, std::int64_t microbatches, std::int64_t vpp) {
    Seconds sum_forward, sum_backward, max_forward, max_backward, max_stage;
    PipelineTime time;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        StageTimes const& s = stages[i];
        sum_forward += static_cast<double>(s.count) * s.forward;
        sum_backward += static_cast<double>(s.count) * s.backward;
        max_forward = std::max(max_forward, s.forward);
        max_backward = std::max(max_backward, s.backward);
        if (s.forward + s.backward > max_stage) {
            max_stage = s.forward + s.backward;
            time.slowest = i;
        }
    }
    auto const m = static_cast<double>(microbatches);
    time.busy = m * max_stage;
    switch (schedule) {
        case Schedule::one_f_one_b: time.bubble = sum_forward + sum_backward - max_stage; break;
        case Schedule::gpipe:
            time.bubble = sum_forward + sum_backward + (m - 1) * (max_forward + max_backward) - time.busy;
            break;
        case Schedule::interleaved: time.bubble = (sum_forward + sum_backward - max_stage) / vpp; break;
    }
    return time;
}

double microbatches_in_flight(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t microbatches, std::int64_t rank) {
    switch (schedule) {
        case Schedule::gpipe: return static_cast<double>(microbatches);
        case Schedule::one_f_one_b: return static_cast<double>(std::min(microbatches, pp - rank));
        case Schedule::interleaved: {
            std::int64_t const chunks = std::min(microbatches * vpp, 2 * (pp - rank - 1) + (vpp - 1) * pp + 1);
            return static_cast<double>(chunks) / static_cast<double>(vpp);
        }
    }
    return 0;
}

}  // namespace sextant

#pragma once

#include "planner/run_plan/training_run.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant {

/// Days with four digits, or all of those before the point: "0.1234", "21.53", "13,790".
std::string days_text(Seconds time);

/// The smallest number of accelerators that ends a run in time.
struct DeadlineAnswer {
    std::optional<TrainingRun> run;      ///< absent: none does
    std::optional<TrainingRun> missed;   ///< of the largest number below that fits, which misses
    std::optional<TrainingRun> fastest;  ///< of all that were tried
    std::int64_t tried = 0;              ///< numbers of accelerators that were searched
    std::int64_t step = 1;               ///< the numbers tried above one domain are multiples of this
    bool interrupted = false;
};

/// The smallest number of accelerators with which the run ends within `deadline`: of the divisors of a domain and the
/// multiples of domains. Numbers below tokens FLOPs / (peak deadline) cannot and are not searched. The first that meets
/// it on a ladder of quarter octaves bounds the answer; below it every multiple of a domain that could meet it at the
/// best rate per accelerator seen is searched too, so that the answer is the smallest multiple (a step of the ladder
/// where there are more than 400 of them).
/// @pre deadline positive.
DeadlineAnswer smallest_for_deadline(RunSetting const& setting, ModelSpec const& model, Workload const& workload,
                                     double tokens, Seconds deadline);

}  // namespace sextant

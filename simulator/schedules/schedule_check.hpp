#pragma once

#include "simulator/schedules/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sextant {

/// What is wrong with a schedule, and where.
struct ScheduleFault {
    std::optional<std::int64_t> rank;     ///< nothing: of no single rank
    std::optional<std::size_t> position;  ///< of the slot; nothing: something is absent
    std::string reason;                   ///< `<problem> (<what is allowed>)`
};

/// The first fault: a stage or microbatch out of range, an action that is repeated, comes whole and in halves, or lies
/// on another rank than its forward, and one that is missing: every microbatch needs a forward on every stage and, if
/// there is any backward at all, a backward or both of its halves. Deadlocks are for `walk_schedule` to find.
std::optional<ScheduleFault> find_fault(PipelineSchedule const& schedule);

}  // namespace sextant

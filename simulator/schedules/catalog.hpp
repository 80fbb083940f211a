#pragma once

#include "core/spec/parallel_plan.hpp"
#include "simulator/schedules/schedule.hpp"

#include <span>
#include <string_view>

namespace sextant {

/// All schedules known by name, from plain to elaborate.
std::span<ScheduleEntry const* const> schedule_catalog();

/// The schedule of this name.
/// @throws InputError "<where>: ..." with the nearest name and all of them.
ScheduleEntry const& find_schedule(std::string_view name, std::string_view where);

/// The schedule that a plan names.
ScheduleEntry const& entry_of(Schedule schedule);

/// What every rank does.
/// @throws InputError "<where>: ..." when a count is not positive or too large, or the schedule does not support the
/// shape.
PipelineSchedule build_schedule(ScheduleEntry const& entry, ScheduleShape shape, std::string_view where);

}  // namespace sextant

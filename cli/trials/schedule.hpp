#pragma once

#include "cli/view/table.hpp"
#include "planner/trials/learning_rate.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// The answer of `sextant trials schedule`.
struct ScheduleReport {
    CalendarSpec const& spec;
    TrainingCalendar const& calendar;
    std::vector<CalendarRow> rows;
};

/// For people. Sample:
///
///      step   tokens    batch  learning rate  event
///         1  4.00 M   4.00 M        1.5e-07  start
std::string schedule_text(ScheduleReport const& report);
/// The calendar: a row per step that is shown.
Table schedule_table(ScheduleReport const& report);
/// Keys: docs/trials.md.
std::string schedule_json(ScheduleReport const& report);

}  // namespace sextant::cli

#pragma once

#include "cli/goodput/options.hpp"
#include "cli/view/table.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant::cli {

/// The answer of `sextant goodput`.
struct GoodputReport {
    GoodputSubject const& subject;
    Goodput expected;                   ///< by closed form
    std::optional<FaultStudy> study{};  ///< by simulation
    std::optional<IntervalSearch> search{};
    std::optional<TrialOutcome> timeline{};  ///< of one trial, with its incidents
    std::uint64_t seed = 1;
    std::string not_simulated{};  ///< why, when trials were asked for
};

/// Accelerator hours of the run, and those that are no useful work: by simulation where there is one, else by closed
/// form. Nothing where the run does not end.
struct GoodputHours {
    double all = 0;
    double lost = 0;
};
std::optional<GoodputHours> goodput_hours(GoodputReport const& report);

/// Name, share by closed form, share by simulation, of each use of time.
struct UseRow {
    char const* name;
    double expected;
    double simulated;
};
std::vector<UseRow> use_rows(GoodputReport const& report);

/// "1.2 h": never when infinite.
std::string human_or_never(Seconds time);

/// For people. Sample:
///
///     16384 accelerators in 2048 nodes: 30 days of work, 5.68 TB per checkpoint, async to parallel-fs
///
///     effective training time  96.1 % (closed form), 96.12 +- 0.02 % (200 trials)
///     wall clock               31.2 days; 30.9 to 31.6 in nine of ten trials
std::string goodput_text(GoodputReport const& report);

/// A row per use of time and per cause, in base units; per incident when a timeline was asked for.
Table goodput_table(GoodputReport const& report);

/// Keys: docs/goodput.md.
std::string goodput_json(GoodputReport const& report);

/// One trial over the wall clock: progress above, incidents below. @pre the report has a timeline.
std::string goodput_svg(GoodputReport const& report);

}  // namespace sextant::cli

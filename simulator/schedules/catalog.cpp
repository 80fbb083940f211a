#include "simulator/schedules/catalog.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace sextant {

extern ScheduleEntry const gpipe_schedule;
extern ScheduleEntry const one_f_one_b_schedule;
extern ScheduleEntry const interleaved_schedule;
extern ScheduleEntry const overlapped_schedule;
extern ScheduleEntry const breadth_first_schedule;
extern ScheduleEntry const zb_h1_schedule;
extern ScheduleEntry const zb_h2_schedule;
extern ScheduleEntry const zb_v_schedule;
extern ScheduleEntry const dualpipe_schedule;
extern ScheduleEntry const dualpipe_v_schedule;
extern ScheduleEntry const forward_only_schedule;

namespace {

/// Those that a plan can name in the order of `Schedule`, then the others.
constexpr std::array<ScheduleEntry const*, 11> entries{
    &gpipe_schedule,         &one_f_one_b_schedule, &interleaved_schedule, &overlapped_schedule,
    &breadth_first_schedule, &zb_h1_schedule,       &zb_h2_schedule,       &zb_v_schedule,
    &dualpipe_schedule,      &dualpipe_v_schedule,  &forward_only_schedule};

/// Slots that a schedule may have in all: what fits in memory with room to spare.
constexpr std::int64_t most_slots = 100'000'000;

}  // namespace

std::span<ScheduleEntry const* const> schedule_catalog() { return entries; }

ScheduleEntry const& find_schedule(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (ScheduleEntry const* entry : entries) {
        if (entry->name == name) return *entry;
        known.emplace_back(entry->name);
    }
    std::string const nearest = nearest_name(name, known);
    throw InputError("{}: unknown schedule '{}' ({}known: {})", where, name,
                     nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest), join(known));
}

ScheduleEntry const& entry_of(Schedule schedule) { return *entries[static_cast<std::size_t>(schedule)]; }

PipelineSchedule build_schedule(ScheduleEntry const& entry, ScheduleShape shape, std::string_view where) {
    if (shape.ranks < 1 || shape.microbatches < 1 || shape.chunks < 1)
        throw InputError("{}: {} ranks, {} microbatches, {} chunks (each must be at least 1)", where, shape.ranks,
                         shape.microbatches, shape.chunks);
    auto const product = static_cast<double>(shape.ranks) * static_cast<double>(shape.microbatches) *
                         static_cast<double>(shape.chunks) * 4;
    if (product > static_cast<double>(most_slots))
        throw InputError("{}: {} ranks, {} microbatches and {} chunks make {:.3g} slots (at most {:.0e})", where,
                         shape.ranks, shape.microbatches, shape.chunks, product, static_cast<double>(most_slots));
    if (auto const reason = entry.unsupported(shape))
        throw InputError("{}: schedule '{}' cannot run {}", where, entry.name, *reason);
    PipelineSchedule schedule{
        .name = std::string(entry.name), .stages = shape.stages(), .microbatches = shape.microbatches, .ranks = {}};
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank)
        schedule.ranks.push_back(entry.order(shape, rank));
    return schedule;
}

}  // namespace sextant

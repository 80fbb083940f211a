#include "simulator/schedule_walk.hpp"
#include "simulator/schedules/catalog.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace sextant;

namespace {

/// `F3`, `B3` in whole or `I3` and `W3`, `F3&B1`; a dash for each chunk after a rank's first.
std::string label_of(Slot const& slot, std::int64_t ranks) {
    auto const pass = [&](char const* letter, std::int32_t stage, std::int32_t microbatch) {
        return letter + std::to_string(microbatch) + std::string(static_cast<std::size_t>(stage / ranks), '\'');
    };
    switch (slot.kind) {
        case SlotKind::forward: return pass("F", slot.stage, slot.microbatch);
        case SlotKind::backward: return pass("B", slot.stage, slot.microbatch);
        case SlotKind::backward_input: return pass("I", slot.stage, slot.microbatch);
        case SlotKind::backward_weight: return pass("W", slot.stage, slot.microbatch);
        case SlotKind::forward_backward: break;
    }
    return pass("F", slot.stage, slot.microbatch) + "&" + pass("B", slot.backward_stage, slot.backward_microbatch);
}

/// A line per rank, F = I = W = one column of four characters, dots where it waits.
std::string picture_of(std::string_view name, ScheduleShape shape) {
    constexpr std::size_t width = 4;
    PipelineSchedule const schedule = build_schedule(find_schedule(name, "test"), shape, "test");
    ScheduleWalk const walk = walk_schedule(
        schedule, uniform_costs(schedule.stages, {1 * units::s, 1 * units::s, 1 * units::s, 3 * units::s}));
    auto const column = [](Seconds time) { return static_cast<std::size_t>(time.base() + 0.5) * width; };
    std::string picture;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        std::string line(column(walk.makespan), '.');
        for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
            SlotTime const& time = walk.ranks[rank].slots[i];
            std::size_t const length = column(time.end) - column(time.start);
            std::string label = label_of(schedule.ranks[rank][i], shape.ranks);
            label.resize(length, ' ');
            line.replace(column(time.start), length, label);
        }
        picture += "rank " + std::to_string(rank) + "  " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return picture;
}

/// `| name | chunks | longest wait in the step | the same within a rank's own span | most microbatches held |` of 8
/// ranks and 32 microbatches; F = I = W = 1 for a whole stage, held in whole stages.
std::string row_of(ScheduleEntry const& entry, std::int64_t chunks) {
    ScheduleShape const shape{.ranks = 8, .microbatches = 32, .chunks = chunks};
    PipelineSchedule const schedule = build_schedule(entry, shape, "test");
    Seconds const chunk = units::s / chunks;
    ScheduleWalk const walk = walk_schedule(schedule, uniform_costs(schedule.stages, {chunk, chunk, chunk, 3 * chunk}));
    double idle = 0, gaps = 0, held = 0;
    for (RankWalk const& rank : walk.ranks) {
        idle = std::max(idle, rank.idle.base());
        gaps = std::max(gaps, rank.gaps().base());
        held = std::max(held, static_cast<double>(rank.peak_in_flight) / static_cast<double>(chunks));
    }
    return fmt::format("| `{}` | {} | {:g} | {:g} | {:g} |", entry.name, chunks, idle, gaps, held);
}

}  // namespace

TEST_CASE("docs/schedules.md draws and names every schedule as it runs") {
    std::ifstream stream(SEXTANT_SOURCE_DIR "/docs/schedules.md");
    std::string const page{std::istreambuf_iterator<char>(stream), {}};
    for (ScheduleEntry const* entry : schedule_catalog()) {
        CAPTURE(entry->name);
        CHECK_THAT(page, contains("\n## " + std::string(entry->name) + "\n"));
        std::int64_t const chunks = entry->unsupported({.ranks = 8, .microbatches = 32, .chunks = 2}) ? 1 : 2;
        CHECK_THAT(page, contains(row_of(*entry, chunks)));
    }
    struct Drawn {
        char const* name;
        ScheduleShape shape;
    };
    for (Drawn const& drawn :
         {Drawn{"gpipe", {3, 4, 1}}, Drawn{"1f1b", {3, 4, 1}}, Drawn{"interleaved", {3, 3, 2}},
          Drawn{"1f1b-overlap", {2, 4, 2}}, Drawn{"breadth-first", {3, 3, 2}}, Drawn{"zb-h1", {3, 5, 1}},
          Drawn{"zb-h2", {3, 5, 1}}, Drawn{"zb-v", {2, 4, 2}}, Drawn{"dualpipe", {4, 8, 1}},
          Drawn{"dualpipe-v", {2, 4, 2}}, Drawn{"forward-only", {3, 4, 1}}}) {
        CAPTURE(drawn.name);
        CHECK_THAT(page, contains(picture_of(drawn.name, drawn.shape)));
    }
}

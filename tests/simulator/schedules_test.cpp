#include "simulator/schedule_walk.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/schedules/schedule_check.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

UniformTimes times(double forward, double input, double weight, double pair) {
    return {.forward = forward * units::s,
            .backward_input = input * units::s,
            .backward_weight = weight * units::s,
            .pair = pair * units::s};
}

/// Calls `visit` with every schedule of the catalog and every shape of a grid that it supports.
template <class Visit>
void for_each_schedule(Visit visit) {
    for (ScheduleEntry const* entry : schedule_catalog())
        for (std::int64_t ranks = 1; ranks <= 8; ++ranks)
            for (std::int64_t const microbatches : {1, 2, 3, 4, 6, 8, 13, 16, 24, 32})
                for (std::int64_t chunks = 1; chunks <= 4; ++chunks) {
                    ScheduleShape const shape{.ranks = ranks, .microbatches = microbatches, .chunks = chunks};
                    if (!entry->unsupported(shape)) visit(*entry, shape);
                }
}

/// The longest wait of any rank, over the span that the schedule's publication counts.
Seconds longest_wait(ScheduleWalk const& walk, BubbleSpan span) {
    Seconds most;
    for (RankWalk const& rank : walk.ranks)
        most = std::max(most, span == BubbleSpan::step ? rank.idle : rank.gaps());
    return most;
}

std::string text_of_file(std::filesystem::path const& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// "0F0 0F1 0B0": what a rank does.
std::string line_of(PipelineSchedule const& schedule, std::size_t rank) {
    std::string line;
    for (Slot const& slot : schedule.ranks[rank])
        line += (line.empty() ? "" : " ") + text_of(slot);
    return line;
}

}  // namespace

TEST_CASE("schedules: every file that defines one is in the catalog, under its own name", "[INV-27]") {
    std::filesystem::path const folder = std::filesystem::path(SEXTANT_SOURCE_DIR) / "simulator" / "schedules";
    std::size_t files = 0;
    for (auto const& file : std::filesystem::directory_iterator(folder))
        if (file.path().extension() == ".cpp" &&
            text_of_file(file.path()).find("extern constinit ScheduleEntry const") != std::string::npos)
            ++files;
    CHECK(files == schedule_catalog().size());
    std::set<std::string_view> names;
    for (ScheduleEntry const* entry : schedule_catalog()) {
        CAPTURE(entry->name);
        CHECK(names.insert(entry->name).second);
        CHECK_FALSE(entry->summary.empty());
        CHECK_FALSE(entry->source.empty());
        CHECK(&find_schedule(entry->name, "test") == entry);
    }
}

TEST_CASE("schedules: each pass of each microbatch runs once, on the rank that has the stage", "[INV-27]") {
    std::size_t seen = 0;
    for_each_schedule([&](ScheduleEntry const& entry, ScheduleShape shape) {
        PipelineSchedule const schedule = build_schedule(entry, shape, "test");
        CAPTURE(entry.name, shape.ranks, shape.microbatches, shape.chunks);
        auto const fault = find_fault(schedule);
        CHECK((fault ? fault->reason : "") == "");
        bool placed = true;
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
            for (Slot const& slot : schedule.ranks[rank]) {
                auto const id = static_cast<std::int64_t>(rank);
                placed = placed && entry.rank_of(shape, slot.stage, slot.microbatch) == id;
                if (slot.kind == SlotKind::forward_backward)
                    placed = placed && entry.rank_of(shape, slot.backward_stage, slot.backward_microbatch) == id;
            }
        CHECK(placed);
        ++seen;
    });
    CHECK(seen > 900);
}

TEST_CASE("schedules: none deadlocks, and a slot starts no earlier than what it needs has ended", "[INV-27]") {
    std::mt19937_64 random(seeded(1));
    for_each_schedule([&](ScheduleEntry const& entry, ScheduleShape shape) {
        PipelineSchedule const schedule = build_schedule(entry, shape, "test");
        WalkCosts costs = uniform_costs(schedule.stages, times(1, 1, 1, 3));
        double const transfer = uniform(random, 0, 0.5);
        costs.transfers.assign(static_cast<std::size_t>(schedule.stages) - 1, transfer * units::s);
        ScheduleWalk const walk = walk_schedule(schedule, costs);
        CAPTURE(entry.name, shape.ranks, shape.microbatches, shape.chunks, transfer);
        CHECK(text_of(walk.waiting) == "");
        if (!walk.waiting.empty()) return;
        // End of every forward and of every backward (its input half), and the rank, found without the walk's tables.
        struct Pass {
            double end = 1e300;
            std::size_t rank = 0;
        };
        auto const stages = static_cast<std::size_t>(schedule.stages);
        std::vector<Pass> forward(stages * static_cast<std::size_t>(schedule.microbatches)), backward = forward;
        auto const at = [&](std::int32_t stage, std::int32_t microbatch) {
            return static_cast<std::size_t>(microbatch) * stages + static_cast<std::size_t>(stage);
        };
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
            for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
                Slot const& slot = schedule.ranks[rank][i];
                double const end = walk.ranks[rank].slots[i].end.base();
                if (slot.kind == SlotKind::forward || slot.kind == SlotKind::forward_backward)
                    forward[at(slot.stage, slot.microbatch)] = {end, rank};
                if (slot.kind == SlotKind::backward || slot.kind == SlotKind::backward_input)
                    backward[at(slot.stage, slot.microbatch)] = {end, rank};
                if (slot.kind == SlotKind::forward_backward)
                    backward[at(slot.backward_stage, slot.backward_microbatch)] = {end, rank};
            }
        bool kept = true;
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
            double clock = 0;
            auto const ready = [&](Pass const& from) { return from.end + (from.rank == rank ? 0 : transfer); };
            for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
                Slot const& slot = schedule.ranks[rank][i];
                SlotTime const& time = walk.ranks[rank].slots[i];
                double needed = clock;
                bool const pair = slot.kind == SlotKind::forward_backward;
                if ((slot.kind == SlotKind::forward || pair) && slot.stage > 0)
                    needed = std::max(needed, ready(forward[at(slot.stage - 1, slot.microbatch)]));
                if (slot.kind == SlotKind::backward_weight)
                    needed = std::max(needed, ready(backward[at(slot.stage, slot.microbatch)]));
                if (slot.kind == SlotKind::backward || slot.kind == SlotKind::backward_input || pair) {
                    std::int32_t const stage = pair ? slot.backward_stage : slot.stage;
                    std::int32_t const microbatch = pair ? slot.backward_microbatch : slot.microbatch;
                    needed =
                        std::max(needed, stage + 1 == schedule.stages ? ready(forward[at(stage, microbatch)])
                                                                      : ready(backward[at(stage + 1, microbatch)]));
                }
                kept = kept && time.start.base() == needed;  // not earlier, and not later either
                clock = time.end.base();
            }
        }
        CHECK(kept);
    });
}

TEST_CASE("schedules: no rank holds more than the published bound, and the fullest one holds that", "[INV-28]") {
    for_each_schedule([&](ScheduleEntry const& entry, ScheduleShape shape) {
        PipelineSchedule const schedule = build_schedule(entry, shape, "test");
        ScheduleWalk const walk = walk_schedule(schedule, uniform_costs(schedule.stages, times(1, 1, 1, 3)));
        CAPTURE(entry.name, shape.ranks, shape.microbatches, shape.chunks);
        std::int64_t most = 0, bound = 0;
        for (std::size_t rank = 0; rank < walk.ranks.size(); ++rank) {
            std::int64_t const mine = entry.in_flight(shape, static_cast<std::int64_t>(rank));
            CHECK(walk.ranks[rank].peak_in_flight <= mine);
            most = std::max(most, walk.ranks[rank].peak_in_flight);
            bound = std::max(bound, mine);
        }
        CHECK(most == bound);
    });
}

TEST_CASE("schedules: the bubble is the published one", "[INV-28]") {
    // F = I = W and B = 2 F as in the papers' figures; then times that differ, pairs that hide something.
    UniformTimes const cases[] = {times(1, 1, 1, 3),       times(1, 1, 1, 2.25), times(1, 1.25, 0.75, 3),
                                  times(1, 1.5, 0.5, 2.5), times(1, 1, 0.5, 2),  times(1.5, 1, 0.75, 3)};
    std::set<std::string_view> judged;
    for (UniformTimes const& t : cases)
        for_each_schedule([&](ScheduleEntry const& entry, ScheduleShape shape) {
            auto const bubble = entry.bubble(shape, t);
            if (!bubble) return;
            PipelineSchedule const schedule = build_schedule(entry, shape, "test");
            ScheduleWalk const walk = walk_schedule(schedule, uniform_costs(schedule.stages, t));
            CAPTURE(entry.name, shape.ranks, shape.microbatches, shape.chunks, t.forward.base());
            CHECK(longest_wait(walk, entry.span).base() == Approx(bubble->base()).margin(1e-9));
            if (shape.ranks > 1 && shape.microbatches >= 2 * shape.ranks) judged.insert(entry.name);
        });
    CHECK(judged.size() == schedule_catalog().size());  // none is left out
}

TEST_CASE("schedules: known figures of 8 ranks and 32 microbatches", "[INV-28]") {
    auto const wait = [](std::string_view name, std::int64_t chunks, UniformTimes const& t, BubbleSpan span) {
        ScheduleShape const shape{.ranks = 8, .microbatches = 32, .chunks = chunks};
        PipelineSchedule const schedule = build_schedule(find_schedule(name, "test"), shape, "test");
        return longest_wait(walk_schedule(schedule, uniform_costs(schedule.stages, t)), span).base();
    };
    UniformTimes const alike = times(1, 1, 1, 3);
    // A chunk of two takes half as long: 1F1B waits 7 * 3, interleaving halves that, ZB-H1 takes a third of it.
    CHECK(wait("1f1b", 1, alike, BubbleSpan::step) == Approx(21));
    CHECK(wait("interleaved", 2, times(0.5, 0.5, 0.5, 1.5), BubbleSpan::step) == Approx(10.5));
    CHECK(wait("zb-h1", 1, alike, BubbleSpan::step) == Approx(7));
    CHECK(wait("zb-h2", 1, alike, BubbleSpan::own_span) == Approx(0).margin(1e-12));
    CHECK(wait("zb-v", 2, alike, BubbleSpan::own_span) == Approx(0).margin(1e-12));
    // arXiv:2412.19437 table 2: (PP / 2 - 1) (F&B + B - 3 W) = 3 (3 + 2 - 3).
    CHECK(wait("dualpipe", 1, alike, BubbleSpan::step) == Approx(6));
    // Ranks that start one after the other cost the zero-bubble schedules the same skew as everyone else.
    CHECK(wait("zb-h2", 1, alike, BubbleSpan::step) == Approx(7));
}

TEST_CASE("schedules: small cases are those of the papers' figures") {
    auto const built = [](std::string_view name, ScheduleShape shape) {
        return build_schedule(find_schedule(name, "test"), shape, "test");
    };
    CHECK(line_of(built("1f1b", {3, 4, 1}), 0) == "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
    CHECK(line_of(built("1f1b", {3, 4, 1}), 2) == "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
    CHECK(line_of(built("gpipe", {2, 3, 1}), 1) == "1F0 1F1 1F2 1B0 1B1 1B2");
    CHECK(line_of(built("interleaved", {2, 2, 2}), 0) == "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
    CHECK(line_of(built("interleaved", {2, 4, 2}), 1) ==
          "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
    CHECK(line_of(built("1f1b-overlap", {1, 3, 1}), 0) == "0F0 (0F1;0B0)OVERLAP_F_B (0F2;0B1)OVERLAP_F_B 0B2");
    CHECK(line_of(built("1f1b-overlap", {2, 4, 1}), 0) ==
          "0F0 0F1 0F2 (0F3;0B0)OVERLAP_F_B 0B1 0B2 0B3");  // twice the warm-up of 1F1B, and one
    CHECK(line_of(built("1f1b-overlap", {2, 2, 2}), 1) == "1F0 1F1 3F0 (3F1;3B0)OVERLAP_F_B 3B1 1B0 1B1");
    CHECK(line_of(built("zb-h1", {2, 3, 1}), 0) == "0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2");
    CHECK(line_of(built("zb-h1", {2, 3, 1}), 1) == "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
    CHECK(line_of(built("zb-v", {1, 2, 2}), 0) == "0F0 1F0 1I0 1W0 0F1 0I0 0W0 1F1 1I1 1W1 0I1 0W1");
    CHECK(line_of(built("breadth-first", {2, 2, 2}), 1) == "1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1");
    CHECK(line_of(built("forward-only", {2, 2, 2}), 0) == "0F0 0F1 2F0 2F1");
    CHECK(line_of(built("dualpipe", {2, 4, 1}), 0) == "0F0 1F2 0F1 1B2 (1F3;0B0)OVERLAP_F_B 1B3 0I1 0W1");
}

TEST_CASE("schedules: interleaving a number of microbatches that is no multiple of the ranks makes the groups larger",
          "[INV-27]") {
    // 7 microbatches on 2 ranks: groups of 3, 2 and 2, each through both chunks before the next.
    PipelineSchedule const schedule =
        build_schedule(find_schedule("interleaved", "test"), {.ranks = 2, .microbatches = 7, .chunks = 2}, "test");
    std::string forwards;
    for (Slot const& slot : schedule.ranks[0])
        if (slot.kind == SlotKind::forward) forwards += text_of(slot) + " ";
    CHECK(forwards == "0F0 0F1 0F2 2F0 2F1 2F2 0F3 0F4 2F3 2F4 0F5 0F6 2F5 2F6 ");
    // Fewer than ranks: one group.
    CHECK(build_schedule(find_schedule("interleaved", "test"), {.ranks = 4, .microbatches = 3, .chunks = 2}, "test")
              .ranks[3]
              .front() == Slot{.kind = SlotKind::forward, .stage = 3, .microbatch = 0});
}

TEST_CASE("schedules: what cannot be scheduled is refused with the numbers that are allowed") {
    auto const build = [](std::string_view name, ScheduleShape shape) {
        return build_schedule(find_schedule(name, "--schedule"), shape, "plan");
    };
    CHECK_THROWS_WITH(build("1f1b", {4, 8, 2}), contains("schedule '1f1b' cannot run 2 chunks of the model per rank"));
    CHECK_THROWS_WITH(build("zb-v", {4, 8, 1}), contains("1 chunk of the model per rank (it needs exactly 2)"));
    CHECK_THROWS_WITH(build("dualpipe", {3, 8, 1}), contains("3 ranks (microbatches enter from both ends"));
    CHECK_THROWS_WITH(build("dualpipe", {4, 9, 1}), contains("an even number"));
    CHECK_THROWS_WITH(build("dualpipe", {4, 6, 1}), contains("at least twice as many as ranks, 8"));
    CHECK_THROWS_WITH(build("dualpipe-v", {4, 7, 2}), contains("at least twice as many as ranks, 8"));
    CHECK_THROWS_WITH(build("gpipe", {0, 4, 1}), contains("plan: 0 ranks"));
    CHECK_THROWS_WITH(build("gpipe", {1 << 20, 1 << 20, 1}), contains("slots (at most"));
    CHECK_THROWS_WITH(build("dual-pipe", {4, 8, 1}),
                      contains("--schedule: unknown schedule 'dual-pipe' (did you mean 'dualpipe'?"));
}

TEST_CASE("find_fault: a schedule with one thing wrong is refused for that thing") {
    PipelineSchedule const sound = build_schedule(find_schedule("zb-h1", "test"), {3, 4, 1}, "test");
    CHECK_FALSE(find_fault(sound));
    auto const fault_after = [&](auto change) {
        PipelineSchedule schedule = sound;
        change(schedule);
        auto const fault = find_fault(schedule);
        return fault ? *fault : ScheduleFault{};
    };
    auto const repeated = fault_after([](PipelineSchedule& s) { s.ranks[1].push_back(s.ranks[1][2]); });
    CHECK(repeated.rank == 1);
    CHECK(repeated.position == sound.ranks[1].size());
    CHECK_THAT(repeated.reason, contains("is there already"));
    auto const absent = fault_after([](PipelineSchedule& s) { s.ranks[2].pop_back(); });
    CHECK(absent.rank == 2);
    CHECK_FALSE(absent.position);
    CHECK_THAT(absent.reason, contains("2W3 is missing"));
    auto const stray = fault_after([](PipelineSchedule& s) { s.ranks[0][0].stage = 3; });
    CHECK_THAT(stray.reason, contains("stage 3 is out of range (there are 3"));
    auto const late = fault_after([](PipelineSchedule& s) { s.ranks[0][0].microbatch = 4; });
    CHECK_THAT(late.reason, contains("microbatch 4 is out of range"));
    auto const moved = fault_after([](PipelineSchedule& s) {
        s.ranks[0].push_back(s.ranks[1].back());
        s.ranks[1].pop_back();
    });
    CHECK_THAT(moved.reason, contains("is on rank 0 (all passes"));
    auto const mixed = fault_after([](PipelineSchedule& s) { s.ranks[0].back().kind = SlotKind::backward; });
    CHECK_THAT(mixed.reason, contains("comes whole and in halves"));
}

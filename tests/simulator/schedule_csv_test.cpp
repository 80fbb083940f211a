#include "simulator/schedules/schedule_csv.hpp"

#include "core/error.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/schedules/csv_action.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <random>

using namespace sextant;

namespace {

PipelineSchedule parse(std::string_view text) { return parse_schedule_csv(text, "s.csv"); }

std::string replaced(std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("nothing to replace: " + from);
    return text.replace(at, from.size(), to);
}

PipelineSchedule built(std::string_view name, ScheduleShape shape) {
    return build_schedule(find_schedule(name, "test"), shape, "test");
}

}  // namespace

TEST_CASE("schedule CSV: every schedule of the catalog comes back as it was written, in both forms", "[INV-29]") {
    std::size_t seen = 0;
    for (ScheduleEntry const* entry : schedule_catalog())
        for (std::int64_t ranks = 1; ranks <= 8; ++ranks)
            for (std::int64_t const microbatches : {1, 4, 7, 8, 16, 32})
                for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
                    ScheduleShape const shape{.ranks = ranks, .microbatches = microbatches, .chunks = chunks};
                    if (entry->unsupported(shape)) continue;
                    PipelineSchedule const schedule = build_schedule(*entry, shape, "test");
                    for (auto const form : {ScheduleCsvForm::compute, ScheduleCsvForm::compute_and_transfers}) {
                        PipelineSchedule const read = parse(schedule_csv(schedule, form));
                        CAPTURE(entry->name, ranks, microbatches, chunks);
                        CHECK(read.stages == schedule.stages);
                        CHECK(read.microbatches == schedule.microbatches);
                        CHECK((read.ranks == schedule.ranks));
                        ++seen;
                    }
                }
    CHECK(seen > 500);
}

TEST_CASE("schedule CSV: the text is PyTorch's") {
    PipelineSchedule const schedule = built("1f1b", {2, 2, 1});
    CHECK(schedule_csv(schedule, ScheduleCsvForm::compute) ==
          "0F0,0F1,,0B0,,0B1\n"
          ",1F0,1B0,1F1,1B1,\n");
    CHECK(schedule_csv(schedule, ScheduleCsvForm::compute_and_transfers) ==
          "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
          "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
    // Line ends of both kinds, a byte-order mark, quotes, blanks and rows of different length.
    CHECK((parse("\xEF\xBB\xBF\"0F0\", 0F1 ,,0B0,,0B1\r\n,1F0,1B0,1F1,1B1\r\n").ranks == schedule.ranks));
    // Sharding is not ours to place.
    CHECK(
        (parse("0UNSHARD,0F0,0F1,0B0,0RESHARD,0B1,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1F1,1B1\n").ranks == schedule.ranks));
    PipelineSchedule const dual = built("dualpipe-v", {1, 2, 2});
    std::string const text = schedule_csv(dual, ScheduleCsvForm::compute);
    CHECK_THAT(text, contains("(1F1;0B0)OVERLAP_F_B"));
    PipelineSchedule const forward = parse("0F0,0F1\n,1F0,1F1\n");
    CHECK(forward.stages == 2);
    CHECK(forward.microbatches == 2);
}

TEST_CASE("schedule CSV: an action that cannot be read is refused with its row and cell") {
    CHECK_THROWS_AS(parse(""), InputError);
    CHECK_THROWS_WITH(parse(",,\n"), contains("no action in it"));
    for (std::string const bad :
         {"0X1", "F0", "0F", "0", "0F0x", "0F0F1", "-1F0", "0f1", "99999999999F0", "0SEND_F", "0SEND_X1",
          "(0F1)OVERLAP_F_B", "(0F1;0I0)OVERLAP_F_B", "(0B0;0F1)OVERLAP_F_B", "(0F1;0B0)", "rank", "("}) {
        CAPTURE(bad);
        CHECK_THROWS_WITH(parse("0F0,0B0\n1F0," + bad + "\n"),
                          contains("s.csv: row 2 (rank 1), cell 2: unknown action '" + bad + "'"));
    }
    CHECK_THROWS_WITH(parse("0F0,0B0\n\n1F0,1B0\n"), contains("row 2 (rank 1): the line is empty"));
    CHECK_THROWS_WITH(parse("0F0,0B0\n,,\n"), contains("row 2 (rank 1): there is no compute in it"));
}

TEST_CASE("schedule CSV: a schedule that cannot run is refused with its row and the reason") {
    CHECK_THROWS_WITH(parse("0F0,0B0\n7F0,7B0\n"),
                      contains("row 2 (rank 1), cell 1, '7F0': stage 7 is out of range (the "
                               "file names 2, so they are 0 to 1)"));
    CHECK_THROWS_WITH(parse("0F0,0F5,0B0,0B5\n"), contains("microbatch 5 is out of range (the file names 2"));
    CHECK_THROWS_WITH(parse("0F0,0B0\n,1F0,1F0,1B0\n"),
                      contains("row 2 (rank 1), cell 3, '1F0': 1F0 is there already, on rank 1"));
    CHECK_THROWS_WITH(parse("0F0,0B0,1F0\n1B0\n"), contains("row 2 (rank 1), cell 1, '1B0': another pass"));
    CHECK_THROWS_WITH(parse("0F0,0F1,0B0,0B1\n1F0,1B0,1F1\n"),
                      contains("row 2 (rank 1): 1B1 (or 1I1 and 1W1) is missing"));
    CHECK_THROWS_WITH(parse("0F0,0I0\n"), contains("0W0 is missing"));
    CHECK_THROWS_WITH(parse("0F0,0W0\n"), contains("0B0 (or 0I0 and 0W0) is missing"));
    CHECK_THROWS_WITH(parse("0F0,0I0,0W0,0B0\n"), contains("comes whole and in halves"));
    CHECK_THROWS_WITH(parse("0F0,1F1\n"), contains("2 actions for 2 stages and 2 microbatches"));
    CHECK_THROWS_WITH(parse("0F0,,,0B0\n,1B0,1F0\n"),
                      contains("row 1 (rank 0), cell 4, '0B0': the schedule deadlocks (rank 0 waits with 0B0 for the "
                               "backward of stage 1, microbatch 0; rank 1 waits with 1B0 for 1F0)"));
    CHECK_THROWS_WITH(parse("0F0,0W0,0I0\n"), contains("rank 0 waits with 0W0"));
}

TEST_CASE("schedule CSV: transfers that cannot happen are refused with their row and the reason") {
    std::string const sound = schedule_csv(built("1f1b", {2, 2, 1}), ScheduleCsvForm::compute_and_transfers);
    CHECK_NOTHROW(parse(sound));
    auto const refused = [&](std::string const& from, std::string const& to, std::string const& message) {
        CAPTURE(from, to);
        CHECK_THROWS_WITH(parse(replaced(sound, from, to)), contains(message));
    };
    refused("1RECV_F0,1F0,", "1F0,1RECV_F0,", "row 2 (rank 1), cell 1, '1F0': 1RECV_F0 has not come before it");
    refused("0SEND_F0,", "", "row 2 (rank 1), cell 1, '1RECV_F0': 0SEND_F0 is missing on rank 0");
    refused("1RECV_F1,", "", "1RECV_F1 has not come before it");
    refused("0F0,0SEND_F0", "0SEND_F0,0F0", "'0SEND_F0': the send comes before the forward that makes it");
    refused("1B0,1SEND_B0", "1SEND_B0,1B0", "'1SEND_B0': the send comes before the backward that makes it");
    refused("0SEND_F0,", "0SEND_F0,0SEND_F0,", "the transfer is there already");
    refused("0SEND_F0,", "1SEND_B0,", "stage 1 of microbatch 0 is on rank 1");
    refused("0SEND_F0,", "0SEND_B0,", "stage 0 has nobody at the other end");
    refused("0SEND_F0,", "0SEND_F9,", "out of range (there are 2 stages and 2 microbatches)");
    // Rank 1 wants the second activation before it computes the gradient that rank 0 wants before it sends it.
    refused("0F1,0SEND_F1,0RECV_B0,0B0", "0F1,0RECV_B0,0B0,0SEND_F1",
            "row 1 (rank 0), cell 4, '0RECV_B0': the transfers deadlock (rank 0 waits with 0RECV_B0; rank 1 waits with "
            "1RECV_F1)");
    // The same order with a receive where it is used is slow, but runs.
    CHECK_NOTHROW(
        parse("0F0,0SEND_F0,0F1,0RECV_B0,0B0,0SEND_F1,0RECV_B1,0B1\n"
              "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"));
}

TEST_CASE("schedule CSV: a file with any cell dropped, doubled or swapped is read as a sound schedule or refused") {
    std::mt19937_64 random(fixtures::seeded(21));
    int refused = 0, read = 0;
    for (int i = 0; i < 600; ++i) {
        bool const v = i % 2 == 0;
        std::string text = schedule_csv(v ? built("zb-v", {3, 6, 2}) : built("dualpipe-v", {2, 5, 2}),
                                        i % 3 == 0 ? ScheduleCsvForm::compute : ScheduleCsvForm::compute_and_transfers);
        std::vector<std::string> cells;
        std::string cell;
        for (char const c : text) {
            cell += c;
            if (c == ',' || c == '\n') {
                cells.push_back(cell);
                cell.clear();
            }
        }
        std::size_t const at = random() % (cells.size() - 1);
        switch (random() % 3) {
            case 0: cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(at)); break;
            case 1: cells[at] += cells[at]; break;
            default: std::swap(cells[at], cells[at + 1]);
        }
        text.clear();
        for (std::string const& part : cells)
            text += part;
        try {
            PipelineSchedule const schedule = parse(text);
            // What is read can be written and read again: it has neither fault nor deadlock.
            CHECK((parse(schedule_csv(schedule, ScheduleCsvForm::compute_and_transfers)).ranks == schedule.ranks));
            ++read;
        } catch (InputError const& error) {
            CHECK_THAT(error.what(), contains("s.csv: "));
            ++refused;
        }
    }
    CHECK(refused > 200);
    CHECK(read > 20);  // a blank dropped or doubled, neighbours that do not depend on each other
}

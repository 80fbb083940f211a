#include "kernels/host/process_group.hpp"

#include <unistd.h>

#include "kernels/harness/collective_bytes.hpp"
#include "kernels/harness/errors.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

/// Small whole numbers, so that sums are exact in any order.
float sent(std::int64_t rank, std::int64_t index) { return static_cast<float>(100 * (rank + 1) + index); }

}  // namespace

TEST_CASE("process group: every collective gives every rank what its definition says", "[collectives]") {
    std::int64_t const ranks = GENERATE(1, 2, 3, 5), elements = 4 * ranks;
    std::string const collective = GENERATE(
        values<std::string>({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"}));
    ProcessGroup group(ranks, elements, [&](std::int64_t rank, float* send) {
        for (std::int64_t i = 0; i < elements; ++i)
            send[i] = sent(rank, i);
    });
    for (int repeat = 0; repeat < 3; ++repeat)
        CHECK(group.run(collective) > 0);
    auto const send = [](std::int64_t rank, std::int64_t index) { return static_cast<double>(sent(rank, index)); };
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        Part const part = defined_part(collective, rank, ranks, elements);
        CHECK(part.last > part.first);
        for (std::int64_t i = part.first; i < part.last; ++i)
            CHECK(static_cast<double>(group.received(rank)[i]) ==
                  expected_element(collective, rank, ranks, elements, i, send));
    }
}

TEST_CASE("expected_element: two ranks of four elements, by hand", "[collectives]") {
    auto const send = [](std::int64_t rank, std::int64_t index) { return static_cast<double>(10 * rank + index); };
    auto const all = [&](std::string const& collective, std::int64_t rank) {
        std::vector<double> values;
        Part const part = defined_part(collective, rank, 2, 4);
        for (std::int64_t i = part.first; i < part.last; ++i)
            values.push_back(expected_element(collective, rank, 2, 4, i, send));
        return values;
    };
    using List = std::vector<double>;
    CHECK(all("all_reduce", 1) == List{10, 12, 14, 16});
    CHECK(all("reduce_scatter", 1) == List{14, 16});
    CHECK(all("all_gather", 0) == List{0, 1, 12, 13});
    CHECK(all("all_to_all", 0) == List{0, 1, 10, 11});
    CHECK(all("all_to_all", 1) == List{2, 3, 12, 13});
    CHECK(all("broadcast", 1) == List{0, 1, 2, 3});
    CHECK(all("send_recv", 0) == List{10, 11, 12, 13});
}

TEST_CASE("process group: sizes that do not divide are refused", "[collectives]") {
    auto const fill = [](std::int64_t, float*) {};
    CHECK_THROWS_AS(ProcessGroup(2, 3, fill), BadInput);
    CHECK_THROWS_AS(ProcessGroup(0, 4, fill), BadInput);
}

TEST_CASE("process group: a rank that dies is an error, not a hang", "[collectives]") {
    auto const dies = [](std::int64_t rank, float*) {
        if (rank == 1) _exit(1);
    };
    CHECK_THROWS_AS(ProcessGroup(3, 3, dies), Unavailable);
}

}  // namespace sextant::bench

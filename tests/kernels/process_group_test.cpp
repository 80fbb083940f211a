#include "kernels/host/process_group.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kernels/harness/collective_bytes.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/host/catalog.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

/// Small whole numbers, so that sums are exact in any order.
float sent(std::int64_t rank, std::int64_t index) { return static_cast<float>(100 * (rank + 1) + index); }

/// What making a group throws, if it is what a row that is measured again fails with: another error than Unavailable.
std::string failure_of(std::int64_t ranks, std::function<void(std::int64_t, float*)> const& fill) {
    try {
        ProcessGroup const group(ranks, ranks, fill);
    } catch (Unavailable const& fault) {
        return std::string("unavailable: ") + fault.what();
    } catch (std::runtime_error const& fault) {
        return fault.what();
    }
    return "";
}

bool has_no_children() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

constexpr int no_other_user = 77;

/// As a user of three processes at most; 0: what follows from that was seen.
int try_with_three_processes() {
    if (getuid() == 0 && setuid(61234) != 0) return no_other_user;  // an administrator has no limit
    rlimit const limit{3, 3};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) return 2;
    std::string const failure = failure_of(6, [](std::int64_t, float*) {});
    if (!failure.starts_with("no process for rank ")) return 3;
    return has_no_children() ? 0 : 4;
}

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
    auto const throws = [](std::int64_t rank, float*) {
        if (rank == 2) throw std::runtime_error("not this one's to report");
    };
    CHECK(failure_of(3, dies) == "a process of the collective has died");
    CHECK(has_no_children());
    int way[2];
    REQUIRE(pipe(way) == 0);
    pid_t const self = getpid();
    std::string const failure = failure_of(3, throws);
    if (getpid() != self) _exit(write(way[1], "!", 1) == 1 ? 1 : 2);  // what threw must not go on with the tests
    CHECK(failure == "a process of the collective has died");
    CHECK(has_no_children());
    close(way[1]);
    char came_back = 0;
    CHECK(read(way[0], &came_back, 1) == 0);
    close(way[0]);
}

TEST_CASE("process group: a first rank that fails leaves no process behind", "[collectives]") {
    auto const throws = [](std::int64_t rank, float*) {
        if (rank == 0) throw std::runtime_error("no values");
    };
    CHECK(failure_of(4, throws) == "no values");
    CHECK(has_no_children());
}

TEST_CASE("process group: processes that cannot be had are a failure, and none is left", "[collectives]") {
    pid_t const child = fork();
    if (child == 0) _exit(try_with_three_processes());
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == no_other_user)
        WARN("this administrator cannot become another user: not tested");
    else
        CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("host collectives: buffers of all ranks stay within the memory that a problem may have", "[collectives]") {
    Scope const scope{.effort = Effort::full, .memory_limit = std::int64_t{2} << 30, .processes = 224};
    std::int64_t most = 0, most_of_two = 0, ranks = 0;
    for (Problem const& problem : host_collectives.problems(scope)) {
        most = std::max(most, 2 * problem.shape.ranks * problem.shape.bytes);
        ranks = std::max(ranks, problem.shape.ranks);
        if (problem.shape.ranks == 2) most_of_two = std::max(most_of_two, problem.shape.bytes);
    }
    CHECK(most <= scope.memory_limit + 2 * 448 * 448 * 4);  // parts of whole numbers
    CHECK(ranks == 448);
    CHECK(most_of_two == 64 << 20);
}

TEST_CASE("collectives_in_a_row: twenty short ones, and of long ones no more than 50 ms or one", "[collectives]") {
    CHECK(collectives_in_a_row(0) == 20);
    CHECK(collectives_in_a_row(20e-6) == 20);
    CHECK(collectives_in_a_row(0.01) == 5);
    CHECK(collectives_in_a_row(0.4) == 1);
    double const seconds = GENERATE(take(50, random(1e-6, 1.0)));
    int const times = collectives_in_a_row(seconds);
    CHECK((times == 1 || times * seconds <= 0.05));
    CHECK((times == 20 || (times + 1) * seconds > 0.05));
}

TEST_CASE("aligned_bytes: parts of 16 bytes for every rank, and sizes as they are where that divides them",
          "[collectives]") {
    for (std::int64_t const ranks : {1, 2, 3, 5, 6, 7, 8, 12, 64, 72})
        for (std::int64_t const bytes : {1024, 4096, 1 << 20}) {
            CAPTURE(ranks, bytes);
            std::int64_t const aligned = aligned_bytes(bytes, ranks);
            CHECK(aligned % (16 * ranks) == 0);
            CHECK(aligned >= bytes);
            CHECK(aligned - bytes < 16 * ranks);
        }
    CHECK(aligned_bytes(1024, 64) == 1024);
    CHECK(aligned_bytes(1024, 3) == 1056);
}

}  // namespace sextant::bench

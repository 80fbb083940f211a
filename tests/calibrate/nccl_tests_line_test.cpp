#include "calibrate/import/nccl_tests_line.hpp"

#include "calibrate/import/log_line.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

using namespace sextant;

namespace {

// Written for this test in the layout of nccl-tests; the figures are made up.
std::string list_of_ranks(int ranks, int per_host) {
    std::string out = "# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor)\n# Using devices\n";
    for (int rank = 0; rank < ranks; ++rank)
        out += fmt::format("#  Rank {} Group 0 Pid 1 on node{} device 0 [0x1b] NVIDIA H100 80GB HBM3\n", rank,
                           rank / per_host);
    return out;
}

constexpr char const* head = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";

/// What took so many microseconds, at 10.49 GB/s, with busbw as so many times that.
std::string times(int microseconds, double factor = 1.5) {
    std::string const side = fmt::format(" {} 10.49 {} 0", microseconds, 10.49 * factor);
    return side + side + "\n";
}

std::string beginning(int microseconds) {
    int const size = 10490 * microseconds;
    return fmt::format("{} {} float sum -1", size, size / 4);
}

std::string sound(int microseconds, double factor = 1.5) {
    return beginning(microseconds) + times(microseconds, factor);
}

NcclTestsLog read(std::string const& text) {
    auto runs = read_nccl_tests_log(text, "all_reduce.log");
    REQUIRE(runs.size() == 1);
    return runs.front();
}

}  // namespace

TEST_CASE("nccl-tests log: lines of others are no sizes, wherever they stand and however they end") {
    std::string const before = list_of_ranks(4, 4) + head;
    for (std::string const foreign : {
             "gpu-node:12345:12399 [0] NCCL INFO Channel 00/24 :    0   1   2   3   4   5   6   7",
             "[2025-01-01 10:00:00] node:1:2 [0] NCCL INFO Channel 00/08 :    0   1   2   3   4   5   6   7",
             "node:1:2 [0] NCCL INFO NVLS Head  0:  0  1  2  3  4  5  6  7",
             "node:1:2 [0] RCCL WARN 8 2 float 0 1 2 3 4 5 6 7",
             "[1,3]<stderr>:node0: some warning 1 2 3 4 5 6 7 8 9",
             "WARNING: Open MPI accepted a TCP connection 1 2 3 4 5 6",
             "Rank 0 1 2 3 4 5 6 7",
             "slurm job 123 1 2 3 4 5 6 7 8",
             "Nodes: 2",
             "JobID: 12345",
             "2 nodes allocated",
             "GPUs: 8 per node",
             "Elapsed: 12 s",
             "1 warning generated.",
             "3. run",
             "available: 2 nodes (0-1)",
             "16 events dropped",
             "node1: 2 retries on port 1",
             "0 1 2 3 4 5 6 7 8 9 10 11",
             "100 200 300",
             "12345",
         }) {
        CAPTURE(foreign);
        std::string const line = foreign + "\n";
        for (std::string const& text : {line + before + sound(8) + sound(16), before + line + sound(8) + sound(16),
                                        before + sound(8) + line + sound(16), before + sound(8) + sound(16) + line}) {
            NcclTestsLog const log = read(text);
            CHECK(log.rows.size() == 2);
            CHECK(log.skipped.empty());
        }
    }
}

TEST_CASE("nccl-tests log: a size that another line broke is left out, and its times are no one else's") {
    std::string const before = list_of_ranks(4, 4) + head;
    std::string const info = "node:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n";
    std::string const warning = "libibverbs: Warning: 1 of the configured devices was not found at all\n";
    for (std::string const& into : {info, " " + info, info + info, "\n" + info, warning, "\n" + warning}) {
        CAPTURE(into);
        NcclTestsLog const log = read(before + sound(8) + beginning(16) + into + times(16) + sound(32));
        REQUIRE(log.rows.size() == 2);
        CHECK(log.rows[0].measured->in(units::us) == Approx(8));
        CHECK(log.rows[1].measured->in(units::us) == Approx(32));
        CHECK(log.skipped == std::map<std::string, std::size_t>{{"is broken by another line", 1}});
    }
    // The first size, into which the library prints what it connects.
    NcclTestsLog const first = read(before + beginning(8) + "\n" + info + times(8) + sound(16));
    CHECK(first.rows.size() == 1);
    CHECK(first.skipped.at("is broken by another line") == 1);
    // Behind all times of a size: nothing is missing.
    std::string behind = sound(16);
    behind.pop_back();
    CHECK(read(before + sound(8) + behind + " " + info + sound(32)).rows.size() == 3);
}

TEST_CASE("nccl-tests log: ranks that fill hosts unevenly are refused, however many there are") {
    CHECK(read(list_of_ranks(12, 4) + head + sound(8, 2 * 11. / 12)).hosts == 3);
    CHECK_THROWS_WITH(read(list_of_ranks(12, 8) + head + sound(8, 2 * 11. / 12)),
                      contains("12 ranks on 2 hosts, more on one than on another"));
}

TEST_CASE("nccl-tests log: a run of another collective is named with its line") {
    std::string const run = list_of_ranks(4, 4) + head;
    CHECK_THROWS_WITH(read(run + sound(8) + run + sound(8, 0.75)),
                      contains("line 16, run 2: busbw is 0.75 times algbw") && contains("a file of its own"));
}

TEST_CASE("nccl-tests line: a type that is not known is read where the columns are those of the head") {
    CHECK(size_position(words_of("8 2 float4 sum -1 3.0 1.0 1.5 0 3.0 1.0 1.5 0"), {}) == 0);
    CHECK_FALSE(size_position(words_of("8 2 float4 sum -1 3.0 1.0"), {}));
    CHECK(size_position(words_of("pod-3 8 2 float sum -1"), {}) == 1);
}

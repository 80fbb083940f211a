#include "calibrate/import/nccl_tests_log.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

// Written for this test in the layout of nccl-tests; the figures are made up.
constexpr char const* ranks =
    R"(# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   101 on     node-a device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   102 on     node-a device  1 [0x43] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   201 on     node-b device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   202 on     node-b device  1 [0x43] NVIDIA H100 80GB HBM3
NCCL version 2.27.3+cuda12.9
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
)";
constexpr char const* sizes =
    R"(           8             2     float     sum      -1    31.20    0.00    0.00      0    30.90    0.00    0.00      0
  1073741824     268435456     float     sum      -1   6400.0  167.77  251.66      0   6500.0  165.19  247.79      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 124.86
)";

NcclTestsLog read(std::string const& text, std::string const& name = "all_reduce.log") {
    return read_nccl_tests_log(text, name);
}

}  // namespace

TEST_CASE("nccl-tests log: header, ranks and sizes") {
    NcclTestsLog const log = read(std::string(ranks) + sizes);
    CHECK(log.collective == "all_reduce");
    CHECK(log.library_version == "2.27.3+cuda12.9");
    CHECK(log.device == "NVIDIA H100 80GB HBM3");
    CHECK(log.ranks == 4);
    CHECK(log.hosts == 2);
    REQUIRE(log.rows.size() == 2);
    CHECK(log.rows[0].measured->in(units::us) == Approx(30.9));
    CHECK(log.rows[1].bytes == 1 * units::GiB);
    CHECK(log.rows[1].measured->in(units::us) == Approx(6400));
    CHECK(log.rows[1].machine.nodes == 2);
    CHECK(log.rows[1].machine.gpus_per_node == 2);
    CHECK(collective_kind_of(log.rows[0].collective) == CollectiveKind::all_reduce);
}

TEST_CASE("nccl-tests log: launcher prefixes, other lines and one group of columns") {
    std::string text = "Loading modules\nmpirun -np 4 ./build/alltoall_perf -b 8 -e 1G\n";
    for (std::size_t begin = 0; begin < std::string(ranks).size();) {
        std::size_t const end = std::string(ranks).find('\n', begin);
        text += "[1,0]<stdout>:" + std::string(ranks).substr(begin, end - begin + 1);
        begin = end + 1;
    }
    text +=
        "0:       1024           64     float    none      -1    40.00    0.03    0.02    N/A    41.00    0.02    0.02 "
        "   N/A\r\n";
    text += "0: # done\n";
    NcclTestsLog const log = read(text, "job.out");
    CHECK(log.collective == "alltoall");
    CHECK(log.ranks == 4);
    REQUIRE(log.rows.size() == 1);
    CHECK(log.rows[0].measured->in(units::us) == Approx(40));
}

TEST_CASE("nccl-tests log: a version that was cut off leaves it unknown") {
    for (char const* line : {"NCCL version \t\n", "RCCL version  \t \n", "NCCL version \n"}) {
        NcclTestsLog const log = read(std::string(line) + sizes + "#  Rank  0 Group  0 Pid  1 on  node-a device  0\n");
        CHECK(log.library_version.empty());
        CHECK(log.rows.size() == 2);
    }
}

TEST_CASE("nccl-tests log: what is no log, or a broken one, is refused with its line") {
    CHECK_THROWS_AS(read("", "x.log"), InputError);
    CHECK_THROWS_AS(read("hello\nworld\n"), InputError);
    CHECK_THROWS_AS(read(ranks), InputError);                                  // no sizes
    CHECK_THROWS_AS(read(sizes), InputError);                                  // no ranks
    CHECK_THROWS_AS(read(std::string(ranks) + sizes, "job.out"), InputError);  // which collective?
    for (char const* line :
         {"8 2 float sum -1 nan 0 0 0 30.9 0 0 0\n", "8 2 float sum -1 -3 0 0 0 30.9 0 0 0\n",
          "8 2 float sum -1 x 0 0 0 30.9 0 0 0\n", "8 2 float\n", "8.5 2 float sum -1 3 0 0 0 3 0 0 0\n"}) {
        CAPTURE(line);
        try {
            read(std::string(ranks) + line);
            FAIL("accepted");
        } catch (InputError const& error) {
            CHECK_THAT(std::string(error.what()), contains("all_reduce.log: line 13: "));
        }
    }
    std::string three(ranks);
    three.erase(three.find("#  Rank  3"), three.find("NCCL version") - three.find("#  Rank  3"));
    CHECK_THROWS_AS(read(three + sizes), InputError);  // 3 ranks on 2 hosts
}

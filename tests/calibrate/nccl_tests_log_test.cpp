#include "calibrate/import/nccl_tests_log.hpp"

#include "calibrate/import/log_line.hpp"
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

std::vector<NcclTestsLog> read_all(std::string const& text, std::string const& name) {
    return read_nccl_tests_log(text, name);
}

NcclTestsLog read(std::string const& text, std::string const& name = "all_reduce.log") {
    auto runs = read_all(text, name);
    REQUIRE(runs.size() == 1);
    return runs.front();
}

std::string ranks_without_version() {
    std::string text(ranks);
    auto const at = text.find("NCCL version");
    return text.erase(at, text.find('\n', at) + 1 - at);
}

/// Every line with something before it.
std::string behind(std::string const& prefix, std::string const& text) {
    std::string out;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = text.find('\n', begin);
        out += prefix + text.substr(begin, end - begin + 1);
        begin = end + 1;
    }
    return out;
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
    text += behind("[1,0]<stdout>:", ranks);
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

TEST_CASE("nccl-tests log: whatever stands before every line, the figures are those of the log without it") {
    NcclTestsLog const plain = read(std::string(ranks) + sizes);
    for (char const* prefix : {"[1,0]<stdout>:",
                               "[1,0]<stdout>: ",
                               "0: ",
                               "00: ",
                               "node3: ",
                               "launcher-abc | ",
                               "[2024-05-01 12:00:00] ",
                               "2024-05-01T12:00:00.123456Z ",
                               "2024-05-01 12:00:00,123 ",
                               "2024-05-01T12:00:00Z 3: ",
                               "\x1b[32m\x1b[0m",
                               "2024-08-05T21:13:10.123456789Z stdout F ",
                               "nccl-test-launcher-x7k2q mpi-launcher ",
                               "Aug 05 21:13:10 ",
                               "2024-08-05 21:13:10,123 - INFO - ",
                               "2024-08-05 21:13:10,123 INFO ",
                               "node0  | ",
                               "I0805 21:13:10.1 42 run.py] ",
                               "{worker 3} ",
                               "[pod/nccl-tests-launcher-abc/mpi] ",
                               "[rank0]: "}) {
        CAPTURE(prefix);
        NcclTestsLog const log = read(behind(prefix, std::string(ranks) + sizes));
        CHECK(log.ranks == plain.ranks);
        CHECK(log.hosts == plain.hosts);
        CHECK(log.device == plain.device);
        CHECK(log.library_version == plain.library_version);
        REQUIRE(log.rows.size() == plain.rows.size());
        for (std::size_t i = 0; i < log.rows.size(); ++i) {
            CHECK(log.rows[i].bytes == plain.rows[i].bytes);
            CHECK(log.rows[i].measured == plain.rows[i].measured);
        }
    }
}

TEST_CASE("nccl-tests log: each run of a file has its own collective and ranks") {
    std::string const gathered =
        "1048576 262144 float none -1 100.0 10.49 7.86 0 101.0 10.38 7.79 0\n";  // (4 - 1) / 4 of algbw
    auto const runs = read_all(
        std::string("./all_reduce_perf -b 8\n") + ranks + sizes + "./all_gather_perf -b 8\n" + ranks + gathered,
        "job.out");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].collective == "all_reduce");
    CHECK(runs[1].collective == "all_gather");
    for (NcclTestsLog const& run : runs) {
        CHECK(run.ranks == 4);
        CHECK(run.hosts == 2);
        CHECK(run.rows.front().nranks == 4);
    }
    CHECK(runs[0].rows.front().run_id != runs[1].rows.front().run_id);
    // A loop that echoes nothing: the name of the file is that of each.
    CHECK(read_all(std::string(ranks) + sizes + ranks + sizes, "all_reduce.log").size() == 2);
    CHECK_THROWS_WITH(read_all(std::string(ranks) + sizes + ranks + gathered, "all_reduce.log"),
                      contains("busbw is 0.75 times algbw, not 1.5 as of all_reduce over 4 ranks"));
}

TEST_CASE("nccl-tests log: a title behind the sizes of a run is the next one's") {
    auto const run = [](std::string const& title) {
        return "=== " + title + " ===\n" + ranks +
               "1048576 262144 float none -1 100.0 10.49 7.86 0 101.0 10.38 7.79 0\n" + "# Avg bus bandwidth : 7.8\n";
    };
    // All of them have (n - 1) / n: no column tells one from another.
    std::vector<std::string> const titles{"all_gather", "Running reduce_scatter", "alltoall"};
    for (char const* name : {"job.out", "all_gather.log"}) {
        CAPTURE(name);
        auto const runs = read_all(run(titles[0]) + run(titles[1]) + run(titles[2]) + "alltoall is done\n", name);
        REQUIRE(runs.size() == 3);
        CHECK(runs[0].collective == "all_gather");
        CHECK(runs[1].collective == "reduce_scatter");
        CHECK(runs[2].collective == "alltoall");
    }
    // The nearer of two titles, and a program before either; what the library says between sizes is no title.
    auto const ends = read_all(run("all_gather") + "all_gather is done\n" + run("reduce_scatter") +
                                   "node-a:1:1 [0] NCCL INFO AllReduce: opCount 4\n" + "./alltoall_perf -b 8\n" +
                                   run("reduce_scatter"),
                               "job.out");
    REQUIRE(ends.size() == 3);
    CHECK(ends[1].collective == "reduce_scatter");
    CHECK(ends[2].collective == "alltoall");
}

TEST_CASE("nccl-tests log: rows of a run whose environment has NVLS switched off say so, and of no other") {
    auto const nvls = [](std::string const& lines) {
        NcclTestsLog const log = read(ranks + lines + sizes);
        CHECK((log.rows.back().machine.intra_link == "NVLS off") == log.without_nvls);
        return !log.without_nvls;
    };
    std::string const info = "node-a:12:34 [0] NCCL INFO ";
    CHECK_FALSE(nvls(info + "NCCL_NVLS_ENABLE set by environment to 0.\n"));
    CHECK(nvls(info + "NCCL_NVLS_ENABLE set by environment to 1.\n"));
    CHECK_FALSE(nvls(info + "NCCL_ALGO set by environment to Ring\n"));
    CHECK_FALSE(nvls(info + "NCCL_ALGO set by environment to ^NVLS,CollNetDirect\n"));
    CHECK(nvls(info + "NCCL_ALGO set by environment to NVLS,Ring\n"));
    CHECK(nvls(info + "NCCL_ALGO set by environment to allgather:ring\n"));
    CHECK(nvls(""));
    auto const runs =
        read_all("mpirun -x NCCL_NVLS_ENABLE=0 ./all_reduce_perf\n" + std::string(ranks) + sizes +
                     "mpirun ./all_reduce_perf\n" + ranks + sizes + "export NCCL_ALGO=\"Tree,Ring\"\n" + ranks + sizes,
                 "all_reduce.log");
    REQUIRE(runs.size() == 3);
    CHECK(runs[0].without_nvls);
    CHECK_FALSE(runs[1].without_nvls);
    CHECK(runs[2].without_nvls);
}

TEST_CASE("nccl-tests log: a device that one name lists again is of another host of that name") {
    auto const list = [](std::string const& bus, int hosts) {
        std::string out = "# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor)\n";
        for (int rank = 0; rank < 4; ++rank) {
            int const device = rank % (4 / hosts);
            out += "#  Rank " + std::to_string(rank) + " Group 0 Pid 1 on localhost device " + std::to_string(device) +
                   " [" + bus + std::to_string(device) + "] NVIDIA H100 80GB HBM3\n";
        }
        return out + std::string(ranks).substr(std::string(ranks).find("NCCL version"));
    };
    for (char const* bus : {"0x1", "0000:1"}) {
        CHECK(read(list(bus, 2) + sizes).hosts == 2);
        CHECK(read(list(bus, 1) + sizes).hosts == 1);
    }
    CHECK(read(list("0000:1", 4) + sizes).hosts == 4);
    // Each rank sees one device, in PCI domains of their own that an older nccl-tests does not print.
    CHECK(read(list("0x1", 4) + sizes).hosts == 1);
}

TEST_CASE("nccl-tests log: programs without a model are named, not taken for others") {
    for (std::string const program : {"gather", "scatter", "hypercube"})
        CHECK(read("./" + program + "_perf -b 8\n" + ranks + sizes, "x.out").collective == program);
    CHECK(read(std::string(ranks) + sizes, "run2_all_reduce_perf.log").collective == "all_reduce");
    for (char const* name : {"rccl_all_reduce_perf.log", "nccl_all_reduce_perf.log", "mi300x_all_reduce_perf.log"})
        CHECK(read(std::string(ranks) + sizes, name).collective == "all_reduce");
    // The sizes are an all-reduce's, which the name says they are not.
    CHECK_THROWS_WITH(read(std::string("./reduce_perf -b 8\n") + ranks + sizes, "x.out"),
                      contains("as of reduce over"));
    CHECK_THROWS_WITH(read(std::string(ranks) + sizes, "rccl_reduce_perf.log"), contains("as of reduce over"));
    CHECK(read(std::string(ranks) + sizes, "all_shuffle_perf.log").collective == "all_shuffle");
}

TEST_CASE("nccl-tests log: a run may end in the middle of a line, and only there") {
    std::string const whole = std::string(ranks) + sizes;
    std::size_t const second = whole.find("  1073741824");
    std::size_t const end = whole.find('\n', second);
    for (std::size_t cut = second + 12; cut < end; ++cut) {
        CAPTURE(whole.substr(second, cut - second));
        NcclTestsLog const log = read(whole.substr(0, cut));
        if (log.rows.size() == 2) {  // nothing but digits of the last cell is missing
            CHECK(log.rows[1].measured->in(units::us) == Approx(6400));
            continue;
        }
        REQUIRE(log.rows.size() == 1);
        CHECK(log.skipped.at("is cut off") == 1);
    }
    CHECK_THROWS_AS(read(whole.substr(0, second + 40) + "\n" + sizes), InputError);
}

TEST_CASE("nccl-tests log: times of wrong results are left out") {
    std::string wrong = "  1048576  262144  float  sum  -1  31.20  33.61  50.41  12  30.90  33.93  50.90  0\n";
    NcclTestsLog const log = read(std::string(ranks) + sizes + wrong);
    CHECK(log.rows.size() == 2);
    CHECK(log.skipped.at("has wrong results (#wrong)") == 1);
}

TEST_CASE("nccl-tests log: many wrong results are wrong, too, and sizes of nothing are counted") {
    std::string wrong = "  1048576  262144  float  sum  -1  31.20  33.61  50.41  1.05e+06  30.90  33.93  50.90  0\n";
    std::string empty = "        0       0  float  sum  -1   5.20   0.00   0.00  0   5.10   0.00   0.00  0\n";
    NcclTestsLog const log = read(std::string(ranks) + sizes + wrong + empty);
    CHECK(log.rows.size() == 2);
    CHECK(log.skipped.at("has wrong results (#wrong)") == 1);
    CHECK(log.skipped.at("is of no bytes") == 1);
}

TEST_CASE("nccl-tests log: a line with figures is read or refused, whatever stands for its size") {
    for (char const* size : {"\"1048576\"", "1,048,576", "1M", "1 048 576", "1 048576", "'1048576'", "x"}) {
        CAPTURE(size);
        std::string const line =
            std::string(size) + "  262144  float  sum  -1  31.20  33.61  50.41  0  30.90  33.93  50.90  0\n";
        CHECK_THROWS_WITH(read(std::string(ranks) + sizes + line), contains("is no size in bytes"));
    }
}

TEST_CASE("nccl-tests log: other benchmarks of networks are refused by name, with what to do") {
    // Written for this test in the layouts of these programs; the figures are made up.
    struct Case {
        char const* text;
        char const* name;
    };
    for (auto const& [text, name] :
         {Case{"# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n8   28.20\n", "OSU"},
          Case{"                    RDMA_Write BW Test\n #bytes     #iterations    BW peak[MB/sec]\n 65536 5000 469 "
               "468\n",
               "perftest"},
          Case{"nvbandwidth Version: v0.7\nRunning device_to_device_memcpy_read_ce.\n", "nvbandwidth"},
          Case{R"({"results":[{"size":8,"out_of_place":{"time":1,"bus_bw":2}}]})", "-J"}}) {
        CAPTURE(name);
        CHECK_THROWS_WITH(read(text), contains("all_reduce.log: is of ") && contains(name));
    }
}

TEST_CASE("nccl-tests log: a version that was cut off leaves it unknown") {
    for (char const* line : {"NCCL version \t\n", "RCCL version  \t \n", "NCCL version \n"}) {
        NcclTestsLog const log = read(std::string(line) + ranks_without_version() + sizes);
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

namespace {

/// A line of the list of ranks.
std::string rank_line(int rank, int group, std::string const& host) {
    return "#  Rank " + std::to_string(rank) + " Group " + std::to_string(group) + " Pid 1 on " + host +
           " device 0 [0x1b] NVIDIA H100 80GB HBM3\n";
}

constexpr char const* parameters = "# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor)\n# Using devices\n";
constexpr char const* head =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n";

/// A line of a size that took 100 us, with busbw as so many times algbw.
std::string reduced(double factor) {
    std::string const side = " 100.0 10.49 " + std::to_string(10.49 * factor) + " 0";
    return "1048576 262144 float sum -1" + side + side + "\n";
}

}  // namespace

TEST_CASE("nccl-tests log: separate processes are no collective, however their lines mix") {
    std::string const one_each =
        std::string(parameters) + parameters + rank_line(0, 0, "a") + rank_line(0, 0, "b") + head + head;
    NcclTestsLog const mixed = read(one_each + reduced(0) + reduced(0));
    CHECK(mixed.rows.empty());
    REQUIRE(mixed.skipped.size() == 1);
    CHECK_THAT(mixed.skipped.begin()->first, contains("separate processes, each with a rank 0") && contains("MPI=1"));
    CHECK(mixed.skipped.begin()->second == 2);
    // Two of each rank, and a factor that would not tell.
    std::string const two_each = std::string(parameters) + rank_line(0, 0, "a") + rank_line(1, 0, "a") +
                                 rank_line(0, 0, "b") + rank_line(1, 0, "b");
    CHECK(read(two_each + reduced(1), "broadcast.log").rows.empty());
}

TEST_CASE("nccl-tests log: a run of one rank is left out, also when nothing says of what") {
    NcclTestsLog const log = read(std::string(parameters) + rank_line(0, 0, "a") + head + reduced(0), "job.out");
    CHECK(log.rows.empty());
    CHECK(log.skipped.at("over one rank: nothing is communicated") == 1);
}

TEST_CASE("nccl-tests log: a bus bandwidth of nothing between ranks is refused") {
    CHECK_THROWS_WITH(read(std::string(ranks) + reduced(0)), contains("busbw is 0 times algbw, not 1.5"));
}

TEST_CASE("nccl-tests log: a time in another unit than its rate is counted, not read") {
    std::string const log = std::string(ranks) + reduced(1.5);
    CHECK(read(log).rows.size() == 1);
    std::string milliseconds = log;
    for (std::size_t at = 0; (at = milliseconds.find(" 100.0 ")) != std::string::npos;)
        milliseconds.replace(at, 7, " 0.100 ");
    NcclTestsLog const left = read(milliseconds);
    CHECK(left.rows.empty());
    CHECK(left.skipped.at("time and algbw contradict each other by more than 10 % (us and GB/s are expected)") == 1);
    // A hypercube's rate is of what is sent: 7/8 of the size over eight ranks.
    std::string const hypercube = "1048576 262144 float none -1 100.0 9.18 9.18 0 100.0 9.18 9.18 0\n";
    CHECK(read("./hypercube_perf -b 1M\n" + std::string(ranks) + hypercube).skipped.empty());
    // Two decimals, and two digits of a time of ten seconds and more, are no contradiction.
    std::string const small = "8 2 float sum -1 31.20 0.00 0.00 0 30.90 0.00 0.00 0\n";
    std::string const slow = "1073741824 268435456 float sum -1 1.1e+07 0.10 0.15 0 1.1e+07 0.10 0.15 0\n";
    CHECK(read(std::string(ranks) + small + slow).rows.size() == 2);
}

TEST_CASE("nccl-tests log: a run over different devices is of none of them") {
    std::string mixed(ranks);
    std::string const h100 = "NVIDIA H100 80GB HBM3";
    mixed.replace(mixed.rfind(h100), h100.size(), "NVIDIA A100-SXM4-80GB");
    NcclTestsLog const log = read(mixed + sizes);
    CHECK(log.rows.empty());
    CHECK(log.skipped.at("is of different devices (a100-sxm-80gb and h100-sxm: no model is of both together)") == 2);
    std::string more(ranks);  // what stands behind a name is none of another device
    more.insert(more.rfind(h100) + h100.size(), " 12:00:01");
    CHECK(read(more + sizes).rows.size() == 2);
}

TEST_CASE("nccl-tests log: of a run that was split, one group counts") {
    // Two groups over two hosts each, as NCCL_TESTS_SPLIT='MOD 2' makes them.
    std::string list = parameters;
    for (int rank = 0; rank < 8; ++rank)
        list += rank_line(rank, rank % 2, rank < 4 ? "a" : "b");
    NcclTestsLog const log = read(list + head + reduced(1.5));
    CHECK(log.ranks == 4);
    CHECK(log.hosts == 2);
    REQUIRE(log.rows.size() == 1);
    CHECK(log.rows[0].machine.gpus_per_node == 2);
    // Three ranks with one.
    std::string uneven = parameters;
    for (int rank = 0; rank < 4; ++rank)
        uneven += rank_line(rank, rank == 3 ? 1 : 0, "a");
    NcclTestsLog const left_out = read(uneven + head + reduced(1.5));
    CHECK(left_out.rows.empty());
    CHECK_THAT(left_out.skipped.begin()->first, contains("groups whose ranks lie differently"));
}

TEST_CASE("nccl-tests log: a start that failed adds no ranks to the one that follows") {
    std::string list = parameters;
    for (int rank = 0; rank < 4; ++rank)
        list += rank_line(rank, 0, rank < 2 ? "a" : "b");
    for (double const factor : {1.5, 1.0}) {  // all_reduce; broadcast, of which no factor tells
        NcclTestsLog const log =
            read(list + "b: Test NCCL failure 'unhandled system error'\n" + list + head + reduced(factor),
                 factor > 1 ? "all_reduce.log" : "broadcast.log");
        CHECK(log.ranks == 4);
        CHECK(log.hosts == 2);
        CHECK(log.rows.size() == 1);
    }
}

TEST_CASE("nccl-tests log: the time at a line's end is no column, whole or cut off") {
    std::string const stamped =
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp\n"
        "1048576 262144 float sum -1 100.0 10.49 15.73 0 101.0 10.38 15.57 0 2026-11-25 10:20:04\n";
    std::string const whole = std::string(ranks) + stamped + stamped.substr(stamped.find('\n') + 1);
    for (std::size_t cut = whole.size() - 20; cut <= whole.size(); ++cut) {
        CAPTURE(whole.substr(whole.size() - 60, cut + 60 - whole.size()));
        NcclTestsLog const log = read(whole.substr(0, cut));
        REQUIRE(log.rows.size() == 2);
        CHECK(log.rows[1].out_of_place->in(units::us) == Approx(100));
        CHECK(log.rows[1].in_place->in(units::us) == Approx(101));
    }
}

TEST_CASE("nccl-tests log: columns of iterations and of bits are not the times") {
    for (std::string const more : {"i_min i_max i_p99 i_cv%", "#bitdiff", "#bitdiff i_min i_max i_p99 i_cv%"}) {
        CAPTURE(more);
        std::string cells;
        for (std::size_t i = 0, columns = words_of(more).size(); i < columns; ++i)
            cells += " 7.5";
        std::string const line =
            "1048576 262144 float sum -1 100.0 10.49 15.73 0" + cells + " 101.0 10.38 15.57 0" + cells + "\n";
        std::string const names =
            "# size count type redop root time algbw busbw #wrong " + more + " time algbw busbw #wrong " + more + "\n";
        NcclTestsLog const log = read(std::string(ranks) + names + line);
        REQUIRE(log.rows.size() == 1);
        CHECK(log.rows[0].out_of_place->in(units::us) == Approx(100));
        CHECK(log.rows[0].in_place->in(units::us) == Approx(101));
        CHECK_THROWS_WITH(read(std::string(ranks) + line), contains("has more columns than its head"));
    }
}

TEST_CASE("nccl-tests log: the processor's times are none of the collective") {
    std::string const names = "# size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong\n";
    std::string const list(ranks);
    auto const runs = read_all(list + names + reduced(1.5) + list + reduced(1.5), "all_reduce.log");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].rows.empty());
    CHECK_THAT(runs[0].skipped.begin()->first, contains("cputime"));
    CHECK(runs[1].rows.size() == 1);
}

TEST_CASE("nccl-tests log: shares of several collectives launched at once are no collective's time") {
    std::string const several = [] {
        std::string text(ranks);
        text.replace(text.find("agg iters: 1 "), 13, "agg iters: 20 ");
        return text;
    }();
    auto const runs = read_all(several + reduced(1.5) + ranks + reduced(1.5), "all_reduce.log");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].rows.empty());
    CHECK_THAT(runs[0].skipped.begin()->first, contains("agg iters"));
    CHECK(runs[1].rows.size() == 1);
}

TEST_CASE("nccl-tests log: times of collectives that were each waited for are left out, of that run alone") {
    std::string waited(ranks);
    waited.insert(waited.find("#\n"), "# Blocking Enabled: wait for completion and barrier after each collective \n");
    auto const runs = read_all(waited + sizes + ranks + sizes, "all_reduce.log");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].rows.empty());
    CHECK(runs[0].skipped.at(
              "has the host's wait after each collective in its times (Blocking Enabled: run it without -z)") == 2);
    CHECK(runs[1].rows.size() == 2);
    CHECK(runs[1].skipped.empty());
}

TEST_CASE("nccl-tests log: RCCL's version is the one behind its colon") {
    for (auto const& [said, version] :
         {std::pair{"RCCL version : 2.22.3-HEAD:7d8d67c", "2.22.3-HEAD:7d8d67c"},
          {"node [0] NCCL INFO RCCL version : 2.27.7-HEAD:29e1567", "2.27.7-HEAD:29e1567"},
          {"RCCL version 2.18.6+hip6.0 HEAD:abc", "2.18.6+hip6.0"},
          {"RCCL version :", ""}}) {
        CAPTURE(said);
        std::string const line = std::string(said) + "\nHIP version  : 6.4.43482\n";
        CHECK(read(ranks_without_version() + line + sizes).library_version == version);
    }
}

TEST_CASE("nccl-tests log: the library's version is also read as a code, each run its own") {
    auto const with = [](std::string const& code) {
        return "# nccl-tests version 2.17.6 nccl-headers=22700 nccl-library=" + code +
               "\n# Collective test starting: all_reduce_perf\n" + ranks_without_version() + sizes;
    };
    auto const runs = read_all(with("22807") + with("21805"), "job.out");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].library_version == "2.28.7");
    CHECK(runs[1].library_version == "2.18.5");
    CHECK(read(with("2804")).library_version == "2.8.4");
    CHECK(read(with("?")).library_version.empty());
}

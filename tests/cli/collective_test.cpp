#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"

#include <algorithm>

namespace {

Arguments const on_h100{"collective", "-c", "h100-sxm", "-n", "32"};

}  // namespace

TEST_CASE("collective --format json has the keys that other programs read", "[INV-43]") {
    Json const json = report(on_h100 + Arguments{"--bytes", "1 MiB,1 GiB"});
    CHECK(json.at("format") == "collective");
    CHECK(json.at("version") == 1);
    CHECK(json.at("kind") == "all-reduce");
    CHECK(json.at("gpus") == 32);
    CHECK(json.at("domains") == 4);
    CHECK(json.at("network") == "fair");
    REQUIRE(json.at("closed_form").size() == 2);
    for (Json const& entry : json.at("closed_form")) {
        CHECK(entry.at("interval").at("low_s").get<double>() < entry.at("time_s").get<double>());
        CHECK(entry.at("interval").at("high_s").get<double>() > entry.at("time_s").get<double>());
    }
    std::size_t possible = 0;
    for (Json const& algorithm : json.at("algorithms")) {
        CAPTURE(algorithm.at("name").get<std::string>());
        CHECK_FALSE(algorithm.at("source").get<std::string>().empty());
        if (!algorithm.at("possible").get<bool>()) {
            CHECK_FALSE(algorithm.at("reason").get<std::string>().empty());
            continue;
        }
        ++possible;
        CHECK(algorithm.at("rounds") > 0);
        CHECK(algorithm.at("flows") > 0);
        REQUIRE(algorithm.at("sizes").size() == 2);
        for (Json const& size : algorithm.at("sizes")) {
            CHECK(size.at("state") == "finished");
            double const bytes = size.at("bytes").get<double>();
            double const time = size.at("time_s").get<double>();
            CHECK(size.at("algbw_bytes_per_s").get<double>() == Approx(bytes / time));
            CHECK(size.at("busbw_bytes_per_s").get<double>() == Approx(2 * 31 / 32.0 * bytes / time));
            CHECK(size.at("busiest_links").at(0).at("busy_share").get<double>() <= 1 + 1e-9);
            CHECK(size.at("activities") >= 0);
        }
    }
    CHECK(possible >= 5);
}

TEST_CASE("collective: every kind has an algorithm, and every format shows the same figures", "[INV-43]") {
    for (char const* kind :
         {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive", "sendrecv"}) {
        CAPTURE(kind);
        Arguments const question{"collective", "-c", "a100-sxm-80gb", "-n", "16", "--kind", kind, "--bytes", "64 MiB"};
        Json const json = report(question);
        std::string const csv = run_sextant(question + Arguments{"--format", "csv"}).out;
        CHECK(is_csv_table(csv));
        CHECK(is_markdown_table(run_sextant(question + Arguments{"--format", "markdown"}).out));
        std::string const text = run_sextant(question).out;
        CHECK_THAT(text, contains("closed form") && contains("busbw"));
        CHECK(text.find(" \n") == std::string::npos);
        auto const lines = lines_of(csv);
        std::size_t row = 1;  // the header, then the closed form
        for (Json const& algorithm : json.at("algorithms")) {
            if (!algorithm.at("possible").get<bool>()) continue;
            ++row;
            REQUIRE(row < lines.size());
            auto const cells = csv_cells(lines[row]);
            CHECK(cells[0] == "a100-sxm-80gb");  // the question's three come first
            CHECK(cells[3] == algorithm.at("name"));
            CHECK(std::stod(cells[7]) == algorithm.at("sizes").at(0).at("time_s").get<double>());
        }
        CHECK(row + 1 == lines.size());
        CHECK(row > 1);
    }
}

TEST_CASE("collective: --bytes without a unit are bytes") {
    Json const json = report({"collective", "-c", "h100-sxm", "-n", "8", "--bytes", "1048576,1 MiB"});
    CHECK(json.at("closed_form").at(0) == json.at("closed_form").at(1));
    for (char const* const wrong : {"1M", "-5", "1e6", "0"})
        CHECK(run_sextant({"collective", "-c", "h100-sxm", "-n", "8", "--bytes", wrong}).code == 2);
}

TEST_CASE("collective: the same question has the same bytes of answer", "[INV-12]") {
    CHECK(run_sextant(on_h100).out == run_sextant(on_h100).out);
}

TEST_CASE("collective: one algorithm, an ideal network, worse links", "[INV-43]") {
    Arguments const ring = on_h100 + Arguments{"--algorithm", "ring"};
    auto const time = [](Json const& json) {
        REQUIRE(json.at("algorithms").size() == 1);
        return json.at("algorithms").at(0).at("sizes").at(0).at("time_s").get<double>();
    };
    double const fair = time(report(ring));
    Json const ideal = report(ring + Arguments{"--network", "ideal"});
    CHECK(time(ideal) == Approx(fair).epsilon(1e-9));
    CHECK(ideal.at("algorithms").at(0).at("sizes").at(0).at("busiest_links").empty());
    Json const degraded = report(ring + Arguments{"--degrade-link", "node1.gpu3.nic.out:0.5"});
    CHECK(time(degraded) > 1.9 * fair);
    CHECK(degraded.at("degraded_links").at(0).at("factor") == 0.5);
    CHECK(time(report(ring + Arguments{"--other-traffic", "0.5"})) > 1.9 * fair);
    // The tree's flows meet.
    Arguments const tree = on_h100 + Arguments{"--algorithm", "tree"};
    CHECK(time(report(tree)) > 1.5 * time(report(tree + Arguments{"--network", "ideal"})));
}

TEST_CASE("collective: the closed form is of the accelerators that the algorithms run on, a last one alone in its rack",
          "[INV-43]") {
    for (char const* const gpus : {"73", "80", "100", "144"}) {
        CAPTURE(gpus);
        Json const json = report({"collective", "-c", "gb200-nvl72", "-n", gpus, "--kind", "all-gather", "--bytes",
                                  "4 GiB", "--algorithm", "ring"});
        double const closed = json.at("closed_form").at(0).at("time_s").get<double>();
        CHECK(json.at("algorithms").at(0).at("sizes").at(0).at("time_s").get<double>() / closed ==
              Approx(1).epsilon(0.15));
    }
}

TEST_CASE("collective --stride asks for groups across one another, as data parallelism beside tensor parallelism") {
    Arguments const question{"collective",     "-c",      "h100-sxm", "-n", "16", "--kind",
                             "reduce-scatter", "--bytes", "1 GiB"};
    auto const closed = [](Json const& json) { return json.at("closed_form").at(0).at("time_s").get<double>(); };
    Json const across = report(question + Arguments{"--stride", "8", "--algorithm", "ring"});
    CHECK(across.at("stride") == 8);
    CHECK(across.at("domains") == 16);
    CHECK(across.at("gpus_per_domain") == 1);
    // One NIC each, where 16 neighbours have eight.
    CHECK(closed(across) > 5 * closed(report(question + Arguments{"--algorithm", "ring"})));
    CHECK(across.at("algorithms").at(0).at("sizes").at(0).at("time_s").get<double>() ==
          Approx(closed(across)).epsilon(0.1));
    CHECK_THAT(run_sextant(question + Arguments{"--stride", "8", "--algorithm", "ring"}).out,
               contains("8 apart and 8 such groups at work"));

    Arguments const pcie{"collective", "-c", "rtx-4090-box", "-n", "4", "--stride", "2", "--bytes", "1 GiB"};
    Json const shared = report(pcie);
    CHECK(shared.at("algorithms").empty());
    CHECK_THAT(shared.at("without_flows").get<std::string>(), contains("closed form") || contains("PCIe"));
    CHECK(closed(shared) > 1.5 * closed(report({"collective", "-c", "rtx-4090-box", "-n", "8", "--bytes", "1 GiB"})));
    CHECK(run_sextant(pcie).code == 0);
    CHECK(run_sextant(pcie + Arguments{"--algorithm", "ring"}).code == 2);
    CHECK(run_sextant({"collective", "-c", "h100-sxm", "-n", "4", "--stride", "3"}).code == 2);
    CHECK(run_sextant({"collective", "-c", "h100-sxm", "-n", "64", "--stride", "65536"}).code == 2);
}

TEST_CASE("collective: the closed form of another network than the one asked for says so and has no interval") {
    for (Arguments const& worse : {Arguments{"--other-traffic", "0.5"}, {"--degrade-link", "node1.gpu3.nic.out:0.5"}}) {
        Arguments const asked = on_h100 + Arguments{"--algorithm", "ring"} + worse;
        Json const json = report(asked);
        for (Json const& entry : json.at("closed_form"))
            CHECK(entry.at("interval").is_null());
        CHECK(json.at("closed_form").at(0).at("time_s") == report(on_h100).at("closed_form").at(0).at("time_s"));
        CHECK_THAT(run_sextant(asked).out, contains("closed form, idle network") && !contains("80 %:"));
        auto const cells = csv_cells(lines_of(run_sextant(asked + Arguments{"--format", "csv"}).out).at(1));
        CHECK(cells[3] == "closed form, idle network");
        CHECK(cells[14].empty());
        CHECK(cells[15].empty());
    }
    CHECK_THAT(run_sextant(on_h100).out, contains("closed form, 80 %:") && !contains("idle network"));
}

TEST_CASE("collective: two accelerators that a bridge joins have its links, by formula and simulated") {
    auto const busbw = [](char const* gpus, char const* name) {
        Json const json = report({"collective", "-c", "h100-nvl", "-n", gpus, "--bytes", "1 GB"});
        if (std::string(name) == "formula") return json.at("closed_form").at(0).at("busbw_bytes_per_s").get<double>();
        for (Json const& algorithm : json.at("algorithms"))
            if (algorithm.at("name") == name) return algorithm.at("sizes").at(0).at("busbw_bytes_per_s").get<double>();
        return 0.0;
    };
    CHECK(busbw("2", "formula") == Approx(0.78 * 300e9).epsilon(0.02));
    CHECK(busbw("2", "ring") == Approx(0.78 * 300e9).epsilon(0.05));
    CHECK(busbw("4", "formula") < 60e9);
    CHECK(busbw("4", "ring") < 60e9);
    CHECK_THAT(run_sextant({"collective", "-c", "h100-nvl", "-n", "2"}).out,
               contains("assumed: no measurements of links that a pair has to itself"));
}

TEST_CASE("collective: when no algorithm can run, the answer is no", "[INV-11]") {
    RunResult const result =
        run_sextant({"collective", "-c", "h100-sxm", "-n", "1004", "--kind", "all-to-all", "--bytes", "1 GB"});
    CHECK(result.code == 1);
    CHECK_THAT(result.out, contains("not possible") && contains("full domains are needed"));
}

TEST_CASE("collective: what takes long to simulate is left out unless it is asked for by name", "[INV-11][long]") {
    Arguments const large{"collective", "-c", "tpu-v5p", "-n", "512", "--kind", "all-to-all"};
    RunResult const result = run_sextant(large);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("closed form") && contains("not simulated") && contains("pairwise: 261632 flows") &&
                               contains("--algorithm NAME"));
    bool found = false;
    Json const json = report(large);
    for (Json const& algorithm : json.at("algorithms")) {
        if (algorithm.at("name") != "pairwise") continue;
        found = true;
        CHECK_FALSE(algorithm.at("possible").get<bool>());
        CHECK(algorithm.at("takes_long").get<bool>());
        CHECK_THAT(algorithm.at("reason").get<std::string>(), contains("s to simulate"));
    }
    CHECK(found);
}

TEST_CASE("collective: bad input is refused with what is allowed", "[INV-11]") {
    check_refused({"collective", "-c", "h100-smx", "-n", "8"}, "--cluster", "h100-sxm");
    check_refused({"collective", "-c", "h100-sxm"}, "--gpus");
    for (char const* gpus : {"1", "0", "-8", "65537", "9223372036854775807", "8x"})
        check_refused({"collective", "-c", "h100-sxm", "-n", gpus}, "--gpus");
    CHECK_THAT(run_sextant(on_h100 + Arguments{"--kind", "reduce"}).out,
               contains("broadcast over") && contains("of a broadcast, which is a reduce the other way round"));
    check_refused(on_h100 + Arguments{"--kind", "allreduce"}, "--kind", "did you mean 'all-reduce'");
    check_refused(on_h100 + Arguments{"--algorithm", "rings"}, "--algorithm", "did you mean 'ring'");
    check_refused(on_h100 + Arguments{"--algorithm", "torus"}, "--algorithm", "torus cannot run", "32 ranks");
    check_refused(on_h100 + Arguments{"--algorithm", "pairwise"}, "--algorithm", "all-reduce", "all-to-all");
    check_refused({"collective", "-c", "h100-sxm", "-n", "8192", "--algorithm", "tree"}, "--algorithm",
                  "tree cannot run", "meet at the same time");
    for (char const* bytes :
         {"1.5", "0 B", "-1 GB", "1 s", "", "1 GB,", ",1 GB", "1 GB,,2 GB", "nan GB", "1e30 B", "inf B"})
        check_refused(on_h100 + Arguments{"--bytes", bytes}, "--bytes");
    check_refused(on_h100 + Arguments{"--network", "fast"}, "--network", "ideal", "fair");
    for (char const* link : {"node0.gpu0.nic.out", "node0.gpu0.nic.out:", ":0.5", "x:0", "x:1.5", "x:-1", "x:nan",
                             "x:0.5x", "nosuchlink:0.5"})
        check_refused(on_h100 + Arguments{"--degrade-link", link}, "--degrade-link");
    for (char const* share : {"1", "-0.1", "nan", "x"})
        check_refused(on_h100 + Arguments{"--other-traffic", share}, "--other-traffic");
    check_refused(on_h100 + Arguments{"--network", "ideal", "--other-traffic", "0.1"}, "--network", "fair");
    check_refused(on_h100 + Arguments{"--network", "ideal", "--degrade-link", "*:0.5"}, "--network", "fair");
    check_refused(on_h100 + Arguments{"--format", "html"}, "--format");
}

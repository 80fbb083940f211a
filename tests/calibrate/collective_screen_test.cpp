#include "calibrate/collective_screen.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/collective_time.hpp"
#include "tests/catch.hpp"

#include <numeric>

using namespace sextant;
using units::us;

namespace {

/// All-reduces of one cluster, each as long as it says itself times `factor`.
std::vector<CollectiveMeasurement> as_predicted(std::string const& cluster, std::int64_t domains, double factor) {
    CollectiveMachine machine;
    machine.cluster = find_cluster(cluster, "test");
    machine.group = place_group(8 * domains, 1, 8);
    auto const shared = std::make_shared<CollectiveMachine const>(machine);
    CollectiveCurve const curve = collective_curve(machine.cluster, CollectiveKind::all_reduce, machine.group);
    std::vector<CollectiveMeasurement> rows;
    for (double size = 1024; size <= 4e9; size *= 4)
        rows.push_back({.run = "mine",
                        .source = "s",
                        .library_version = "",
                        .machine = shared,
                        .kind = CollectiveKind::all_reduce,
                        .bytes = size * units::B,
                        .measured = factor * curve.time(size * units::B)});
    return rows;
}

std::size_t total(std::map<std::string, std::size_t> const& dropped) {
    return std::accumulate(dropped.begin(), dropped.end(), std::size_t{0},
                           [](std::size_t sum, auto const& entry) { return sum + entry.second; });
}

}  // namespace

TEST_CASE("drop_impossible: rows of a cluster as its calibration has them stay, also twice as slow or as fast") {
    for (char const* name : {"h100-sxm", "a100-sxm-80gb", "h100-pcie", "mi300x"})
        for (std::int64_t const domains : {1, 2})
            for (double const factor : {0.75, 1.0, 2.0}) {
                INFO(name << ", " << domains << " domains, times " << factor);
                auto rows = as_predicted(name, domains, factor);
                std::size_t const count = rows.size();
                CHECK(drop_impossible(rows, find_cluster(name, "test")).empty());
                CHECK(rows.size() == count);
            }
}

TEST_CASE("drop_impossible: single rows faster than the links or far off are left out, and the rest stays") {
    ClusterSpec const cluster = find_cluster("h100-sxm", "test");
    auto rows = as_predicted("h100-sxm", 1, 1);
    std::size_t const count = rows.size();
    rows.back().measured = 1 * us;  // of 4 GB
    rows[3].measured *= 1000;
    auto const dropped = drop_impossible(rows, cluster);
    CHECK(dropped.at("faster than 1.5 times the links of h100-sxm") == 1);
    CHECK(dropped.at("off by more than four times from what the calibration of h100-sxm says") == 1);
    CHECK(rows.size() == count - 2);
}

TEST_CASE("drop_impossible: a table in another unit is refused, and what to look at is said") {
    for (double const factor : {1e-3, 1e3}) {
        auto rows = as_predicted("h100-sxm", 2, factor);
        CHECK_THROWS_WITH(drop_impossible(rows, find_cluster("h100-sxm", "test")),
                          Catch::Contains("rows cannot be of h100-sxm") && Catch::Contains("in microseconds"));
    }
    // Of a machine that nobody measured nothing but its links is known.
    auto slow = as_predicted("l20-pcie", 1, 10);
    CHECK(total(drop_impossible(slow, find_cluster("l20-pcie", "test"))) == 0);
    for (std::int64_t const domains : {1, 2}) {
        auto nanoseconds = as_predicted("l20-pcie", domains, 1000);
        CHECK_THROWS_WITH(drop_impossible(nanoseconds, find_cluster("l20-pcie", "test")),
                          Catch::Contains("% of the links of l20-pcie") && Catch::Contains("in nanoseconds?"));
    }
}

TEST_CASE("drop_copies: a sweep under another name is no second run, one with another time or few sizes is") {
    auto const first = as_predicted("h100-sxm", 2, 1);
    auto const with = [&](std::vector<CollectiveMeasurement> others, std::string const& name) {
        std::vector<CollectiveMeasurement> rows = first;
        for (CollectiveMeasurement& row : others) {
            row.run = name;
            rows.push_back(row);
        }
        return rows;
    };
    auto rows = with(first, "a copy");
    auto const copies = drop_copies(rows);
    REQUIRE(copies.size() == 1);
    CHECK(copies.front().run == "mine");
    CHECK(copies.front().of == "a copy");
    CHECK(copies.front().rows == first.size());
    CHECK(rows.size() == first.size());
    CHECK(rows.front().run == "a copy");

    rows = with({first.begin(), first.begin() + 6}, "a part");
    CHECK(drop_copies(rows).front().run == "a part");
    CHECK(rows.size() == first.size());
    rows = with({first.begin(), first.begin() + 3}, "few");
    CHECK(drop_copies(rows).empty());
    auto other = first;
    other.back().measured *= 1.001;
    rows = with(other, "again");
    CHECK(drop_copies(rows).empty());
    rows = with(as_predicted("h100-sxm", 1, 1), "one node");
    CHECK(drop_copies(rows).empty());
    CHECK(rows.size() == 2 * first.size());
}

TEST_CASE("part_runs: two files with other times under one name are two runs, a file that goes on is one") {
    auto const before = as_predicted("h100-sxm", 2, 1);
    auto rows = as_predicted("h100-sxm", 2, 1.1);
    part_runs(rows, before, "b.csv");
    for (CollectiveMeasurement const& row : rows)
        CHECK(row.run == "mine of b.csv");
    rows = before;  // the same file again: its rows are repeats
    part_runs(rows, before, "b.csv");
    CHECK(rows.front().run == "mine");
    rows = as_predicted("h100-sxm", 1, 1);  // another group
    part_runs(rows, before, "b.csv");
    CHECK(rows.front().run == "mine");
}

TEST_CASE("drop_repeats: a run that is given twice is taken once, another size, time or run is another row") {
    auto rows = as_predicted("h100-sxm", 1, 1);
    std::size_t const count = rows.size();
    auto const again = rows;
    rows.insert(rows.end(), again.begin(), again.end());
    auto other = again.front();
    other.run = "yours";
    rows.push_back(other);
    other.measured *= 1.01;
    rows.push_back(other);
    CHECK(drop_repeats(rows) == count);
    CHECK(rows.size() == count + 2);
}

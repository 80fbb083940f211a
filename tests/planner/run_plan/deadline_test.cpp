#include "planner/run_plan/deadline.hpp"

#include "planner/run_plan/accelerator_ladder.hpp"
#include "tests/catch.hpp"
#include "tests/planner/run_plan/run_fixture.hpp"

#include <algorithm>
#include <set>

using namespace sextant;

TEST_CASE("the answer to a deadline meets it, and no smaller multiple of a node does") {
    RunSetting const setting = run_fixture::failing_setting();
    ModelSpec const model = find_model("llama-2-7b");
    Workload const workload = run_workload(setting, model, 1e12);
    for (double const days : {200.0, 60.0, 25.0}) {
        Seconds const deadline = days * units::day;
        DeadlineAnswer const answer = smallest_for_deadline(setting, model, workload, 1e12, deadline);
        INFO(days);
        REQUIRE(answer.run);
        CHECK(answer.run->wall <= deadline);
        std::int64_t const found = answer.run->step.accelerators;
        INFO(found);
        REQUIRE(answer.step == 8);
        for (std::int64_t smaller = 8; smaller < found; smaller += 8) {
            PlannedStep const planned = plan_step(setting, model, workload, smaller);
            if (planned.report) CHECK(training_run(setting, planned, 1e12).wall > deadline);
        }
        if (answer.missed) {
            CHECK(answer.missed->wall > deadline);
            CHECK(answer.missed->step.accelerators < found);
        }
    }
}

TEST_CASE("a shorter deadline never takes fewer accelerators") {
    RunSetting const setting = run_fixture::setting();
    ModelSpec const model = find_model("llama-3.2-1b");
    Workload const workload = run_workload(setting, model, 1e12);
    std::int64_t before = 0;
    for (double const days : {100.0, 30.0, 10.0, 3.0, 1.0}) {
        DeadlineAnswer const answer = smallest_for_deadline(setting, model, workload, 2e11, days * units::day);
        REQUIRE(answer.run);
        CHECK(answer.run->step.accelerators >= before);
        before = answer.run->step.accelerators;
    }
}

TEST_CASE("a deadline that nothing meets gives the fastest run that was found") {
    RunSetting setting = run_fixture::setting();
    setting.cluster.max_accelerators = 64;
    ModelSpec const model = find_model("llama-2-7b");
    DeadlineAnswer const answer =
        smallest_for_deadline(setting, model, run_workload(setting, model, 1e12), 1e13, 10 * units::day);
    CHECK_FALSE(answer.run);
    REQUIRE(answer.fastest);
    CHECK(answer.fastest->step.accelerators == 64);
    CHECK(answer.fastest->wall > 10 * units::day);
}

TEST_CASE("the ladder ascends, stays in the cluster and has four steps an octave") {
    for (ClusterSpec const& cluster : all_clusters()) {
        INFO(cluster.name);
        auto const ladder = accelerator_ladder(cluster);
        REQUIRE_FALSE(ladder.empty());
        CHECK(ladder.front() == 1);
        CHECK(std::is_sorted(ladder.begin(), ladder.end()));
        CHECK(std::set<std::int64_t>(ladder.begin(), ladder.end()).size() == ladder.size());
        if (cluster.max_accelerators > 0) CHECK(ladder.back() <= cluster.max_accelerators);
        if (!cluster.scale_out) CHECK(ladder.back() == cluster.domain_size);
        CHECK(rung_above(cluster, 0.5) == 1);
        CHECK(rung_above(cluster, static_cast<double>(ladder.back())) == ladder.back());
        CHECK_FALSE(rung_above(cluster, static_cast<double>(ladder.back()) + 0.5));
    }
    CHECK(rung_above(find_cluster("h100-sxm", "test"), 890) == 1024 - 128);
}

TEST_CASE("days have four digits, and none less before the point") {
    CHECK(days_text(0.0338912 * units::day) == "0.03389");
    CHECK(days_text(215.51 * units::day) == "215.5");
    CHECK(days_text(9999 * units::day) == "9999");
    CHECK(days_text(13790.4 * units::day) == "13,790");
}

#include "planner/run_plan/scaling_curve.hpp"

#include "tests/catch.hpp"
#include "tests/planner/run_plan/run_fixture.hpp"

using namespace sextant;

namespace {

CurvePoint point(std::int64_t accelerators, double days, double dollars) {
    TrainingRun run;
    run.tokens = 1e12;
    run.wall = run.productive = days * units::day;
    run.cost = dollars * units::USD;
    return {.accelerators = accelerators, .run = run, .reason = {}};
}

}  // namespace

TEST_CASE("efficiencies and the price of a halving are those of a curve worked by hand") {
    ScalingCurve curve;
    curve.points.push_back({.accelerators = 1, .run = {}, .reason = "memory"});
    curve.points.push_back(point(8, 80, 100));
    curve.points.push_back(point(16, 40, 100));   // perfect
    curve.points.push_back(point(64, 20, 200));   // twice the speed of 16 with four times the GPUs
    curve.points.push_back(point(128, 20, 400));  // nothing gained
    fill_efficiencies(curve);
    CHECK(curve.points[1].efficiency == 1);
    CHECK(curve.points[2].efficiency == Approx(1));
    CHECK(curve.points[2].marginal_efficiency == Approx(1));
    CHECK(curve.points[2].cost_per_halving->base() == Approx(0));
    CHECK(curve.points[3].efficiency == Approx(0.5));
    CHECK(curve.points[3].marginal_efficiency == Approx((4.0 - 2.0) / (8.0 - 2.0)));
    CHECK(curve.points[3].cost_per_halving->base() == Approx(100));
    CHECK(curve.points[3].cost_per_day_saved->base() == Approx(5));
    CHECK(curve.points[4].marginal_efficiency == Approx(0));
    CHECK_FALSE(curve.points[4].cost_per_halving.has_value());
    CHECK(curve.stops_paying_at == 64);
    curve.pays_above = 0.3;
    fill_efficiencies(curve);
    CHECK(curve.stops_paying_at == 128);
    // Up to 256 the speed doubles again: from 64 on added GPUs do little, but not throughout.
    curve.pays_above = 0.5;
    curve.points.push_back(point(256, 4, 500));
    fill_efficiencies(curve);
    CHECK_FALSE(curve.stops_paying_at);
    curve.points.push_back(point(512, 4, 900));
    fill_efficiencies(curve);
    CHECK(curve.stops_paying_at == 512);
}

TEST_CASE("a scaling curve has a row for each size, with a plan or with the reason why there is none") {
    RunSetting const setting = run_fixture::setting();
    ModelSpec const model = find_model("llama-2-70b");
    std::vector<std::int64_t> const counts{1, 8, 64, 256, 1000000};
    RunSetting limited = setting;
    limited.cluster.max_accelerators = 4096;
    ScalingCurve const curve = scaling_curve(limited, model, run_workload(setting, model, 1e12), 1e12, counts);
    REQUIRE(curve.points.size() == counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        CurvePoint const& p = curve.points[i];
        CHECK(p.accelerators == counts[i]);
        CHECK(p.run.has_value() == p.reason.empty());
        if (!p.run) continue;
        CHECK(p.run->step.accelerators == counts[i]);
        CHECK(p.run->step.fits);
        CHECK(p.run->step.workload.global_batch == run_workload(setting, model, 1e12).global_batch);
    }
    CHECK_THAT(curve.points[0].reason, contains("memory"));
    CHECK_THAT(curve.points[4].reason, contains("4096"));
}

TEST_CASE("the usual sizes of a curve are those that the cluster has") {
    CHECK(usual_curve_counts(find_cluster("h100-sxm", "test")).back() == 16384);
    ClusterSpec one_node = find_cluster("h100-sxm", "test");
    one_node.scale_out.reset();
    CHECK(usual_curve_counts(one_node) == std::vector<std::int64_t>{1, 8});
    one_node = find_cluster("h100-sxm", "test");
    one_node.max_accelerators = 600;
    CHECK(usual_curve_counts(one_node) == std::vector<std::int64_t>{1, 8, 64, 256, 512});
}

TEST_CASE("a curve that is stopped says so and has no further rows") {
    std::atomic<bool> stop{true};
    RunSetting setting = run_fixture::setting();
    setting.stop = &stop;
    ModelSpec const model = find_model("llama-2-7b");
    std::vector<std::int64_t> const counts{8, 16};
    ScalingCurve const curve = scaling_curve(setting, model, run_workload(setting, model, 1e12), 1e12, counts);
    CHECK(curve.interrupted);
    CHECK(curve.points.empty());
}

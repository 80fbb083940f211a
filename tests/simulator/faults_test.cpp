#include "core/error.hpp"
#include "cost_models/goodput/checkpoint_interval.hpp"
#include "cost_models/goodput/failure_catalog.hpp"
#include "cost_models/goodput/tiers_in_use.hpp"
#include "simulator/faults/fault_study.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace sextant;
using namespace sextant::units;

namespace {

GoodputCase plain_case(double snapshots = 2000) {
    GoodputCase run;
    run.tiers = {{.name = "storage", .interval = 20 * minute, .stall = 15 * s, .lag = {}, .load = {}}};
    run.work = snapshots * run.tiers[0].interval;
    run.failures = {{.name = "gpu", .scope = FailureScope::gpu, .components = 1000, .mtbf = 6000 * hour},
                    {.name = "software", .scope = FailureScope::process, .components = 1, .mtbf = 20 * hour}};
    run.detection = 4 * minute;
    run.restart = 6 * minute;
    return run;
}

GoodputCase rich_case() {
    CheckpointSize const size{.total = 6 * TB, .per_node = 6 * TB / 256, .busiest_rank = 6 * TB / 2048};
    StorageKind const& fs = find_storage("parallel-fs", "test");
    GoodputCase run;
    run.work = 20 * day;
    run.failures = failures_of(failure_catalog().front(), 16384, 8);
    run.failures[0].shape = 0.7;
    run.failures[1].shape = 2;
    run.tiers = checkpoint_tiers(CheckpointMode::in_memory, fs, fs, size, 50 * GB / s);
    run.replacement = {.spares = 5, .repair = 20 * hour, .shortage = Shortage::shrink, .dp = 16};
    run.spikes = {.per_day = 0.5, .rewind = 20 * minute};
    run.maintenance = {.every = 3 * day, .duration = 1 * hour};
    choose_intervals(run);
    return run;
}

StudyOptions options_of(std::int64_t trials, std::uint64_t seed = 1) {
    StudyOptions options;
    options.trials = trials;
    options.trial.seed = seed;
    return options;
}

void check_conserved(TrialOutcome const& outcome) {
    TimeUse<Seconds> const& use = outcome.use;
    CHECK(use.total().base() == Approx(outcome.wall.base()).epsilon(1e-9));
    for (Seconds const part :
         {use.useful, use.stall, use.rewind, use.detection, use.restart, use.waiting, use.shrink, use.maintenance})
        CHECK(part.base() >= -1e-6);
}

}  // namespace

TEST_CASE("simulation and closed form agree within four standard errors for exponential failures") {
    struct Variant {
        double lag_s;
        double mtbf_factor;
    };
    auto const [lag_s, factor] = GENERATE(Variant{0, 1}, Variant{0, 0.2}, Variant{300, 1}, Variant{900, 0.3});
    GoodputCase run = plain_case();
    run.tiers[0].lag = lag_s * s;
    for (FailureProcess& process : run.failures)
        process.mtbf *= factor;
    Goodput const expected = expected_goodput(run);
    FaultStudy const study = study_faults(run, options_of(200));
    CAPTURE(lag_s, factor, expected.ratio(), study.ratio_of_means(), study.ratio_error());
    REQUIRE(study.finished == 200);
    CHECK(study.ratio_error() < 0.002);
    CHECK(std::abs(study.ratio_of_means() - expected.ratio()) < 4 * study.ratio_error());
    CHECK(study.shares.total() == Approx(1).epsilon(1e-9));
    CHECK(study.shares.detection == Approx(expected.shares.detection).epsilon(0.05));
    CHECK(study.shares.restart == Approx(expected.shares.restart).epsilon(0.05));
    CHECK(study.shares.rewind == Approx(expected.shares.rewind).epsilon(0.08));
    CHECK(study.shares.stall == Approx(expected.shares.stall).epsilon(0.03));
}

TEST_CASE(
    "causes count the same incidents in the closed form and in the simulation, also those that strike a restart") {
    GoodputCase run = plain_case();
    run.tiers[0].load = 5 * minute;
    run.detection = 10 * minute;
    run.restart = 20 * minute;
    run.failures[0].mtbf = 1800 * hour;  // one in 1.8 hours
    run.failures[1].mtbf = 2 * hour;
    run.spikes = {.per_day = GENERATE(0.0, 6.0), .rewind = 20 * minute};
    Goodput const expected = expected_goodput(run);
    FaultStudy const study = study_faults(run, options_of(100));
    REQUIRE(study.finished == 100);
    double lost = 0;
    for (std::size_t i = 0; i < expected.causes.size(); ++i) {
        CauseLoss const& cause = expected.causes[i];
        auto const same = std::find_if(study.causes.begin(), study.causes.end(),
                                       [&](auto const& other) { return other.name == cause.name; });
        REQUIRE(same != study.causes.end());
        CAPTURE(cause.name, run.spikes.per_day);
        CHECK(cause.per_day == Approx(same->per_day).epsilon(0.03));
        CHECK(cause.each.base() == Approx(same->each.base()).epsilon(0.05));
        CHECK(cause.share == Approx(cause.per_day * cause.each.in(day)));
        lost += cause.share;
    }
    TimeUse<double> const& use = expected.shares;
    CHECK(lost <= use.rewind + use.stall + use.detection + use.restart + 1e-9);
    CHECK(lost >= use.detection + use.restart);
}

TEST_CASE(
    "over random cases the difference of closed form and simulation is noise: normal scores of mean 0, spread 1") {
    RandomStream random(5, 0, 0);
    auto const between = [&](double low, double high) { return low * std::pow(high / low, random.uniform()); };
    int const cases = 80;
    double sum = 0, squares = 0;
    for (int i = 0; i < cases; ++i) {
        double const mtbf = between(1e3, 1e6);
        double const interval = between(0.005, 0.8) * mtbf;
        double const lag = i % 2 == 1 ? between(0.01, 0.9) * interval : 0;
        GoodputCase run;
        run.tiers = {{.name = "storage",
                      .interval = interval * s,
                      .stall = between(0.001, 0.2) * interval * s,
                      .lag = lag * s,
                      .load = {}}};
        run.failures = {{.name = "gpu", .scope = FailureScope::gpu, .components = 100, .mtbf = 200 * mtbf * s},
                        {.name = "software", .scope = FailureScope::process, .components = 1, .mtbf = 2 * mtbf * s}};
        run.detection = between(0.001, 0.3) * mtbf * s;
        run.restart = between(0.001, 0.5) * mtbf * s;
        run.work = 500 * run.tiers[0].interval;
        FaultStudy const study = study_faults(run, options_of(100, static_cast<std::uint64_t>(i)));
        REQUIRE(study.finished == 100);
        double const score = (study.ratio_of_means() - expected_goodput(run).ratio()) / study.ratio_error();
        CAPTURE(i, mtbf, interval, lag, score);
        CHECK(std::abs(score) < 4.5);
        sum += score;
        squares += score * score;
    }
    CHECK(std::abs(sum / cases) < 4 / std::sqrt(cases));
    CHECK(std::sqrt(squares / cases) == Approx(1).margin(0.3));
}

TEST_CASE(
    "a write that takes longer than the interval holds the next checkpoint up, in the closed form as in the "
    "simulation") {
    GoodputCase run = plain_case();
    Seconds const interval = run.tiers[0].interval;
    run.tiers[0].lag = GENERATE(0.5, 1.0, 1.3, 2.0, 4.0) * interval;
    bool const drained = GENERATE(false, true);
    if (drained) {  // into a second tier, which has no stall of its own
        run.tiers.push_back(run.tiers[0]);
        run.tiers[0].lag = {};
        run.tiers[0].survives = FailureScope::process;
        run.tiers[1].stall = {};
    }
    Goodput const expected = expected_goodput(run);
    FaultStudy const study = study_faults(run, options_of(100));
    CAPTURE(run.tiers.back().lag / interval, drained, expected.ratio(), study.ratio_of_means(), study.ratio_error());
    REQUIRE(study.finished == 100);
    // Of one tier the closed form is exact, of two it is of first order.
    CHECK(std::abs(study.ratio_of_means() - expected.ratio()) < (drained ? 0.02 : 0.0) + 4 * study.ratio_error());
    CHECK(study.shares.stall == Approx(expected.shares.stall).epsilon(drained ? 0.05 : 0.01).margin(0.001));
}

TEST_CASE("simulation and closed form agree on a run that ends before its first checkpoint") {
    GoodputCase run = plain_case();
    run.work = 30 * day;
    run.failures = {{.name = "gpu", .scope = FailureScope::gpu, .components = 1, .mtbf = 33 * day}};
    run.tiers[0].interval = 100 * day;
    run.tiers[0].load = 5 * hour;
    FaultStudy const study = study_faults(run, options_of(400));
    Goodput const expected = expected_goodput(run);
    CAPTURE(study.ratio_of_means(), expected.ratio(), study.ratio_error());
    CHECK(std::abs(study.ratio_of_means() - expected.ratio()) < 4 * study.ratio_error());
}

TEST_CASE("the closed form's first-order parts are near the simulation: tiers, spikes, spares, shrinking") {
    GoodputCase run = rich_case();
    for (FailureProcess& process : run.failures)
        process.shape = 1;
    FaultStudy const study = study_faults(run, options_of(60));
    Goodput const expected = expected_goodput(run);
    CAPTURE(study.ratio_of_means(), expected.ratio(), study.ratio_error());
    REQUIRE(study.finished == 60);
    CHECK(std::abs(study.ratio_of_means() - expected.ratio()) < 0.02);
    run.replacement.shortage = Shortage::wait;
    run.replacement.spares = 12;
    FaultStudy const waiting = study_faults(run, options_of(60));
    Goodput const expected_waiting = expected_goodput(run);
    CAPTURE(waiting.ratio_of_means(), expected_waiting.ratio());
    CHECK(std::abs(waiting.ratio_of_means() - expected_waiting.ratio()) < 0.02);
}

TEST_CASE("three tiers: the closed form is near the simulation, and so is the interval of the disks that it chooses") {
    CheckpointSize const size{.total = 6 * TB, .per_node = 6 * TB / 2048, .busiest_rank = 6 * TB / 16384};
    GoodputCase run;
    run.work = 20 * day;
    run.failures = failures_of(failure_catalog().front(), 16384, 8);
    run.tiers = checkpoint_tiers(CheckpointMode::in_memory, find_storage("local-nvme", ""),
                                 find_storage("parallel-fs", ""), size, 50 * GB / s);
    choose_intervals(run);
    FaultStudy const study = study_faults(run, options_of(60));
    CAPTURE(study.ratio_of_means(), expected_goodput(run).ratio(), study.ratio_error());
    CHECK(std::abs(study.ratio_of_means() - expected_goodput(run).ratio()) < 0.001 + 4 * study.ratio_error());
    for (double const factor : {0.25, 8.0}) {
        GoodputCase other = run;
        other.tiers[1].interval *= factor;
        other.tiers[2].interval *= factor;
        INFO(factor);
        CHECK(study_faults(other, options_of(60)).ratio_of_means() < study.ratio_of_means());
    }
}

TEST_CASE("in every trial the uses of time add up to the wall clock, and so do the incidents") {
    GoodputCase const run = rich_case();
    TrialOptions options;
    options.record = TrialOptions::Record::incidents;
    for (std::uint64_t trial = 0; trial < 30; ++trial) {
        options.age = trial % 2 == 0 ? FleetAge::running : FleetAge::fresh;
        TrialOutcome const outcome = run_trial(run, options, trial);
        CAPTURE(trial);
        REQUIRE(outcome.finished);
        check_conserved(outcome);
        CHECK(outcome.use.useful.base() == Approx(run.work.base()).epsilon(1e-9));
        Seconds rewind, detection, restart;
        // Of each failure process; then injected faults, spikes, rejoins.
        std::size_t const slots = run.failures.size() + 3;
        std::vector<Seconds> cost(slots);
        std::vector<std::int64_t> count(slots);
        Seconds before{};
        for (Incident const& incident : outcome.incidents) {
            CHECK(incident.at >= before);
            before = incident.at;
            rewind += incident.rewind;
            detection += incident.detection;
            restart += incident.restart;
            if (incident.kind == IncidentKind::maintenance) continue;
            auto const after = static_cast<std::size_t>(incident.kind) - 1;  // of the processes
            std::size_t const slot = incident.kind == IncidentKind::failure ? static_cast<std::size_t>(incident.cause)
                                                                            : run.failures.size() + after;
            cost[slot] += incident.cost();
            ++count[slot];
        }
        CHECK(count[run.failures.size() + 1] > 0);
        CHECK(outcome.incidents_by_cause == count);
        REQUIRE(outcome.lost_by_cause.size() == slots);
        CHECK(rewind.base() == Approx(outcome.use.rewind.base()).epsilon(1e-9));
        CHECK(detection.base() == Approx(outcome.use.detection.base()).epsilon(1e-9));
        CHECK(restart.base() == Approx(outcome.use.restart.base()).epsilon(1e-9));
        for (std::size_t i = 0; i < slots; ++i)
            CHECK(outcome.lost_by_cause[i].base() == Approx(cost[i].base()).epsilon(1e-9));
    }
}

TEST_CASE("no failures: the ratio is one minus the stalls of the checkpoints, to the digit") {
    GoodputCase run = plain_case(100);
    run.failures.clear();
    TrialOutcome const outcome = run_trial(run, {}, 0);
    CHECK(outcome.finished);
    CHECK(outcome.checkpoints == 100);
    CHECK(outcome.wall.base() == Approx(100 * 1215.0).epsilon(1e-12));
    run.tiers[0].lag = 30 * minute;  // longer than the interval: each write waits for the one before
    CHECK(run_trial(run, {}, 0).wall.base() == Approx(1200 + 99 * (1800 + 15.0) + 15).epsilon(1e-9));
}

TEST_CASE("a study does not depend on the number of threads") {
    GoodputCase const run = rich_case();
    StudyOptions options = options_of(12);
    options.threads = 1;
    FaultStudy const one = study_faults(run, options);
    options.threads = 4;
    FaultStudy const four = study_faults(run, options);
    CHECK(one.wall_s.mean == four.wall_s.mean);
    CHECK(one.shares.rewind == four.shares.rewind);
    CHECK(one.ratio.p95 == four.ratio.p95);
    options.trial.seed = 2;
    CHECK(study_faults(run, options).wall_s.mean != one.wall_s.mean);
}

TEST_CASE("Weibull clocks: shape 1 is exponential, any shape has n / MTBF failures in a running fleet") {
    double const horizon = 4000, mtbf = 50000;
    std::int64_t const n = 2000;
    auto const failures = [&](double shape, FleetAge age) {
        FailureProcess const process{.name = "x", .components = n, .mtbf = mtbf * s, .shape = shape};
        double count = 0;
        for (std::uint64_t trial = 0; trial < 20; ++trial)
            for (FailureClock clock(process, age, RandomStream(3, trial, 0)); clock.next() <= horizon; clock.pop()) {
                CHECK(clock.component() >= 0);
                CHECK(clock.component() < n);
                ++count;
            }
        return count / 20;
    };
    double const expected = static_cast<double>(n) * horizon / mtbf;  // 160; standard error 2.8
    for (double const shape : {0.5, 0.7, 0.9999, 1.0, 1.0001, 1.5, 3.0})
        CHECK(failures(shape, FleetAge::running) == Approx(expected).margin(4 * std::sqrt(expected / 20)));
    CHECK(failures(1.0001, FleetAge::fresh) == Approx(expected).margin(4 * std::sqrt(expected / 20)));
    // New parts: n F(t) to first order, F the Weibull distribution.
    for (double const shape : {0.7, 1.5}) {
        double const scale = mtbf / std::tgamma(1 + 1 / shape);
        double const early = static_cast<double>(n) * -std::expm1(-std::pow(horizon / scale, shape));
        CHECK(failures(shape, FleetAge::fresh) == Approx(early).epsilon(0.15));
    }
}

TEST_CASE("gamma and normal numbers have their moments") {
    RandomStream random(1, 2, 3);
    double const shape = 2.5;
    double sum = 0, squares = 0, normal = 0, normal_squares = 0;
    int const n = 200000;
    for (int i = 0; i < n; ++i) {
        double const g = random.gamma(shape);
        sum += g / n;
        squares += g * g / n;
        double const z = random.normal();
        normal += z / n;
        normal_squares += z * z / n;
    }
    CHECK(sum == Approx(shape).margin(0.02));
    CHECK(squares - sum * sum == Approx(shape).margin(0.05));
    CHECK(normal == Approx(0).margin(0.01));
    CHECK(normal_squares == Approx(1).margin(0.02));
}

TEST_CASE("better parts, spares, detection or restarts do not lengthen the run, over common random numbers") {
    GoodputCase run = plain_case(500);
    run.replacement = {.spares = 1, .repair = 10 * hour};
    double const before = study_faults(run, options_of(60)).wall_s.mean;
    auto const better = [&](auto change) {
        GoodputCase other = run;
        change(other);
        CHECK(study_faults(other, options_of(60)).wall_s.mean < before);
    };
    better([](auto& c) { c.failures[0].mtbf *= 1.2; });
    better([](auto& c) { c.replacement.spares = 2; });
    better([](auto& c) { c.replacement.repair *= 0.7; });
    better([](auto& c) { c.detection *= 0.7; });
    better([](auto& c) { c.restart *= 0.7; });
    better([](auto& c) { c.tiers[0].stall *= 0.7; });
}

TEST_CASE("the interval found by simulation is that of the closed form, within its flat region") {
    GoodputCase const run = plain_case(300);
    IntervalSearch const search = search_interval(run, options_of(60));
    Seconds const exact = exact_interval(run.tiers[0].stall, 1 / run.failures_per_s() * s);
    CAPTURE(search.best.base(), search.flat_low.base(), search.flat_high.base(), exact.base());
    CHECK(search.flat_low <= 1.1 * exact);
    CHECK(search.flat_high >= 0.9 * exact);
    CHECK(search.best > 0.5 * exact);
    CHECK(search.best < 2 * exact);
    CHECK(search.tried.size() >= 13);
    for (IntervalTrial const& one : search.tried)
        CHECK(one.behind >= 0);
}

TEST_CASE("injected faults: what each costs follows by hand") {
    GoodputCase run = plain_case(100);  // 20 min intervals, 15 s stalls
    TrialOptions options;
    options.chance = TrialOptions::Chance::off;
    options.record = TrialOptions::Record::incidents;
    // 3 h = 10800 s: 8 periods of 1215 s are safe (9720 s), so 1080 s of work are lost.
    options.injected = {{.at = 3 * hour, .scope = FailureScope::node}};
    TrialOutcome const one = run_trial(run, options, 0);
    REQUIRE(one.incidents.size() == 1);
    CHECK(one.incidents[0].rewind.base() == Approx(1080));
    CHECK(one.incidents[0].detection == 4 * minute);
    CHECK(one.incidents[0].restart == 6 * minute);
    CHECK(one.wall.base() == Approx(100 * 1215 + 1080 + 600));

    // A second one in the restart of the first: its detection and another restart, no more work lost.
    options.injected.push_back({.at = 3 * hour + 5 * minute, .scope = FailureScope::process});
    TrialOutcome const two = run_trial(run, options, 0);
    REQUIRE(two.incidents.size() == 2);
    CHECK(two.incidents[0].restart == 1 * minute);
    CHECK(two.incidents[1].rewind.base() == 0);
    CHECK(two.wall.base() == Approx(100 * 1215 + 1080 + 240 + 60 + 600));

    // One while the first is being detected is found with it.
    options.injected[1].at = 3 * hour + 1 * minute;
    TrialOutcome const absorbed = run_trial(run, options, 0);
    REQUIRE(absorbed.incidents.size() == 1);
    CHECK(absorbed.incidents[0].also == 1);
    CHECK(absorbed.wall == one.wall);

    // No spare: the run stands until the node is repaired; shrinking, it goes on without one of four replicas.
    options.injected.resize(1);
    run.replacement = {.spares = 0, .repair = 2 * hour, .dp = 4};
    TrialOutcome const waits = run_trial(run, options, 0);
    CHECK(waits.wall.base() == Approx(100 * 1215 + 1080 + 7200 + 360));
    run.replacement.shortage = Shortage::shrink;
    TrialOutcome const shrinks = run_trial(run, options, 0);
    check_conserved(shrinks);
    REQUIRE(shrinks.incidents.size() == 2);
    CHECK(shrinks.incidents[0].missing == 1);
    CHECK(shrinks.incidents[1].kind == IncidentKind::rejoin);
    CHECK(shrinks.incidents[1].missing == 0);
    CHECK(shrinks.use.shrink.base() == Approx((7200 - 600) * 0.25).epsilon(0.02));
    CHECK(shrinks.wall < waits.wall);
}

TEST_CASE("replicas in several nodes: two nodes that are missing cost one, and the second that is back brings it") {
    GoodputCase run = plain_case(100);
    run.failures.clear();
    run.tiers[0].load = 60 * s;
    run.replacement = {
        .spares = 0, .repair = 2 * hour, .shortage = Shortage::shrink, .dp = 4, .gpus = 64, .gpus_per_node = 8};
    TrialOptions options;
    options.record = TrialOptions::Record::incidents;
    options.chance = TrialOptions::Chance::off;
    options.injected = {{.at = 3 * hour, .scope = FailureScope::node}, {.at = 4 * hour, .scope = FailureScope::node}};
    TrialOutcome const outcome = run_trial(run, options, 0);
    check_conserved(outcome);
    REQUIRE(outcome.incidents.size() == 3);
    CHECK(outcome.incidents[0].missing == 1);
    CHECK(outcome.incidents[1].missing == 1);
    CHECK(outcome.incidents[1].broken == 2);
    CHECK(outcome.incidents[2].kind ==
          IncidentKind::rejoin);  // after 6 h, when both are back; at 5 h one is not enough
    CHECK(outcome.incidents[2].at.base() == Approx(6 * 3600).epsilon(0.01));
    CHECK(outcome.incidents[2].missing == 0);
}

TEST_CASE("shrinking: closed form and simulation agree on replicas within a node and over several") {
    for (std::int64_t const dp : {128, 32, 8}) {
        GoodputCase run = plain_case();
        run.failures = {{.name = "node", .scope = FailureScope::node, .components = 32, .mtbf = 2000 * hour}};
        run.replacement = {
            .spares = 0, .repair = 5 * day, .shortage = Shortage::shrink, .dp = dp, .gpus = 256, .gpus_per_node = 8};
        Goodput const expected = expected_goodput(run);
        FaultStudy const study = study_faults(run, options_of(100));
        CAPTURE(dp, expected.shares.shrink, study.shares.shrink);
        CHECK(study.shares.shrink == Approx(expected.shares.shrink).epsilon(0.15));
    }
}

TEST_CASE("tiers: copies in memory survive a node, a fabric failure goes back to the storage") {
    GoodputCase run = plain_case(100);
    run.work = 2 * day;
    run.tiers = {{.name = "memory",
                  .interval = 5 * minute,
                  .stall = 1 * s,
                  .lag = 10 * s,
                  .load = 10 * s,
                  .survives = FailureScope::node},
                 {.name = "storage", .interval = 2 * hour, .stall = 1 * s, .lag = 5 * minute, .load = 60 * s}};
    TrialOptions options;
    options.chance = TrialOptions::Chance::off;
    options.record = TrialOptions::Record::incidents;
    options.injected = {{.at = 7 * hour, .scope = FailureScope::node},
                        {.at = 15 * hour, .scope = FailureScope::fabric},
                        {.at = 15.5 * hour, .scope = FailureScope::fabric},
                        {.at = 20 * hour, .scope = {}}};
    run.spikes.rewind = 1 * hour;
    TrialOutcome const outcome = run_trial(run, options, 0);
    REQUIRE(outcome.incidents.size() == 4);
    CHECK(*outcome.incidents[0].tier == 0);
    CHECK(outcome.incidents[0].rewind <= 5 * minute + 11 * s);
    CHECK(*outcome.incidents[1].tier == 1);
    CHECK(outcome.incidents[1].rewind <= 2 * hour + 6 * minute);
    CHECK(*outcome.incidents[2].tier == 1);
    CHECK(outcome.incidents[2].rewind > 10 * minute);  // nothing new in the storage since
    CHECK(outcome.incidents[3].kind == IncidentKind::spike);
    CHECK(outcome.incidents[3].rewind >= 1 * hour);
    CHECK(outcome.incidents[3].rewind <= 3.2 * hour);
    check_conserved(outcome);
}

TEST_CASE("a run that cannot finish is given up and counted") {
    GoodputCase run = plain_case(20);
    run.tiers[0].interval = 10 * hour;
    run.work = 200 * hour;
    run.failures[1].mtbf = 20 * minute;
    FaultStudy const study = study_faults(run, options_of(5));
    CHECK(study.trials == 5);
    CHECK(study.finished == 0);
    run.tiers[0].interval = 1e-6 * s;
    CHECK_THROWS_WITH(study_faults(run, options_of(5)), contains("interval"));
}

TEST_CASE("nodes that break faster than they are repaired, and restarts that always fail, end with the run given up") {
    GoodputCase run = plain_case(50);
    run.failures[0].mtbf = 1000 * hour;  // one an hour
    run.replacement = {.spares = 3, .repair = 100 * day};
    TrialOutcome const starved = run_trial(run, {}, 0);
    CHECK_FALSE(starved.finished);
    check_conserved(starved);
    run.replacement = {};
    run.restart = 100 * hour;
    TrialOutcome const restarting = run_trial(run, {}, 0);
    CHECK_FALSE(restarting.finished);
    check_conserved(restarting);
    CHECK(study_faults(run, options_of(3)).finished == 0);
}

TEST_CASE("an interrupted study reports the trials that ran") {
    std::atomic<bool> stop{false};
    StudyOptions options = options_of(50);
    options.threads = 1;
    options.stop = &stop;
    options.progress = [&](std::int64_t done) { stop = done >= 7; };
    FaultStudy const study = study_faults(plain_case(50), options);
    CHECK(study.interrupted);
    CHECK(study.trials == 7);
    CHECK(study.shares.total() == Approx(1).epsilon(1e-9));
}

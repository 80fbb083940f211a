#include "cost_models/goodput.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/goodput/checkpoint_interval.hpp"
#include "cost_models/goodput/failure_catalog.hpp"
#include "cost_models/goodput/tiers_in_use.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace sextant;
using namespace sextant::units;

namespace {

double uniform(std::mt19937_64& random, double low, double high) {
    return low * std::pow(high / low, static_cast<double>(random() >> 11) * 0x1p-53);
}

/// One tier, one exponential process.
GoodputCase plain_case(Seconds interval, Seconds stall, Seconds lag, Seconds mtbf) {
    GoodputCase run;
    run.work = 1000 * interval;
    run.failures = {{.name = "node", .scope = FailureScope::node, .components = 1, .mtbf = mtbf}};
    run.tiers = {{.name = "storage", .interval = interval, .stall = stall, .lag = lag, .load = 1 * minute}};
    run.detection = 3 * minute;
    run.restart = 2 * minute;
    return run;
}

/// Relative excess of the expected time over the work, as a function of the interval.
double expected_time(double interval, double stall, double mtbf) {
    return std::expm1((interval + stall) / mtbf) / interval;
}

}  // namespace

TEST_CASE("Young, Daly and the exact optimum agree for cheap checkpoints and part for dear ones") {
    std::mt19937_64 random(fixtures::seeded(1));
    for (int i = 0; i < 200; ++i) {
        Seconds const mtbf = uniform(random, 1e2, 1e7) * s;
        double const c = uniform(random, 1e-7, 0.5);
        Seconds const stall = c * mtbf;
        CAPTURE(c);
        Seconds const young = young_interval(stall, mtbf);
        Seconds const daly = daly_interval(stall, mtbf);
        Seconds const exact = exact_interval(stall, mtbf);
        CHECK(exact < young);
        CHECK(std::abs(daly / exact - 1) <= std::abs(young / exact - 1));
        // The exact one has no better neighbour, and Young's and Daly's are no better either.
        auto const time = [&](Seconds interval) { return expected_time(interval.base(), stall.base(), mtbf.base()); };
        CHECK(time(exact) <= time(1.001 * exact) * (1 + 1e-13));
        CHECK(time(exact) <= time(0.999 * exact) * (1 + 1e-13));
        CHECK(time(exact) <= time(young) * (1 + 1e-13));
        CHECK(time(exact) <= time(daly) * (1 + 1e-13));
        // x + exp(-(x + c)) = 1
        double const x = exact / mtbf;
        CHECK(x + std::exp(-(x + c)) == Approx(1).epsilon(1e-14));
    }
    CHECK(exact_interval(0 * s, 100 * s).base() == 0);
    // Lambert's W(-exp(-2)) = -0.158594339563039: C = M gives T = M (1 + W).
    CHECK(exact_interval(1 * s, 1 * s).base() == Approx(1 - 0.158594339563039).epsilon(1e-13));
    CHECK(daly_interval(3 * s, 1 * s) == 1 * s);
}

TEST_CASE("one tier: the ratio is Daly's expected time, times exp(-l w) for a write in the background") {
    std::mt19937_64 random(fixtures::seeded(2));
    for (int i = 0; i < 200; ++i) {
        Seconds const mtbf = uniform(random, 1e4, 1e7) * s;
        Seconds const interval = uniform(random, 60, 7200) * s;
        Seconds const stall = uniform(random, 0.1, 60) * s;
        Seconds const lag = uniform(random, 0.1, 50) * s;
        GoodputCase const run = plain_case(interval, stall, lag, mtbf);
        double const l = 1 / mtbf.base();
        double const down = run.detection.base();
        double const restart = (run.restart + run.tiers[0].load).base();
        double const expected = interval.base() * std::exp(-l * lag.base()) /
                                ((1 / l + down) * std::exp(l * restart) * std::expm1(l * (interval + stall).base()));
        Goodput const goodput = expected_goodput(run);
        CAPTURE(mtbf.base(), interval.base(), stall.base(), lag.base());
        CHECK(goodput.ratio() == Approx(expected).epsilon(1e-9));
        CHECK(goodput.shares.total() == Approx(1).epsilon(1e-12));
        CHECK(goodput.approximation.empty());
        CHECK(goodput.wall / run.work == Approx(1 / expected).epsilon(1e-9));
    }
}

TEST_CASE("mean_rewind is half a period and the lag when failures are rare, and its two formulas meet") {
    CHECK(mean_rewind(600 * s, 60 * s, 0).base() == Approx(360));
    CHECK(mean_rewind(600 * s, 60 * s, 1e-9).base() == Approx(360).epsilon(1e-5));
    double const below = mean_rewind(1 * s, 0.5 * s, 0.99e-5).base();
    double const above = mean_rewind(1 * s, 0.5 * s, 1.01e-5).base();
    CHECK(below - above == Approx((1.0 / 12 + 0.25 + 0.125) * 0.02e-5).epsilon(1e-3));
}

TEST_CASE("no failures: all that is lost is the checkpoints") {
    GoodputCase run = plain_case(10 * minute, 6 * s, 30 * s, 1 * hour);
    run.failures.clear();
    Goodput const goodput = expected_goodput(run);
    CHECK(goodput.ratio() == Approx(600.0 / 606).epsilon(1e-12));
    CHECK(goodput.shares.stall == Approx(6.0 / 606).epsilon(1e-12));
    CHECK(std::isinf(goodput.mtbf.base()));
}

TEST_CASE("more reliable parts, faster detection and faster restarts never lower the ratio") {
    std::mt19937_64 random(fixtures::seeded(3));
    for (int i = 0; i < 100; ++i) {
        GoodputCase run = plain_case(uniform(random, 60, 7200) * s, 5 * s, 5 * s, uniform(random, 1e4, 1e6) * s);
        double const before = expected_goodput(run).ratio();
        GoodputCase better = run;
        better.failures[0].mtbf *= 1.1;
        CHECK(expected_goodput(better).ratio() > before);
        better = run;
        better.detection *= 0.9;
        CHECK(expected_goodput(better).ratio() > before);
        better = run;
        better.restart *= 0.9;
        CHECK(expected_goodput(better).ratio() > before);
        better = run;
        better.replacement.spares = 1000000;
        CHECK(expected_goodput(better).ratio() == Approx(before).epsilon(1e-12));
    }
}

TEST_CASE("a run whose failures come faster than its checkpoints makes next to no progress, and says so") {
    Goodput const goodput = expected_goodput(plain_case(10 * hour, 1 * minute, 0 * s, 10 * minute));
    CHECK(goodput.ratio() < 1e-10);
    CHECK(goodput.wall > 1e12 * s);
    CHECK(goodput.shares.total() == Approx(1).epsilon(1e-9));
}

TEST_CASE("Llama 3: 419 unexpected interruptions in 54 days are an accelerator MTBF of 50,677 hours") {
    FailureRecord const& record = find_failure_record("llama3", "--failures");
    double rate = 0;
    for (FailureProcess const& process : failures_of(record, 16384, 8))
        rate += process.rate_per_s();
    CHECK((16384 / rate) / hour.base() == Approx(50677).epsilon(1e-4));
    CHECK(rate * (54 * day).base() == Approx(419).epsilon(1e-12));
    rate = 0;
    for (FailureProcess const& process : failures_of(record, 8192, 8))
        rate += process.rate_per_s();
    CHECK(rate * (54 * day).base() == Approx(419.0 / 2).epsilon(1e-12));
}

TEST_CASE("Meta RSC-1: 6.5 failures per thousand node-days are an MTTF of 1.8 hours on 16,384 accelerators") {
    double rate = 0;
    for (FailureProcess const& process : failures_of(find_failure_record("meta-rsc1", ""), 16384, 8))
        rate += process.rate_per_s();
    CHECK(1 / rate / hour.base() == Approx(1.8).margin(0.05));  // the projection in arXiv:2410.21680
}

TEST_CASE("BLOOM's full checkpoint: 14 bytes of each parameter, the 2.3 TB that its authors state in binary units") {
    FrameworkProfile const megatron = find_framework("megatron", "test");
    double const bytes = checkpoint_bytes_per_parameter(megatron.memory, Optimizer::adamw, Precision::bf16);
    CHECK(bytes == 14);
    CHECK(176247271424.0 * bytes / 1024 / 1024 / 1024 / 1000 == Approx(2.3).margin(0.05));
    CHECK(checkpoint_bytes_per_parameter(megatron.memory, Optimizer::adamw_bf16, Precision::bf16) == 8);
    FrameworkProfile const fsdp = find_framework("fsdp", "test");
    CHECK(checkpoint_bytes_per_parameter(fsdp.memory, Optimizer::adamw, Precision::bf16) == 12);
    for (FrameworkProfile const& framework : {megatron, fsdp})  // weights and moments, no fp32 copy
        CHECK(checkpoint_bytes_per_parameter(framework.memory, Optimizer::adamw_pure_bf16, Precision::bf16) == 6);
}

TEST_CASE("a checkpoint takes the longer of the busiest node's time and the aggregate's") {
    CheckpointSize const size{.total = 14 * TB, .per_node = 14 * TB / 100, .busiest_rank = 14 * TB / 800};
    StorageKind storage = find_storage("parallel-fs", "test");
    storage.latency = {};
    storage.write_per_node = 1 * GB / s;
    storage.write_aggregate = 1 * TB / s;
    CHECK(write_time(storage, size).base() == Approx(140));
    storage.write_aggregate = 10 * GB / s;
    CHECK(write_time(storage, size).base() == Approx(1400));
}

TEST_CASE("tiers: a failure goes back to the cheapest one that survives it, and no survivor is an error") {
    CheckpointSize const size{.total = 6 * TB, .per_node = 6 * TB / 256, .busiest_rank = 6 * TB / 2048};
    StorageKind const& fs = find_storage("parallel-fs", "test");
    GoodputCase run;
    run.work = 10 * day;
    run.failures = failures_of(failure_catalog().front(), 2048, 8);
    run.tiers = checkpoint_tiers(CheckpointMode::in_memory, fs, fs, size, 50 * GB / s);
    choose_intervals(run);
    REQUIRE(run.tiers.size() == 2);
    CHECK(run.tiers[0].interval < run.tiers[1].interval);
    CHECK(best_tier(run, FailureScope::gpu) == 0);
    CHECK(best_tier(run, FailureScope::fabric) == 1);
    double const both = expected_goodput(run).ratio();
    CHECK(expected_goodput(run).shares.total() == Approx(1).epsilon(1e-12));

    GoodputCase storage_only = run;
    storage_only.tiers = checkpoint_tiers(CheckpointMode::async, fs, fs, size, 50 * GB / s);
    choose_intervals(storage_only);
    GoodputCase synchronous = run;
    synchronous.tiers = checkpoint_tiers(CheckpointMode::sync, fs, fs, size, 50 * GB / s);
    choose_intervals(synchronous);
    CHECK(expected_goodput(storage_only).ratio() > expected_goodput(synchronous).ratio());
    CHECK(both > expected_goodput(synchronous).ratio());

    run.tiers.pop_back();
    CHECK_THROWS_AS(expected_goodput(run), InputError);
    GoodputCase local = run;
    local.tiers = checkpoint_tiers(CheckpointMode::async, find_storage("local-nvme", ""), fs, size, 50 * GB / s);
    choose_intervals(local);
    CHECK(best_tier(local, FailureScope::process) == 0);
    CHECK(best_tier(local, FailureScope::node) == 1);
    CHECK(expected_goodput(local).ratio() > 0.8);
}

TEST_CASE("a tier's MTBF is of the failures that go back to it or to the tier that it feeds") {
    CheckpointSize const size{.total = 6 * TB, .per_node = 6 * TB / 2048, .busiest_rank = 6 * TB / 16384};
    StorageKind const& fs = find_storage("parallel-fs", "test");
    GoodputCase run;
    run.work = 30 * day;
    run.failures = failures_of(failure_catalog().front(), 16384, 8);
    double fabric = 0, all = 0;
    for (FailureProcess const& process : run.failures) {
        all += process.rate_per_s();
        if (process.scope == FailureScope::fabric) fabric += process.rate_per_s();
    }
    REQUIRE(fabric > 0);
    run.tiers = checkpoint_tiers(CheckpointMode::in_memory, find_storage("local-nvme", ""), fs, size, 50 * GB / s);
    REQUIRE(run.tiers.size() == 3);
    CHECK_FALSE(is_fed(run, 1));
    CHECK(is_fed(run, 2));
    choose_intervals(run);
    Goodput const chosen = expected_goodput(run);
    CHECK(chosen.intervals[0].mtbf.base() == Approx(1 / (all - fabric)));
    CHECK(chosen.intervals[1].mtbf.base() == Approx(1 / fabric));
    CHECK(chosen.intervals[2].mtbf.base() == Approx(1 / fabric));
    CHECK(run.tiers[2].interval == run.tiers[1].interval);
    for (double const factor : {0.3, 0.6, 1.6, 3.0}) {
        GoodputCase other = run;
        other.tiers[1].interval *= factor;
        other.tiers[2].interval *= factor;
        INFO(factor);
        CHECK(expected_goodput(other).ratio() < chosen.ratio());
    }
    // The disks alone serve process failures, and feed the copy that all others need.
    run.tiers = checkpoint_tiers(CheckpointMode::async, find_storage("local-nvme", ""), fs, size, 50 * GB / s);
    choose_intervals(run);
    CHECK(expected_goodput(run).intervals[0].mtbf.base() == Approx(1 / all));
}

TEST_CASE("bytes of a parameter are those of the checkpoint, with what Muon keeps of embeddings") {
    ParallelPlan plan;
    plan.optimizer = Optimizer::muon;
    FrameworkProfile const framework = find_framework("megatron", "test");
    CheckpointSize const size = even_checkpoint(1000, 100, framework.memory, plan, 8, 8);
    CHECK(size.total.base() == Approx(1000 * size.bytes_per_parameter));
    CHECK(size.bytes_per_parameter ==
          Approx(checkpoint_bytes_per_parameter(framework.memory, plan.optimizer, plan.precision) + 0.4));
}

TEST_CASE("intervals are chosen for loss spikes as well: no other interval of the storage loses less") {
    CheckpointSize const size{.total = 2 * TB, .per_node = 2 * TB / 128, .busiest_rank = 2 * TB / 1024};
    StorageKind const& fs = find_storage("object-store", "test");
    auto const mode = GENERATE(CheckpointMode::sync, CheckpointMode::async, CheckpointMode::in_memory);
    auto const record = GENERATE(0, 1);  // one with fabric failures, one without
    double const spikes_per_day = GENERATE(0.1, 1.0, 6.0);
    GoodputCase run;
    run.work = 60 * day;
    run.failures = failures_of(failure_catalog()[static_cast<std::size_t>(record)], 1024, 8);
    run.spikes = {.per_day = spikes_per_day, .rewind = 10 * minute};
    run.tiers = checkpoint_tiers(mode, fs, fs, size, 25 * GB / s);
    choose_intervals(run);
    CAPTURE(static_cast<int>(mode), record, spikes_per_day);
    double const chosen = expected_goodput(run).ratio();
    CHECK(chosen > 0.7);
    for (double const factor : {0.25, 0.7, 1.4, 4.0}) {
        GoodputCase other = run;
        other.tiers.back().interval = std::max(other.tiers.back().lag, factor * run.tiers.back().interval);
        CHECK(expected_goodput(other).ratio() <= chosen * 1.0005);
    }
}

TEST_CASE("on disks that are drained, too, no other interval loses less to loss spikes") {
    CheckpointSize const size{.total = 2 * TB, .per_node = 2 * TB / 128, .busiest_rank = 2 * TB / 1024};
    StorageKind const& disks = find_storage("local-nvme", "test");
    StorageKind const& drain = find_storage("parallel-fs", "test");
    auto const mode = GENERATE(CheckpointMode::sync, CheckpointMode::async, CheckpointMode::in_memory);
    auto const record = GENERATE(0, 1);
    double const spikes_per_day = GENERATE(0.1, 1.0, 6.0);
    GoodputCase run;
    run.work = 60 * day;
    run.failures = failures_of(failure_catalog()[static_cast<std::size_t>(record)], 1024, 8);
    run.spikes = {.per_day = spikes_per_day, .rewind = 10 * minute};
    run.tiers = checkpoint_tiers(mode, disks, drain, size, 25 * GB / s);
    choose_intervals(run);
    CAPTURE(static_cast<int>(mode), record, spikes_per_day);
    double const chosen = expected_goodput(run).ratio();
    CHECK(chosen > 0.7);
    std::size_t const last = run.tiers.size() - 1;
    REQUIRE(is_fed(run, last));
    for (double const factor : {0.25, 0.7, 1.4, 4.0}) {
        GoodputCase other = run;
        Seconds& fed_from = other.tiers[last - 1].interval;
        fed_from = std::max(other.tiers[last - 1].lag, factor * fed_from);
        other.tiers[last].interval = std::max(other.tiers[last].lag, fed_from);
        CHECK(expected_goodput(other).ratio() <= chosen * 1.0005);
    }
}

TEST_CASE("the causes of lost time share out no more than all of it") {
    GoodputCase run = plain_case(20 * minute, 5 * s, 0 * s, 6 * hour);
    for (double const days : {0.01, 1.0, 30.0}) {
        run.work = 60 * day;
        run.tiers.front().interval = days * day;
        run.spikes = {.per_day = 1, .rewind = 10 * minute};
        Goodput const result = expected_goodput(run);
        double shares = 0;
        for (CauseLoss const& cause : result.causes) {
            CHECK(cause.share == Approx(cause.per_day * cause.each.in(day)));
            shares += cause.share;
        }
        CAPTURE(days);
        CHECK(shares <= 1 + 1e-12);
        CHECK(shares + result.shares.useful <= 1 + 1e-12);
    }
}

TEST_CASE("fewer spares cost more waiting; a run that shrinks loses less than one that waits") {
    GoodputCase run = plain_case(20 * minute, 5 * s, 0 * s, 6 * hour);
    run.replacement = {.spares = 0, .repair = 1 * day, .dp = 64};
    double before = -1;
    for (std::int64_t const spares : {0, 2, 4, 8, 16}) {
        run.replacement.spares = spares;
        run.replacement.shortage = Shortage::wait;
        double const waits = expected_goodput(run).ratio();
        run.replacement.shortage = Shortage::shrink;
        Goodput const shrinks = expected_goodput(run);
        CAPTURE(spares);
        CHECK(waits > before);
        CHECK(shrinks.ratio() >= waits * (1 - 1e-9));
        CHECK(shrinks.shares.total() == Approx(1).epsilon(1e-9));
        before = waits;
    }
}

TEST_CASE("a run that shrinks has the whole replicas that the nodes hold which are left") {
    auto const left = [](Replacement const& r) {
        std::vector<std::int64_t> replicas;
        for (std::int64_t missing : {0, 1, 2, 4, 5, 31, 32, 40})
            replicas.push_back(r.replicas_without(missing));
        return replicas;
    };
    using Counts = std::vector<std::int64_t>;
    // 32 nodes of 8: four replicas a node, one, and one in four nodes.
    CHECK(left({.dp = 128, .gpus = 256, .gpus_per_node = 8}) == Counts{128, 124, 120, 112, 108, 4, 0, 0});
    CHECK(left({.dp = 32, .gpus = 256, .gpus_per_node = 8}) == Counts{32, 31, 30, 28, 27, 1, 0, 0});
    CHECK(left({.dp = 8, .gpus = 256, .gpus_per_node = 8}) == Counts{8, 7, 7, 7, 6, 0, 0, 0});
    // Experts over the ranks of four replicas keep these together.
    CHECK(left({.dp = 32, .gpus = 256, .gpus_per_node = 8, .together = 4}) == Counts{32, 28, 28, 28, 24, 0, 0, 0});
    CHECK(left({.dp = 32}) == Counts{32, 31, 30, 28, 27, 1, 0, 0});
}

TEST_CASE("a missing node costs its share of the run, however many replicas it holds") {
    GoodputCase run = plain_case(20 * minute, 5 * s, 0 * s, 62.5 * hour);
    run.replacement = {.spares = 0, .repair = 1 * day, .shortage = Shortage::shrink, .gpus = 256, .gpus_per_node = 8};
    // Nodes in repair: 24 / 62.5, of 32.
    double const lost = 24 / 62.5 / 32;
    for (std::int64_t const dp : {128, 32}) {
        run.replacement.dp = dp;
        TimeUse<double> const shares = expected_goodput(run).shares;
        CHECK(shares.shrink / (shares.useful + shares.shrink) == Approx(lost).epsilon(1e-6));
    }
    run.replacement.dp = 8;  // in four nodes: the first one that is missing costs as much as the fourth
    TimeUse<double> const shares = expected_goodput(run).shares;
    CHECK(shares.shrink / (shares.useful + shares.shrink) == Approx((1 - std::exp(-24 / 62.5)) / 8).epsilon(0.01));
}

TEST_CASE("a run that ends before its first checkpoint is one piece of work, and there is nothing to load") {
    GoodputCase run = plain_case(50 * hour, 30 * minute, 1 * hour, 10 * hour);
    run.work = 12 * hour;
    // Daly's expected time of one segment without a checkpoint.
    double const rate = 1 / 10.0;
    double const down = 3 / 60.0, restart = 2 / 60.0;
    double const hours = (1 / rate + down) * std::exp(rate * restart) * std::expm1(rate * 12);
    Goodput const result = expected_goodput(run);
    CHECK(result.wall.in(hour) == Approx(hours).epsilon(1e-12));
    CHECK(result.shares.stall == 0);
    CHECK(result.shares.total() == Approx(1).epsilon(1e-12));
    CHECK(result.approximation.empty());
    CHECK(result.intervals.front().used == 50 * hour);
    run.tiers[0].interval = 1000 * hour;
    CHECK(expected_goodput(run).ratio() == result.ratio());
    run.maintenance = {.every = 6 * hour, .duration = 1 * minute};
    CHECK_THAT(expected_goodput(run).approximation, contains("planned stops"));
}

TEST_CASE("values out of range are refused by name") {
    GoodputCase const good = plain_case(10 * minute, 5 * s, 5 * s, 1 * day);
    auto const refused = [&](auto change, std::string const& part) {
        GoodputCase bad = good;
        change(bad);
        CHECK_THROWS_WITH(expected_goodput(bad), contains(part));
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    refused([](auto& c) { c.work = 0 * s; }, "work");
    refused([&](auto& c) { c.work = nan * s; }, "work");
    refused([](auto& c) { c.tiers[0].interval = 0 * s; }, "interval");
    refused([&](auto& c) { c.tiers[0].stall = nan * s; }, "stall");
    refused([](auto& c) { c.tiers.clear(); }, "tier");
    refused([](auto& c) { c.failures[0].mtbf = 0 * s; }, "MTBF");
    refused([&](auto& c) { c.failures[0].mtbf = nan * s; }, "MTBF");
    refused([](auto& c) { c.failures[0].shape = 0; }, "shape");
    refused([](auto& c) { c.failures[0].components = 0; }, "components");
    refused([](auto& c) { c.detection = -1 * s; }, "detection");
    refused([](auto& c) { c.replacement.spares = -1; }, "spare");
    refused([](auto& c) { c.replacement.dp = 0; }, "replicas");
    refused([](auto& c) { c.spikes.per_day = -1; }, "spikes");
    CHECK_THROWS_WITH(find_failure_record("llama4", "--failures"), contains("llama3"));
    CHECK_THROWS_WITH(find_storage("nvme", "--storage"), contains("local-nvme"));
}

#include "core/graph/model_flops.hpp"
#include "core/quantile.hpp"
#include "planner/validation/train_validation.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"
#include "tests/seeds.hpp"

#include <fmt/format.h>

#include <random>

using namespace sextant;

TEST_CASE("quantiles interpolate between order statistics") {
    CHECK(quantile({1, 2, 3, 4}, 0.5) == Approx(2.5));
    CHECK(quantile({1, 2, 3, 4, 5}, 0.9) == Approx(4.6));
    CHECK(quantile({7}, 0.9) == 7);
}

TEST_CASE("error statistics of a hand-made list") {
    ErrorStatistics const s = error_statistics({0.10, -0.20, 0.30, -0.05, 0.02});
    CHECK(s.n == 5);
    CHECK(s.mape_pct == Approx(13.4));
    CHECK(s.median_ape_pct == Approx(10));
    CHECK(s.p90_ape_pct == Approx(26));
    CHECK(s.bias_pct == Approx(2));
    CHECK(error_statistics({}).n == 0);
}

TEST_CASE("error statistics do not depend on the order of the rows, and the mean lies between least and largest") {
    std::mt19937_64 random(fixtures::seeded(7));
    for (int round = 0; round < 100; ++round) {
        std::vector<double> errors;
        for (std::size_t n = 1 + random() % 20; n > 0; --n)
            errors.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
        auto reversed = errors;
        std::reverse(reversed.begin(), reversed.end());
        ErrorStatistics const a = error_statistics(errors);
        ErrorStatistics const b = error_statistics(reversed);
        CHECK(a.mape_pct == Approx(b.mape_pct));
        CHECK(a.median_ape_pct == b.median_ape_pct);
        CHECK(a.median_ape_pct <= a.p90_ape_pct + 1e-9);
        CHECK(a.p90_ape_pct <= 100 + 1e-9);
    }
}

TEST_CASE("a measured time is found from whatever the row states") {
    TrainingRow row = complete_row();
    TrainingCase const c = CaseBuilder().build(row);
    CHECK(measured_time(row, c)->base() == Approx(10));
    row.iter_time_s.reset();
    CHECK_FALSE(measured_time(row, c));
    row.mfu_pct = 50;
    double const by_mfu = model_flops_per_step(c.model, c.workload).base() / (0.5 * 8 * 312e12);
    CHECK(measured_time(row, c)->base() == Approx(by_mfu));
    row.model_tflops_per_gpu = 156;
    CHECK(measured_time(row, c)->base() == Approx(by_mfu));
    row.tokens_per_s_per_gpu = 1024;
    CHECK(measured_time(row, c)->base() == Approx(64.0 * 4096 / 8192));
    row.tokens_per_s = 4096;
    CHECK(measured_time(row, c)->base() == Approx(64));
}

TEST_CASE("rates of Megatron-Core since 2025 leave out the half of attention that is masked") {
    TrainingRow row = complete_row();
    row.iter_time_s.reset();
    row.model_tflops_per_gpu = 156;
    TrainingCase const c = CaseBuilder().build(row);
    double const whole = measured_time(row, c)->base();
    for (char const* const framework : {"Megatron-Core (MoE ModelZoo)", "NeMo Megatron-Bridge 25.09"}) {
        row.framework = framework;
        double const tokens = static_cast<double>(c.workload.tokens());
        double const flops = 3 * tokens * causal_forward_flops_per_token(c.model, c.workload.sequence).base();
        CHECK(measured_time(row, c)->base() == Approx(flops / (8 * 156e12)));
        CHECK(measured_time(row, c)->base() < 0.99 * whole);
    }
}

TEST_CASE("hardware TFLOP/s with full recompute go by the formula of the Megatron paper") {
    TrainingRow row = complete_row();
    row.recompute = "full";
    row.iter_time_s.reset();
    row.hw_tflops_per_gpu = 100;
    TrainingCase const c = CaseBuilder().build(row);
    CHECK(measured_time(row, c)->base() == Approx(megatron_step_flops(c.model, c.workload).base() / (8 * 100e12)));
}

TEST_CASE("each source's memory is the figure that the source prints") {
    StageMemory first;
    first.weights = 10 * units::GB;
    first.slack = 5 * units::GB;
    first.activations = 2 * units::GB;
    first.workspaces = 1 * units::GB;
    StageMemory last;
    last.weights = 20 * units::GB;
    FrameworkMemory framework;
    framework.context.value = 3 * units::GB;
    std::vector<StageMemory> const stages{first, last};
    auto const gigabytes = [&](MemoryQuantity q) { return comparable_memory(q, stages, framework).in(units::GB); };
    CHECK(gigabytes(MemoryQuantity::allocated_last_rank) == Approx(20));
    CHECK(gigabytes(MemoryQuantity::reserved_first_rank) == Approx(18));
    CHECK(gigabytes(MemoryQuantity::allocated_fullest) == Approx(20));
    CHECK(gigabytes(MemoryQuantity::reserved_fullest) == Approx(20));
    CHECK(gigabytes(MemoryQuantity::device_fullest) == Approx(23));
    CHECK(gigabytes(MemoryQuantity::state_and_activations_first) == Approx(12));
}

TEST_CASE("a plan that ran out of memory and was predicted to fit is missed, the reverse a false alarm") {
    TrainingRow row;
    row.source_id = "s";
    RowPrediction p;
    Scorer scorer(ValidationKind::train);
    for (auto const& [ran, fits] :
         {std::pair{true, true}, {true, false}, {false, true}, {false, false}, {false, false}}) {
        p.ran = ran;
        p.fits = fits;
        scorer.add({row.source_id, {}, p});
    }
    FitScore const score = scorer.result().overall.oom;
    CHECK(score.n == 5);
    CHECK(score.missed == 1);
    CHECK(score.false_alarms == 1);
    CHECK(score.accuracy_pct() == Approx(60));
}

TEST_CASE("skipped rows are counted by reason and never scored") {
    TrainingRow row;
    row.source_id = "s";
    RowPrediction p;
    p.skip_reason = "device is not stated";
    p.measured_time = 1 * units::s;
    Scorer scorer(ValidationKind::train);
    scorer.add({row.source_id, {}, p});
    scorer.add({row.source_id, {}, p});
    SourceScore const score = scorer.result().sources.at(0);
    CHECK(score.n == 2);
    CHECK(score.skipped == 2);
    CHECK(score.skip_reasons.at("device is not stated") == 2);
    CHECK(score.time.n == 0);
}

TEST_CASE("a source that is off by less than half a percent explains no row") {
    for (double const off : {0.004, 0.02}) {
        Scorer scorer(ValidationKind::kernels);
        for (int i = 0; i < 6; ++i) {
            ScoredRow row{.source = "one", .groups = {}, .prediction = {}};
            row.prediction.measured_time = 1 * units::ms;
            row.prediction.time = (1 + off) * units::ms;
            scorer.add(row);
        }
        CHECK(scorer.result().worst.front().reason ==
              (off < 0.005 ? "not explained" : "the whole source is off by +2 %"));
    }
}

TEST_CASE("the worst rows are the ten that are off by the largest factors, with what is known against them") {
    Scorer scorer(ValidationKind::kernels);
    for (int i = 1; i <= 30; ++i) {
        ScoredRow row{.source = i % 2 == 0 ? "even" : "odd", .groups = {}, .prediction = {}};
        row.where = fmt::format("t.csv line {}", i);
        row.prediction.measured_time = 1 * units::ms;
        // Half of them too short, half too long by the same factor; row 30 is the worst.
        double const factor = 1 + 0.1 * i;
        row.prediction.time = (i % 2 == 0 ? factor : 1 / factor) * units::ms;
        if (i == 29) row.doubt = "measured twice";
        scorer.add(row);
    }
    ScoredRow skipped{.source = "even", .groups = {}, .prediction = {}};
    skipped.prediction.skip_reason = "no";
    scorer.add(skipped);
    Validation const v = scorer.result();
    REQUIRE(v.worst.size() == 10);
    CHECK(v.worst.front().where == "t.csv line 30");
    CHECK(v.worst.front().reason == "the whole source is off by +160 %");
    CHECK(v.worst[1].where == "t.csv line 29");
    CHECK(v.worst[1].reason == "measured twice");
    CHECK(v.worst.back().where == "t.csv line 21");
    for (WorstRow const& row : v.worst)
        CHECK_FALSE(row.reason.empty());
}

TEST_CASE("a few microseconds are a reason of kernels and collectives alone, and where both times are that short") {
    auto const reason = [](ValidationKind kind, Seconds measured, Seconds predicted) {
        Scorer scorer(kind);
        ScoredRow row{.source = "s", .groups = {}, .prediction = {}};
        row.prediction.measured_time = measured;
        row.prediction.time = predicted;
        scorer.add(row);
        return scorer.result().worst.at(0).reason;
    };
    std::string const short_calls = "only a few microseconds long";
    CHECK(reason(ValidationKind::kernels, 3 * units::us, 6 * units::us) == short_calls);
    CHECK(reason(ValidationKind::collectives, 6 * units::us, 3 * units::us) == short_calls);
    CHECK(reason(ValidationKind::collectives, 15.6 * units::us, 45 * units::us) == "not explained");
    CHECK(reason(ValidationKind::kernels, 3 * units::us, 45 * units::us) == "not explained");
    CHECK(reason(ValidationKind::serving, 3 * units::us, 6 * units::us) == "not explained");
}

TEST_CASE("the worst rows of serving have throughputs, and their errors are of those") {
    Scorer scorer(ValidationKind::serving);
    ScoredRow row{.source = "s", .groups = {}, .prediction = {}};
    row.prediction.measured_time = 0.5 * units::ms;
    row.prediction.time = 2 * units::ms;
    scorer.add(row);
    WorstRow const worst = scorer.result().worst.at(0);
    REQUIRE(worst.tokens_per_s);
    CHECK(worst.tokens_per_s->measured == Approx(2000));
    CHECK(worst.tokens_per_s->predicted == Approx(500));
    CHECK(worst.error_pct() == Approx(-75));
}

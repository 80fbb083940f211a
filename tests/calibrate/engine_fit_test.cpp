#include "calibrate/engine_fit.hpp"

#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace sextant;

namespace {

/// A toy engine: products, caches and the host in known proportions of a row's size.
double toy(EngineProfile const& e, double products, double cache, double sequences) {
    return e.gemm_scale.value * products + e.decode_scale.value * cache + e.host_per_iteration.value.base() +
           sequences * e.host_per_sequence.value.base();
}

std::vector<ServedMeasurement> rows_of(EngineProfile const& truth, int groups) {
    std::vector<ServedMeasurement> rows;
    for (int group = 0; group < groups; ++group)
        for (double const sequences : {1.0, 8.0, 32.0, 128.0})
            for (double const cache : {1e-4, 2e-3, 8e-3}) {
                double const products = 1e-3 * (group + 1) + 2e-5 * sequences;
                rows.push_back({.group = fmt::format("model {}", group),
                                .quantity = ServedQuantity::tpot,
                                .seconds = toy(truth, products, cache, sequences),
                                .predict = [=](EngineProfile const& e) { return toy(e, products, cache, sequences); }});
            }
    return rows;
}

}  // namespace

TEST_CASE("engine fit: constants that made the rows are found again, and others stay assumed") {
    EngineProfile const start = find_engine("other", "test");
    EngineProfile truth = start;
    truth.gemm_scale.value = 1.2;
    truth.decode_scale.value = 0.9;
    truth.host_per_iteration.value = 2.5 * units::ms;
    truth.host_per_sequence.value = 30 * units::us;
    auto const rows = rows_of(truth, 30);
    EngineFit const fit = fit_engine(start, rows, {.kernel_gaps_us = {1}, .threads = 1});
    CHECK(fit.profile.gemm_scale.value == Approx(1.2).epsilon(0.04));
    CHECK(fit.profile.decode_scale.value == Approx(0.9).epsilon(0.06));
    CHECK(fit.profile.host_per_iteration.value.in(units::ms) == Approx(2.5).epsilon(0.08));
    CHECK(fit.profile.host_per_sequence.value.in(units::us) == Approx(30).epsilon(0.08));
    CHECK(fit.profile.gemm_scale.basis == Basis::fitted);
    CHECK(fit.profile.communication_scale.basis == Basis::assumed);
    CHECK(fit.profile.communication_scale.value == Approx(1));
    // What is not in the rows is known worst, against what was believed of it, and never worse than that.
    CHECK(fit.constants[3].name == "communication_scale");
    double const unknown = *fit.constants[3].spread / common_priors(start).constants[3].spread;
    CHECK(unknown <= 1);
    CHECK(*fit.constants[0].spread / common_priors(start).constants[0].spread < unknown / 3);
    CHECK(fit.groups == 30);
    CHECK(fit.rows == rows.size());
    CHECK(fit.held_out.size() == rows.size());
    REQUIRE(fit.held_out_errors.size() == 1);
    CHECK(fit.held_out_errors.front().median_pct < 2);
    CHECK(fit.profile.interval.low <= 1);
    CHECK(fit.profile.interval.high >= 1);
    CHECK(fit.profile.interval.rows == static_cast<std::int64_t>(rows.size()));
}

TEST_CASE("engine fit: an optional constant is fitted from what the profile states, and only where it does") {
    EngineProfile start = find_engine("other", "test");
    EngineProfile truth = start;
    truth.gemm_compute_scale.value = 24;
    auto const predict = [](EngineProfile const& e, double size) {
        return std::max(1e-3 * e.gemm_scale.value, size * e.gemm_compute_scale.value);
    };
    std::vector<ServedMeasurement> rows;
    for (int group = 0; group < 12; ++group)
        for (double const size : {1e-6, 1e-4, 4e-4, 1e-3})
            rows.push_back({.group = fmt::format("model {}", group),
                            .quantity = ServedQuantity::tpot,
                            .seconds = predict(truth, size),
                            .predict = [=](EngineProfile const& e) { return predict(e, size); }});
    EngineFitOptions const options{.folds = 1, .kernel_gaps_us = {1}, .threads = 1};
    CHECK(fit_engine(start, rows, options).profile.gemm_compute_scale.value == 1);
    start.gemm_compute_scale.value = 15;
    EngineProfile const fitted = fit_engine(start, rows, options).profile;
    CHECK(fitted.gemm_compute_scale.value == Approx(24).epsilon(0.03));
    CHECK(fitted.gemm_compute_scale.basis == Basis::fitted);
    CHECK(fitted.rounding_overhead.value == Seconds{});
    CHECK(without_fit(fitted).gemm_compute_scale.value == fitted.gemm_compute_scale.value);
}

TEST_CASE("engine fit: other engines say what an engine is like where its own rows do not") {
    EngineProfile const start = find_engine("other", "test");
    auto const slow = [&](double factor) {
        EngineProfile truth = start;
        truth.gemm_scale.value = factor;
        truth.host_per_iteration.value = 1 * units::ms;
        auto const rows = rows_of(truth, 20);
        return fit_engine(start, rows, {.folds = 1, .kernel_gaps_us = {1}, .threads = 1});
    };
    EngineFit const one = slow(1.2);
    EngineFit const two = slow(1.25);
    EnginePriors const common = common_priors(start);
    EnginePriors const beside = priors_beside(start, {&one, &two});
    CHECK(beside.constants[0].mean > 1.1);  // gemm_scale: between what is believed of any engine and what these are
    CHECK(beside.constants[0].mean < 1.2);
    CHECK(beside.constants[0].spread < common.constants[0].spread);
    CHECK(beside.constants[3].mean == 1);  // communication_scale: not in these rows
    CHECK(beside.constants[3].spread == Approx(common.constants[3].spread));
    EnginePriors const alone = priors_beside(start, {});
    for (std::size_t i = 0; i < common.constants.size(); ++i) {
        CHECK(alone.constants[i].mean == Approx(common.constants[i].mean));
        CHECK(alone.constants[i].spread == Approx(common.constants[i].spread));
    }

    // Of a third one there is one group, in which products are nothing beside the cache.
    EngineProfile third = start;
    third.gemm_scale.value = 1.22;
    std::vector<ServedMeasurement> rows;
    for (double const cache : {4e-3, 8e-3})
        rows.push_back({.group = "one", .seconds = toy(third, 1e-5, cache, 1), .predict = [=](EngineProfile const& e) {
                            return toy(e, 1e-5, cache, 1);
                        }});
    EngineFitOptions options{.priors = beside, .folds = 1, .kernel_gaps_us = {1}, .threads = 1};
    EngineFit const helped = fit_engine(start, rows, options);
    CHECK(helped.profile.gemm_scale.value == Approx(beside.constants[0].mean).epsilon(0.01));
    CHECK(helped.profile.gemm_scale.basis == Basis::assumed);
    CHECK(helped.profile.gemm_scale.source.starts_with("as 2 other engines say; not identified by"));
}

TEST_CASE("engine fit: a few rows move a known profile only where they say something of it") {
    EngineProfile known = find_engine("vllm", "test");
    known.expert_compute_scale.value = 2.5;
    EngineProfile here = known;
    here.host_per_iteration.value = 4 * units::ms;
    auto const rows = rows_of(here, 2);
    EngineFit const fit = fit_engine(
        known, rows, {.priors = priors_around(known, rows), .folds = 1, .kernel_gaps_us = {1}, .threads = 1});
    CHECK(fit.profile.expert_compute_scale.value == Approx(2.5));
    CHECK(fit.profile.expert_compute_scale.source.starts_with("as in the profile 'vllm'; not identified by"));
    CHECK(fit.profile.host_per_iteration.value.in(units::ms) == Approx(4).epsilon(0.1));
}

TEST_CASE("engine fit: a machine that is slower in everything by half is followed by few rows of its own") {
    EngineProfile const known = find_engine("vllm", "test");
    auto rows = rows_of(known, 2);
    for (ServedMeasurement& row : rows)
        row.seconds *= 1.5;
    EngineFit const fit = fit_engine(
        known, rows, {.priors = priors_around(known, rows), .folds = 1, .kernel_gaps_us = {1}, .threads = 1});
    REQUIRE(fit.fitted_errors.size() == 1);
    CHECK(fit.fitted_errors.front().median_pct < 4);
    CHECK(std::abs(fit.fitted_errors.front().bias_pct) < 4);
}

TEST_CASE("engine fit: a group is in the same part in every fit, and parts are not empty for long") {
    std::vector<int> count(4);
    for (int i = 0; i < 400; ++i) {
        auto const fold = fold_of(fmt::format("llama-{}, h100-sxm, vllm", i), 4);
        REQUIRE(fold < 4);
        CHECK(fold == fold_of(fmt::format("llama-{}, h100-sxm, vllm", i), 4));
        ++count[fold];
    }
    for (int const n : count)
        CHECK(n > 60);
}

TEST_CASE("engine fit: without rows, or with figures that are no numbers, it is refused") {
    EngineProfile const start = find_engine("vllm", "test");
    CHECK_THROWS_AS(fit_engine(start, {}, {}), InputError);
    auto rows = rows_of(start, 1);
    for (auto& row : rows)
        row.seconds = std::nan("");
    CHECK_THROWS_AS(fit_engine(start, rows, {.kernel_gaps_us = {1}}), InputError);
}

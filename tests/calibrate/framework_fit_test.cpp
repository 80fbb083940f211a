#include "calibrate/framework_fit.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// A step whose time is a known function of the constants: products, attention, a host floor, a fixed part.
StepMeasurement step(std::string source, std::string generation, double gemm, double attention, double floor_share,
                     FrameworkTiming const& truth, double noise) {
    auto const predict = [=](FrameworkTiming const& t) {
        double const compute = gemm / t.gemm_scale.value + attention / t.attention_scale.value;
        return std::max(compute, floor_share * t.host_floor_forward.value.base()) + t.fixed_per_step.value.base();
    };
    return {.source = std::move(source),
            .generation = std::move(generation),
            .precision = "bf16",
            .seconds = predict(truth) * std::exp(noise),
            .predict = predict};
}

struct World {
    FrameworkProfile start = find_framework("megatron", "test");
    FrameworkTiming hopper = start.timing.front();
    FrameworkTiming ampere = start.timing.front();
    std::vector<StepMeasurement> rows;

    World() {
        hopper.gemm_scale.value = 0.72;
        ampere.gemm_scale.value = 0.9;
        hopper.fixed_per_step.value = ampere.fixed_per_step.value = 100 * units::ms;
        std::mt19937_64 random(seeded(5));
        std::normal_distribution<double> noise(0, 0.01);
        for (int i = 0; i < 60; ++i) {
            double const gemm = uniform(random, 0.1, 1);
            double const attention = uniform(random, 0.02, 0.3);
            rows.push_back(step(i % 3 == 0 ? "a" : "b", "hopper", gemm, attention, 10, hopper, noise(random)));
            rows.push_back(step("c", "ampere", gemm, attention, 10, ampere, noise(random)));
        }
    }
    std::vector<StepMeasurement const*> pointers() const {
        std::vector<StepMeasurement const*> out;
        for (StepMeasurement const& row : rows)
            out.push_back(&row);
        return out;
    }
};

FitOptions const options{.robust_scale = 2, .starts = 1, .iterations = 30, .threads = 1};

}  // namespace

TEST_CASE("fit_framework: scales of each generation and shared constants are found") {
    World const world;
    FrameworkFit const fit = fit_framework(world.start, world.pointers(), options);
    FrameworkProfile profile = world.start;
    profile.timing = fit.timing;
    CHECK(timing_for(profile, "hopper", "bf16").gemm_scale.value == Approx(0.72).epsilon(0.05));
    CHECK(timing_for(profile, "ampere", "bf16").gemm_scale.value == Approx(0.9).epsilon(0.05));
    CHECK(timing_for(profile, "hopper", "bf16").fixed_per_step.value.in(units::ms) == Approx(100).epsilon(0.4));
    // A generation without rows gets the framework's scale, between those of the others.
    double const unseen = timing_for(profile, "cdna3", "bf16").gemm_scale.value;
    CHECK(unseen > 0.7);
    CHECK(unseen < 0.95);
    CHECK(fit.sources == std::vector<std::string>{"a", "b", "c"});
    // Entries say how many steps are behind them; that for everything, and what nobody measured, say none.
    CHECK_FALSE(timing_for(profile, "cdna3", "bf16").steps.has_value());
    CHECK(timing_for(profile, "hopper", "bf16").steps == 60);
    CHECK(timing_for(profile, "ampere", "bf16").steps == 60);
}

TEST_CASE("fit_framework: without rows the constants are what the execution makes likely, whatever a fit found") {
    World const world;
    FrameworkFit const fit = fit_framework(world.start, world.pointers(), options);
    FrameworkFit const none = fit_framework(world.start, {}, options, {}, &fit);
    REQUIRE(none.timing.size() == 1);
    CHECK(none.timing[0].gemm_scale.value == Approx(0.85));
    CHECK(execution_of("nanotron") == Execution::eager);
    CHECK(execution_of("maxtext") == Execution::compiled);
}

TEST_CASE("expected_factors: means over the other frameworks by sources, drawn towards 1") {
    auto const factor = [](double value, std::size_t sources) {
        return TimingConstant{
            .key = "gemm_scale", .generation = "cdna3", .is_factor = true, .value = value, .sources = sources};
    };
    FrameworkFit one, two;
    one.constants = {factor(0.8, 2), {.key = "gemm_scale", .value = 0.5, .sources = 2}};
    two.constants = {factor(0.5, 1)};
    auto const expected = expected_factors({&one, &two});
    REQUIRE(expected.size() == 1);
    CHECK(expected[0].generation == "cdna3");
    CHECK(expected[0].value == Approx(std::pow(0.8 * 0.8 * 0.5, 0.25)));
    CHECK(expected_factors({}).empty());
}

TEST_CASE("fit_framework: what is known of a host otherwise holds where no step waits for it") {
    World const world;  // its steps are longer than any floor
    auto const known = known_otherwise("megatron");
    REQUIRE(known.size() == 6);
    CHECK(known_otherwise("nanotron").empty());
    REQUIRE(known_otherwise("maxtext").size() == 1);  // which has no host between its layers
    CHECK(known_otherwise("maxtext").front().value < 0.1 * 8.4e-3 / 3);
    FrameworkProfile profile = world.start;
    profile.timing = fit_framework(world.start, world.pointers(), options, known).timing;
    auto const floors = [&](char const* generation) {
        FrameworkTiming const& timing = timing_for(profile, generation, "bf16");
        return (timing.host_floor_forward.value + timing.host_floor_backward.value).in(units::ms);
    };
    CHECK(floors("hopper") == Approx(3.7).epsilon(0.02));
    CHECK(floors("ampere") == Approx(3.3).epsilon(0.02));
}

TEST_CASE("fit_framework: hosts that launch graphs on one generation say nothing of another") {
    World world;
    FrameworkTiming graphs = world.ampere;
    graphs.host_floor_forward.value = graphs.host_floor_backward.value = 0.8 * units::ms;
    for (int i = 0; i < 60; ++i)
        world.rows.push_back(step("d", "blackwell", 0.01, 0.01, 1000 + 50 * i, graphs, 0));
    auto const known = known_otherwise("megatron");
    FrameworkProfile profile = world.start;
    profile.timing = fit_framework(world.start, world.pointers(), options, known).timing;
    auto const forward = [&](char const* generation) {
        return timing_for(profile, generation, "bf16").host_floor_forward.value.in(units::ms);
    };
    CHECK(forward("blackwell") == Approx(0.8).epsilon(0.05));
    CHECK(forward("hopper") > 0.9 * 1.35 * 3.7 / 3.3);
}

TEST_CASE("fit_framework: attention of frameworks that run Ampere's instructions on Hopper is held slower there") {
    for (char const* const name : {"fsdp", "torchtitan"}) {
        auto const known = known_otherwise(name);
        REQUIRE(known.size() == 1);
        CHECK(known[0].key == "attention_scale");
        CHECK(known[0].generation == "hopper");
        CHECK(known[0].value < 0.7);
    }
    for (TimingConstant const& other : known_otherwise("maxtext"))
        CHECK(other.key != "attention_scale");  // cuDNN's kernels
}

TEST_CASE("fit_framework: a generation without rows takes what other frameworks found of it") {
    World const world;
    std::vector<TimingConstant> const expected{
        {.key = "gemm_scale", .generation = "cdna3", .is_factor = true, .value = 0.6},
        {.key = "gemm_scale", .generation = "hopper", .is_factor = true, .value = 0.6}};
    FrameworkProfile profile = world.start;
    profile.timing = fit_framework(world.start, world.pointers(), options, expected).timing;
    auto const scale = [&](char const* generation) { return timing_for(profile, generation, "bf16").gemm_scale.value; };
    CHECK(scale("cdna3") == Approx(0.6 * scale("volta")).epsilon(1e-6));
    CHECK(scale("hopper") == Approx(0.72).epsilon(0.08));  // its own rows weigh more than an expectation that is wrong
    CHECK(scale("ampere") == Approx(0.9).epsilon(0.08));
}

TEST_CASE("known_constants: without rows of its own a profile comes back whole") {
    for (FrameworkProfile const& known : all_frameworks()) {
        FrameworkProfile again = known;
        again.timing = fit_framework(known, {}, options, known_constants(known)).timing;
        for (FrameworkTiming const& entry : known.timing) {
            INFO(known.name << " " << entry.generation << " " << entry.precision);
            FrameworkTiming const& other = timing_for(again, entry.generation, entry.precision);
            CHECK(other.gemm_scale.value == Approx(entry.gemm_scale.value).epsilon(1e-6));
            CHECK(other.attention_scale.value == Approx(entry.attention_scale.value).epsilon(1e-6));
            CHECK(other.tp_overlap.value == Approx(entry.tp_overlap.value).epsilon(1e-6));
            CHECK(other.host_floor_forward.value.base() == Approx(entry.host_floor_forward.value.base()));
            CHECK(other.moe_floor_forward.value.base() == Approx(entry.moe_floor_forward.value.base()));
        }
    }
}

TEST_CASE("known_constants: a few rows move what they say something of, and nothing else") {
    FrameworkProfile const known = find_framework("megatron", "test");
    FrameworkTiming here = timing_for(known, "hopper", "bf16");
    here.gemm_scale.value *= 0.8;
    std::vector<StepMeasurement> rows;
    for (double const gemm : {0.3, 0.5, 0.8})
        rows.push_back(step("mine", "hopper", gemm, 1e-4, 0, here, 0));
    std::vector<StepMeasurement const*> pointers;
    for (StepMeasurement const& row : rows)
        pointers.push_back(&row);
    FrameworkProfile fitted = known;
    fitted.timing = fit_framework(known, pointers, options, known_constants(known)).timing;
    FrameworkTiming const& hopper = timing_for(fitted, "hopper", "bf16");
    CHECK(hopper.gemm_scale.value == Approx(here.gemm_scale.value).epsilon(0.02));
    CHECK(hopper.attention_scale.value == Approx(here.attention_scale.value).epsilon(0.01));
    CHECK(hopper.dp_overlap.value == Approx(here.dp_overlap.value));
    FrameworkTiming const& blackwell = timing_for(known, "blackwell", "fp8");
    double const factor = blackwell.gemm_scale.value / known.timing.front().gemm_scale.value;
    CHECK(timing_for(fitted, "blackwell", "fp8").gemm_scale.value ==
          Approx(factor * fitted.timing.front().gemm_scale.value).epsilon(1e-6));
}

TEST_CASE("leave_one_source_out: every row is predicted once, by constants that its source did not touch") {
    World world;
    for (StepMeasurement& row : world.rows)
        if (row.source == "a") row.seconds *= 2;  // a source that is wrong by a factor cannot help itself
    auto const left_out = leave_one_source_out(world.start, world.pointers(), options, {});
    CHECK(left_out.size() == world.rows.size());
    for (LeftOutStep const& step : left_out)
        if (step.row->source == "a") CHECK(step.predicted / step.row->seconds < 0.6);
}

TEST_CASE("framework JSON: what is written is read back") {
    for (FrameworkProfile const& profile : all_frameworks()) {
        auto const document = JsonDocument::from_text(framework_json(profile), "test.json");
        FrameworkProfile const back = read_framework(ObjectReader(document));
        CAPTURE(profile.name);
        REQUIRE(back.timing.size() == profile.timing.size());
        for (std::size_t i = 0; i < profile.timing.size(); ++i) {
            CHECK(back.timing[i].generation == profile.timing[i].generation);
            CHECK(back.timing[i].gemm_scale.value == Approx(profile.timing[i].gemm_scale.value).epsilon(1e-3));
            CHECK(back.timing[i].kernel_gap.value.base() ==
                  Approx(profile.timing[i].kernel_gap.value.base()).epsilon(1e-3));
            CHECK(back.timing[i].tp_overlap.source == profile.timing[i].tp_overlap.source);
        }
        CHECK(back.memory.constant.value.base() == Approx(profile.memory.constant.value.base()).epsilon(1e-4));
        CHECK(back.interval.rows == profile.interval.rows);
        CHECK(back.usual.zero == profile.usual.zero);
        CHECK(back.usual.layers == profile.usual.layers);
        CHECK(back.usual.pipelines == profile.usual.pipelines);
        CHECK(back.usual.sends == profile.usual.sends);
    }
}

TEST_CASE("fit_framework: products of narrow formats gain with releases, those of others do not") {
    World world;
    constexpr double gain = 0.1;
    FrameworkTiming narrow = world.hopper;
    narrow.gemm_scale.value = 0.8;
    std::vector<StepMeasurement> rows = world.rows;
    for (std::size_t i = 0; i < world.rows.size(); ++i) {
        StepMeasurement row = world.rows[i];
        if (row.generation != "hopper") continue;
        row.precision = "fp8";
        row.release_years = -2.0 + static_cast<double>(i % 5) / 2;
        FrameworkTiming then = narrow;
        then.gemm_scale.value *= std::exp(gain * row.release_years);
        row.seconds = row.predict(then);
        rows.push_back(std::move(row));
    }
    world.rows = rows;
    FrameworkProfile profile = world.start;
    profile.timing = fit_framework(world.start, world.pointers(), options).timing;
    FrameworkTiming const& fitted = timing_for(profile, "hopper", "fp8");
    CHECK(fitted.yearly_gemm_gain.value == Approx(gain).epsilon(0.25));  // drawn towards no gain
    CHECK(fitted.gemm_scale.value == Approx(0.8).epsilon(0.05));
    CHECK(timing_for(profile, "hopper", "bf16").yearly_gemm_gain.value == 0);
    // What a profile knows of releases stays where the rows say nothing of them.
    auto const known = known_constants(profile);
    FrameworkProfile again = profile;
    again.timing = fit_framework(profile, World().pointers(), options, known).timing;
    CHECK(timing_for(again, "hopper", "fp8").yearly_gemm_gain.value == fitted.yearly_gemm_gain.value);
}

TEST_CASE("fit_framework: attention of Hopper gains with releases, that of other devices does not") {
    World world;
    constexpr double gain = 0.2;
    for (std::size_t i = 0; i < world.rows.size(); ++i) {
        StepMeasurement& row = world.rows[i];
        if (row.generation != "hopper") continue;
        FrameworkTiming then = world.hopper;
        row.release_years = -2.0 + static_cast<double>(i % 5) / 2;
        then.attention_scale.value *= std::exp(gain * row.release_years);
        row.seconds = row.predict(then);
    }
    FrameworkProfile profile = world.start;
    profile.timing = fit_framework(world.start, world.pointers(), options).timing;
    CHECK(timing_for(profile, "hopper", "bf16").yearly_attention_gain.value == Approx(gain).epsilon(0.4));
    CHECK(timing_for(profile, "ampere", "bf16").yearly_attention_gain.value == 0);
}

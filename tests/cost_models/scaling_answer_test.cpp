#include "cost_models/scaling/scaling_answer.hpp"
#include "core/error.hpp"
#include "cost_models/scaling/law_form.hpp"
#include "cost_models/scaling/law_interval.hpp"
#include "cost_models/scaling/repeated_data.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace sextant;

TEST_CASE("scaling answers: planning and fitting have the same formula for every law of the catalogue", "[scaling]") {
    double const n = 3e9;
    double const d = 4e11;
    LawSetting const setting{.experts = 16,
                             .granularity = 4,
                             .bits = {.weights = 5, .activations = 7, .kv_cache = 9},
                             .unique_tokens = 3e10};
    int compared = 0;
    for (PublishedLaw const& law : published_laws()) {
        auto const forms = law_form_catalog();
        auto const found = std::find_if(forms.begin(), forms.end(), [&](auto f) { return law.law.law == f->name; });
        if (found == forms.end()) continue;
        CAPTURE(law.name);
        std::vector<double> parameters;
        for (LawParameter const& p : (*found)->parameters)
            parameters.push_back(law.law.value(p.name));
        std::vector<double> inputs;
        for (std::string const name : (*found)->inputs)
            inputs.push_back(name == "parameters"        ? n
                             : name == "tokens"          ? d
                             : name == "unique_tokens"   ? 3e10
                             : name == "experts"         ? 16
                             : name == "granularity"     ? 4
                             : name == "weight_bits"     ? 5
                             : name == "activation_bits" ? 7
                                                         : 9);
        double const by_form = law_value(**found, parameters, inputs);
        CHECK(*loss_answer(law, n, d, setting, "test").loss == Approx(by_form).epsilon(1e-12));
        ++compared;
    }
    CHECK(compared >= 14);
}

TEST_CASE("scaling answers: the optimum of a law beats its own predictions beside it", "[scaling]") {
    int laws = 0;
    for (PublishedLaw const& law : published_laws()) {
        if (!divides_a_budget(law.law)) continue;
        CAPTURE(law.name);
        ++laws;
        ScalingAnswer const best = optimum_answer(law, 1e23, {}, "test");
        CHECK(6 * best.parameters * best.tokens == Approx(1e23).epsilon(1e-3));
        CHECK(best.basis == law.law.basis);
        CHECK(best.outside_factor == (law.law.ranges.empty() ? 0.0 : best.outside_factor));
        if (!best.loss) continue;
        CHECK(*loss_answer(law, best.parameters, best.tokens, {}, "test").loss == Approx(*best.loss).epsilon(1e-12));
        for (double const k : {0.8, 1.25})
            CHECK(*loss_answer(law, best.parameters * k, best.tokens / k, {}, "test").loss > *best.loss);
        CHECK(flops_of_loss(law, *best.loss, {}, "test") == Approx(1e23).epsilon(1e-8));
    }
    CHECK(laws >= 12);
}

TEST_CASE("scaling answers: forms that cannot answer say so, answers that are not finite are refused", "[scaling]") {
    auto const named = [](char const* name) {
        return PublishedLaw{.name = name, .law = find_scaling_law(name, "test")};
    };
    CHECK_THROWS_AS(optimum_answer(named("clark-hash"), 1e23, {}, "test"), InputError);
    CHECK_THROWS_AS(optimum_answer(named("krajewski-moe"), 1e23, {}, "test"), InputError);
    CHECK_THROWS_AS(loss_answer(named("porian-tuned"), 1e9, 1e10, {}, "test"), InputError);
    CHECK_THROWS_AS(flops_of_loss(named("kaplan-allocation"), 2.0, {}, "test"), InputError);
    CHECK_THROWS_AS(flops_of_loss(named("chinchilla-huber"), 1.8, {}, "test"), InputError);
    PublishedLaw steep = named("chinchilla-huber");
    steep.law.values = {1e300, 1, 0, 1e-3, 1e-3};  // A, B, E, alpha, beta
    CHECK_THROWS_AS(optimum_answer(steep, 1e22, {}, "test"), InputError);
}

TEST_CASE("scaling answers: resamples give intervals around the answer, unless the fit held all that matters",
          "[scaling]") {
    PublishedLaw law{.name = "huber", .law = find_scaling_law("chinchilla-huber", "test")};
    ScalingAnswer const best = optimum_answer(law, 1e23, {}, "test");
    REQUIRE(best.ratio_interval);
    CHECK(best.ratio_interval->low95 < best.ratio_interval->low80);
    CHECK(best.ratio_interval->low80 < best.ratio());
    CHECK(best.ratio() < best.ratio_interval->high80);
    CHECK(best.ratio_interval->high80 < best.ratio_interval->high95);
    ScalingAnswer const run = loss_answer(law, best.parameters, best.tokens, {}, "test");
    REQUIRE(run.loss_interval);
    CHECK(run.loss_interval->low95 < *run.loss);
    CHECK(*run.loss < run.loss_interval->high95);
    law.law.resamples.assign(100, law.law.values);
    CHECK_FALSE(optimum_answer(law, 1e23, {}, "test").ratio_interval);
}

TEST_CASE("scaling answers: laws of one budget of tokens say when a question is far from the runs behind them",
          "[scaling]") {
    auto const told = [](char const* law, double parameters, double tokens) {
        std::string out;
        for (Extrapolation const& e :
             extrapolations(find_scaling_law(law, "test"), 6 * parameters * tokens, parameters, tokens))
            out += std::string(out.empty() ? "" : " ") + e.input;
        return out;
    };
    for (char const* law : {"gadre-c4", "gadre-redpajama"}) {
        // Two of the five runs: tests/data/scaling/overtraining_c4_rpj.csv.
        CHECK(told(law, 411616256, 8232325120) == "");
        CHECK(told(law, 10569312, 3382179840) == "");
        CHECK(told(law, 400e6, 10e12) == "flops tokens");
    }
    for (char const* law : {"clark-s-base", "clark-rl-r", "clark-hash", "clark-s-base-refit", "clark-rl-r-refit"}) {
        CHECK(told(law, 370e6, 130.5e9) == "");  // 249000 steps of 256 x 2048
        CHECK(told(law, 370e6, 10e12) == "tokens");
    }
}

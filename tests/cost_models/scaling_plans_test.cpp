#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/allocation.hpp"
#include "cost_models/scaling/attention_share.hpp"
#include "cost_models/scaling/batch_trade.hpp"
#include "cost_models/scaling/expert_laws.hpp"
#include "cost_models/scaling/inference_optimum.hpp"
#include "cost_models/scaling/law_interval.hpp"
#include "cost_models/scaling/parameter_counting.hpp"
#include "cost_models/scaling/precision_law.hpp"
#include "cost_models/scaling/published_laws.hpp"
#include "cost_models/scaling/rate_laws.hpp"
#include "cost_models/scaling/repeated_data.hpp"
#include "cost_models/scaling/scaling_answer.hpp"
#include "cost_models/scaling/training_budget.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <cmath>
#include <limits>
#include <random>

using namespace sextant;
using namespace sextant::units;

namespace {

ChinchillaLaw published(std::string const& name) { return chinchilla_of(find_scaling_law(name, "test"), "test"); }

ChinchillaLaw random_law(std::mt19937_64& random) {
    using fixtures::uniform;
    return {.A = std::exp(uniform(random, 3, 8)),
            .B = std::exp(uniform(random, 3, 9)),
            .E = uniform(random, 0, 2),
            .alpha = uniform(random, 0.1, 0.6),
            .beta = uniform(random, 0.1, 0.6)};
}

}  // namespace

TEST_CASE("scaling: no neighbour of the compute optimum has a lower loss at the same compute", "[scaling]") {
    std::mt19937_64 random(fixtures::seeded(5));
    for (int i = 0; i < 200; ++i) {
        ChinchillaLaw const law = random_law(random);
        double const flops = std::pow(10, fixtures::uniform(random, 18, 27));
        ScalingPoint const best = compute_optimum(law, flops);
        CHECK(6 * best.parameters * best.tokens == Approx(flops).epsilon(1e-12));
        for (double const k : {0.5, 0.9, 1.1, 2.0}) {
            AllocationPenalty const off = allocation_penalty(law, best.parameters * k, best.tokens / k);
            CHECK(off.loss > 0);
            CHECK(off.compute_needed < 1);
            // The compute that would have sufficed does suffice.
            CHECK(compute_optimum(law, flops * off.compute_needed).loss == Approx(off.point.loss).epsilon(1e-10));
        }
        CHECK(optimal_tokens(law, best.parameters) == Approx(best.tokens).epsilon(1e-9));
        CHECK(optimal_parameters(law, best.tokens) == Approx(best.parameters).epsilon(1e-9));
    }
}

TEST_CASE("scaling: a smaller model reaches the optimum's loss with the tokens that size_trade says", "[scaling]") {
    std::mt19937_64 random(fixtures::seeded(6));
    for (int i = 0; i < 200; ++i) {
        ChinchillaLaw const law = random_law(random);
        ScalingPoint const best = compute_optimum(law, 1e22);
        double const k = fixtures::uniform(random, 0.3, 3);
        SizeTrade const trade = size_trade(law, k);
        double const tokens = tokens_for_loss(law, best.parameters * k, best.loss);
        if (std::isinf(trade.token_factor)) {
            CHECK(std::isinf(tokens));
            continue;
        }
        CHECK(tokens / best.tokens == Approx(trade.token_factor).epsilon(1e-6));
        CHECK(trade.overhead >= -1e-12);
    }
    CHECK(std::isinf(size_trade(published("chinchilla-huber"), 1e-3).overhead));
}

TEST_CASE("scaling: the edges of the flat region lose 0.25 % and nothing between them loses more", "[scaling]") {
    ChinchillaLaw const law = published("chinchilla-huber");
    for (double const flops : {1e20, 1e23, 1e26}) {
        FlatRegion const flat = flat_region(law, flops);
        double const limit = compute_optimum(law, flops).loss * 1.0025;
        CHECK(loss_of(law, flat.parameters_low, flat.tokens_high) == Approx(limit).epsilon(1e-12));
        CHECK(loss_of(law, flat.parameters_high, flat.tokens_low) == Approx(limit).epsilon(1e-12));
        CHECK(6 * flat.parameters_low * flat.tokens_high == Approx(flops).epsilon(1e-12));
        double const n = std::sqrt(flat.parameters_low * flat.parameters_high);
        CHECK(loss_of(law, n, flops / 6 / n) < limit);
    }
}

TEST_CASE("inference_optimum: cheapest of all models of the same loss, whatever the prices", "[scaling]") {
    std::mt19937_64 random(fixtures::seeded(7));
    for (int i = 0; i < 200; ++i) {
        ChinchillaLaw const law = random_law(random);
        double const loss = compute_optimum(law, 1e23).loss;
        ServingDemand const demand{.prefill_tokens = std::pow(10, fixtures::uniform(random, 8, 14)),
                                   .decode_tokens = std::pow(10, fixtures::uniform(random, 8, 14)),
                                   .training_cost = fixtures::uniform(random, 0.5, 2),
                                   .prefill_cost = fixtures::uniform(random, 0.5, 2),
                                   .decode_cost = fixtures::uniform(random, 1, 20)};
        InferenceOptimum const best = inference_optimum(law, loss, demand, "test");
        CHECK(loss_of(law, best.point.parameters, best.point.tokens) == Approx(loss).epsilon(1e-10));
        for (double const k : {0.99, 1.01, 1.5}) {
            double const n = best.point.parameters * k;
            double const tokens = tokens_for_loss(law, n, loss);
            CHECK(lifetime_cost({.parameters = n, .tokens = tokens, .loss = loss}, demand).cost >=
                  best.cost * (1 - 1e-12));
        }
    }
    ChinchillaLaw const law = published("hoffmann-tex");
    // Nothing to serve: the training optimum. Far more than was ever served: still a model.
    CHECK(inference_optimum(law, 2.0, {}, "test").point.parameters ==
          Approx(compute_optimum(law, flops_for_loss(law, 2.0, "test")).parameters).epsilon(1e-9));
    InferenceOptimum const busy = inference_optimum(law, 2.0, {.decode_tokens = 1e30}, "test");
    CHECK(busy.point.tokens > 1e15);
    CHECK_THROWS_AS(inference_optimum(law, 1.0, {.decode_tokens = 1e12}, "test"), InputError);
}

TEST_CASE("repeated data: both basins as the notes have them", "[scaling]") {
    auto const published_set = repeated_data_of(find_scaling_law("muennighoff-c4", "test"), "test");
    auto const lower = repeated_data_of(find_scaling_law("muennighoff-lower-basin", "test"), "test");
    // Effective over unique data at 4, 16 and 40 epochs.
    CHECK(effective_amount(4, 1, published_set.token_decay) == Approx(3.73).epsilon(2e-3));
    CHECK(effective_amount(16, 1, published_set.token_decay) == Approx(10.6).epsilon(5e-3));
    CHECK(effective_amount(40, 1, published_set.token_decay) == Approx(15.2).epsilon(5e-3));
    CHECK(effective_amount(4, 1, lower.token_decay) == Approx(3.95).epsilon(2e-3));
    CHECK(effective_amount(40, 1, lower.token_decay) == Approx(33.0).epsilon(5e-3));
    CHECK(effective_amount(0.5, 1, lower.token_decay) == 0.5);
    RepeatedPoint const a = repeated_optimum(published_set, 9.3e21, 25e9);
    CHECK(a.point.parameters == Approx(6.82e9).epsilon(2e-3));
    CHECK(a.epochs == Approx(9.1).epsilon(6e-3));
    RepeatedPoint const b = repeated_optimum(lower, 9.3e21, 25e9);
    CHECK(b.point.parameters == Approx(3.64e9).epsilon(3e-3));
    CHECK(b.epochs == Approx(17.0).epsilon(6e-3));
}

TEST_CASE("repeated data: a law that says nothing of it, or nothing finite, is refused by its title", "[scaling]") {
    FittedLaw law = find_scaling_law("muennighoff-c4", "test");
    CHECK_THROWS_WITH(repeated_data_of(find_scaling_law("chinchilla-huber", "test"), "--law"),
                      Catch::Matchers::StartsWith("--law: ") && contains("data-constrained is needed"));
    for (std::size_t i = 0; i < law.names.size(); ++i)
        if (law.names[i] == "R_D") law.values[i] = 0;
    CHECK_THROWS_WITH(repeated_data_of(law, "--law"), contains(law.title) && contains("has R_D 0"));
}

TEST_CASE("repeated data: the tokens that reach a loss have it, and none reach what endless repetitions do not",
          "[scaling]") {
    for (char const* name : {"muennighoff-c4", "muennighoff-lower-basin"}) {
        auto const law = repeated_data_of(find_scaling_law(name, "test"), "test");
        for (double const parameters : {1e8, 1e9, 3e10})
            for (double const unique : {1e9, 2e10, 1e12})
                for (double const tokens : {1e8, 5e9, 4e10, 1e12}) {
                    CAPTURE(name, parameters, unique, tokens);
                    double const lowest = loss_of(law, parameters, 1e40, unique);
                    double const loss = loss_of(law, parameters, tokens, unique);
                    if (loss > lowest * (1 + 1e-9)) {
                        double const found = tokens_for_loss(law, parameters, loss, unique);
                        CHECK(loss_of(law, parameters, found, unique) == Approx(loss).epsilon(1e-12));
                        CHECK(found >= tokens_for_loss(law.base, parameters, loss) * (1 - 1e-9));
                    }
                    CHECK(std::isinf(tokens_for_loss(law, parameters, lowest, unique)));
                    CHECK(std::isinf(tokens_for_loss(law, parameters, 0.99 * lowest, unique)));
                }
    }
}

TEST_CASE("repeated data: with more unique tokens than needed nothing changes, with fewer the loss rises",
          "[scaling]") {
    for (char const* name : {"muennighoff-c4", "muennighoff-lower-basin"}) {
        auto const law = repeated_data_of(find_scaling_law(name, "test"), "test");
        ScalingPoint const free = compute_optimum(law.base, 1e22);
        RepeatedPoint const plenty = repeated_optimum(law, 1e22, 10 * free.tokens);
        CHECK(plenty.epochs == 1);
        CHECK(plenty.point.loss == Approx(free.loss).epsilon(1e-10));
        double before = free.loss;
        for (double const unique : {free.tokens / 3, free.tokens / 30, free.tokens / 300}) {
            RepeatedPoint const scarce = repeated_optimum(law, 1e22, unique);
            CHECK(scarce.epochs > 1);
            CHECK(scarce.point.loss > before);
            before = scarce.point.loss;
            CHECK(std::abs(repeated_penalty(law, scarce.point.parameters, scarce.point.tokens, unique).loss) < 1e-12);
            AllocationPenalty const off =
                repeated_penalty(law, scarce.point.parameters * 2, scarce.point.tokens / 2, unique);
            CHECK(repeated_optimum(law, 1e22 * off.compute_needed, unique).point.loss ==
                  Approx(off.point.loss).epsilon(1e-8));
            CHECK(off.compute_needed < 1);
            for (double const k : {0.8, 1.25})
                CHECK(loss_of(law, scarce.point.parameters * k, scarce.point.tokens / k, unique) >= scarce.point.loss);
        }
    }
}

TEST_CASE("experts: one expert is the dense model, and more experts act as a larger one", "[scaling]") {
    for (char const* name : {"clark-s-base", "clark-rl-r", "clark-hash", "clark-s-base-refit"}) {
        FittedLaw const law = find_scaling_law(name, "test");
        CHECK(effective_experts(1, law.value("E_start"), law.value("E_max")) ==
              Approx(law.value("E_start")).epsilon(1e-12));
        CHECK(effective_experts(1e12, law.value("E_start"), law.value("E_max")) ==
              Approx(law.value("E_max")).epsilon(1e-6));
        CHECK(effective_dense_parameters(law, 1e8, 1) == Approx(1e8).epsilon(1e-10));
        double const larger = effective_dense_parameters(law, 1e8, 64);
        CHECK(larger > 2e8);
        // That is what "effective" means: the same loss as a dense model of that size.
        auto const loss = [&](double parameters, double experts) {
            return *loss_answer({.name = name, .law = law}, parameters, 1e11, {.experts = experts}, "test").loss;
        };
        CHECK(loss(larger, 1) == Approx(loss(1e8, 64)).epsilon(1e-10));
    }
}

TEST_CASE("experts: N of the granularity law counts all parameters", "[scaling]") {
    // Read as active parameters it would put experts behind dense models, 3.14 against 2.98 (N 1e9, D 2e10, G 8).
    FittedLaw const moe = find_scaling_law("krajewski-moe", "test");
    CHECK(loss_of(at_granularity(moe, 8), 1e9, 2e10) == Approx(3.14).epsilon(2e-3));
    CHECK(loss_of(published("krajewski-dense"), 1e9, 2e10) == Approx(2.98).epsilon(2e-3));
    CHECK(loss_of(at_granularity(moe, 8), 64e9, 2e10) < loss_of(published("krajewski-dense"), 1e9, 2e10));
    CHECK(loss_of(at_granularity(moe, 16), 64e9, 2e10) < loss_of(at_granularity(moe, 1), 64e9, 2e10));
}

TEST_CASE("experts: by active parameters, more experts help and want more tokens", "[scaling]") {
    FittedLaw const law = find_scaling_law("ludziejewski-moe", "test");
    ScalingPoint const dense = compute_optimum(at_experts(law, 1), 1e22);
    ScalingPoint const eight = compute_optimum(at_experts(law, 8), 1e22);
    CHECK(eight.loss < dense.loss);
    CHECK(eight.tokens / eight.parameters > dense.tokens / dense.parameters);
}

TEST_CASE("precision: retention, and bits at which nothing is wasted", "[scaling]") {
    FittedLaw law = find_scaling_law("kumar-precision", "test");
    auto const weights = [&](double bits) {
        return parameter_retention(law, {.weights = bits, .activations = 1e3, .kv_cache = 1e3});
    };
    CHECK(weights(3) == Approx(0.674).epsilon(1e-3));
    CHECK(weights(4) == Approx(0.776).epsilon(1e-3));
    CHECK(weights(8) == Approx(0.950).epsilon(1e-3));
    CHECK(loss_of(at_precision(law, {.weights = 4}), 1e8, 1e10) ==
          Approx(loss_of(chinchilla_of(law, "test"), 1e8 * parameter_retention(law, {.weights = 4}), 1e10))
              .epsilon(1e-12));
    for (char const* name : {"gamma_w", "gamma_a", "gamma_kv"})
        for (std::size_t i = 0; i < law.names.size(); ++i)
            if (law.names[i] == name) law.values[i] = 2;
    CHECK(optimal_bits(law) == Approx(2 * 1.9038).epsilon(1e-4));
    CHECK(rounding_penalty(law, 1e9, 1e11, 4) > rounding_penalty(law, 1e9, 1e10, 4));
    CHECK(rounding_penalty(law, 1e9, 1e11, 8) < rounding_penalty(law, 1e9, 1e11, 4));
}

TEST_CASE("attention_share: 8 %, 32 % and 513 % of 6N for a 6.7B model, and the same from its operations",
          "[scaling]") {
    for (auto const& [context, share] : {std::pair{2048.0, 0.08}, {8192.0, 0.32}, {131072.0, 5.13}})
        CHECK(attention_share(32, 4096, context, 6.7e9) == Approx(share).epsilon(5e-3));
    ModelSpec const model = find_model("llama-2-7b");
    for (std::int64_t const context : {2048, 131072}) {
        // 6N of all matrices a token passes: without the input embedding.
        double const plain = attention_share(32, 4096, static_cast<double>(context), 6.738e9 - 32000.0 * 4096);
        CHECK(attention_share(model, context) == Approx(plain).epsilon(2e-3));
    }
}

TEST_CASE("batch_trade: twice the steps and twice the data at the critical batch", "[scaling]") {
    BatchTrade const at = batch_trade(1e6, 1e6);
    CHECK(at.steps_factor == 2);
    CHECK(at.samples_factor == 2);
    for (double const batch : {1e4, 3e5, 1e6, 5e7}) {
        BatchTrade const t = batch_trade(batch, 1e6);
        CHECK((t.steps_factor - 1) * (t.samples_factor - 1) == Approx(1).epsilon(1e-12));
    }
}

TEST_CASE("rate_band: the laws disagree as much as the notes say", "[scaling]") {
    auto const find = [](RateBand const& band, std::string const& name) {
        for (auto const& entry : band.entries)
            if (entry.law->name == name) return entry;
        FAIL(name);
        return band.entries.front();
    };
    RateBand const small = rate_band({.parameters = 7e9, .tokens = 1.4e12, .flops = 6 * 7e9 * 1.4e12, .loss = 3});
    CHECK(find(small, "step-law").learning_rate.value() == Approx(9.2e-4).epsilon(0.01));
    CHECK(find(small, "deepseek").learning_rate.value() == Approx(4.4e-4).epsilon(0.02));
    CHECK(find(small, "porian").learning_rate.value() == Approx(1.2e-3).epsilon(0.04));
    CHECK(find(small, "step-law").batch.value() == Approx(5.0e6).epsilon(0.02));
    CHECK(find(small, "deepseek").batch.value() == Approx(8.2e6).epsilon(0.02));
    CHECK(find(small, "porian").batch.value() == Approx(5.3e6).epsilon(0.02));
    CHECK(find(small, "kaplan").critical_batch.value() == Approx(1.07e6).epsilon(5e-3));  // at a loss of 3
    CHECK(small.batch_high / small.batch_low == Approx(1.6).epsilon(0.03));
    RateBand const large = rate_band({.parameters = 7e10, .tokens = 1.4e12, .flops = 6 * 7e10 * 1.4e12});
    CHECK(find(large, "porian").batch.value() == Approx(2.5e7).epsilon(0.02));
    CHECK_FALSE(find(large, "kaplan").critical_batch.has_value());  // the loss is not known
    CHECK_FALSE(find(large, "kaplan").noise_scale.has_value());
    CHECK(find(small, "kaplan").noise_scale == find(small, "kaplan").critical_batch);  // by its definition
    // Zhang's batch needs a fifth more steps than linear scaling from 256 sequences: B* = 0.2 B_n + 1.2 x 256 for each
    // size that was measured, which the two power laws through them meet to their scatter.
    for (double const n : {1.51e8, 3.02e8, 6.04e8, 1.2e9}) {
        auto const zhang =
            find(rate_band({.parameters = n, .tokens = 20 * n, .flops = 120 * n * n, .loss = 3}), "zhang");
        CHECK(zhang.critical_batch.value() == Approx(0.2 * zhang.noise_scale.value() + 1.2 * 256 * 512).epsilon(0.06));
    }
    // Kaplan's line crosses zero: none beyond the sizes it was drawn through is better than next to none.
    CHECK_FALSE(find(rate_band({.parameters = 1e11, .tokens = 1e12, .flops = 6e23}), "kaplan").learning_rate);
}

TEST_CASE("parameter counting: without embeddings the exponent of small models is Kaplan's", "[scaling]") {
    ChinchillaLaw const law = published("besiroglu-quoted");
    auto const between = [&](double low, double high) {
        CountedOptimum const a = non_embedding_optimum(law, low);
        CountedOptimum const b = non_embedding_optimum(law, high);
        return std::log(high / low) / std::log(b.flops / a.flops);
    };
    CHECK(apparent_exponent(law, 768, 1.5e9) == Approx(0.794).epsilon(1e-3));
    CHECK(apparent_exponent(law, 1e8, 1e10) == Approx(0.540).epsilon(1e-3));
    CHECK(apparent_exponent(law, 1e10, 1e12) == Approx(0.514).epsilon(1e-3));
    for (double const n : {1e4, 1e8, 1e11}) {
        CountedOptimum const here = non_embedding_optimum(law, n);
        CHECK(here.local_exponent == Approx(between(n * 0.999, n * 1.001)).epsilon(1e-5));
        CHECK(non_embedding_optimum_of(law, here.flops).point.parameters == Approx(n).epsilon(1e-9));
        for (double const k : {0.9, 1.1})
            CHECK(loss_of(law, with_embeddings(n * k), here.point.tokens / k) > here.point.loss);
    }
}

TEST_CASE("training budget: money and time are FLOPs and back", "[scaling]") {
    TrainingMachines const machines{
        .peak = 989.4 * TFLOP / s, .mfu = 0.5, .price = 2 * USD / hour, .accelerators = 1024};
    // Llama-2-70B, 2T tokens at half of peak: 19.2 days on 1,024 H100s, 60.9 on A100s.
    Flops const work = 6 * 70e9 * 2e12 * flop;
    CHECK(run_cost(machines, work).time.in(day) == Approx(19.2).epsilon(3e-3));
    TrainingMachines a100 = machines;
    a100.peak = 312 * TFLOP / s;
    CHECK(run_cost(a100, work).time.in(day) == Approx(60.9).epsilon(3e-3));
    Flops const bought = flops_of_money(machines, 1e6 * USD);
    CHECK(bought.base() == Approx(500000 * 3600 * 989.4e12 * 0.5).epsilon(1e-12));
    CHECK(run_cost(machines, bought).money.base() == Approx(1e6).epsilon(1e-12));
    CHECK(run_cost(machines, flops_of_time(machines, 30 * day)).time.in(day) == Approx(30).epsilon(1e-12));
}

TEST_CASE("law intervals: from resamples only, and never from a handful", "[scaling]") {
    CHECK_FALSE(interval_of({1, 2, 3}));
    std::vector<double> values{std::numeric_limits<double>::quiet_NaN()};
    for (int i = 0; i <= 1000; ++i)
        values.push_back(i);
    auto const interval = interval_of(values);
    REQUIRE(interval);
    CHECK(interval->low95 == Approx(25));
    CHECK(interval->high80 == Approx(900));
    FittedLaw const law = find_scaling_law("chinchilla-huber", "test");
    CHECK(extrapolations(law, 1e21, 1e9, 1e10).empty());
    auto const far = extrapolations(law, 1.2956022673438285e24, 1e9, 0);
    REQUIRE(far.size() == 1);
    CHECK(far[0].input == "flops");
    CHECK(far[0].factor == Approx(100).epsilon(1e-9));
}

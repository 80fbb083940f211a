// Experts that are divided over ranks, and queries of guesses.
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/serving/expert_exchange.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <random>
#include <vector>

using namespace sextant;

namespace {

ServingCase served(char const* model, char const* cluster, ServingPlan const& plan) {
    return {.model = find_model(model),
            .cluster = find_cluster(cluster, "test"),
            .plan = plan,
            .engine = find_engine("vllm", "test")};
}

IterationLoad decodes(double batch, double context) {
    return {.decodes = batch, .decode_context = batch * context, .samples = batch};
}

/// Of so many ranks, experts of the one with most touched, where every token draws its own: mean of `draws`.
double drawn(int experts, int top_k, int tokens, int ranks, std::mt19937& draw) {
    constexpr int draws = 400;
    std::vector<int> all(static_cast<std::size_t>(experts));
    double sum = 0;
    for (int i = 0; i < draws; ++i) {
        std::vector<char> touched(static_cast<std::size_t>(experts), 0);
        for (int t = 0; t < tokens; ++t) {
            std::vector<int> chosen;
            while (static_cast<int>(chosen.size()) < top_k) {
                int const e = std::uniform_int_distribution(0, experts - 1)(draw);
                if (std::find(chosen.begin(), chosen.end(), e) != chosen.end()) continue;
                chosen.push_back(e);
                touched[static_cast<std::size_t>(e)] = 1;
            }
        }
        auto const held = experts / ranks;
        std::int64_t most = 0;
        for (int rank = 0; rank < ranks; ++rank)
            most = std::max<std::int64_t>(
                most, std::count(touched.begin() + rank * held, touched.begin() + (rank + 1) * held, 1));
        sum += static_cast<double>(most);
    }
    return sum / draws;
}

}  // namespace

TEST_CASE("serving: of the ranks that hold experts the busiest has as many touched as where tokens draw them") {
    std::mt19937 draw(fixtures::seeded(7));
    for (int const experts : {128, 256})
        for (int const ranks : {2, 8, 32})
            for (int const tokens : {1, 4, 16, 64}) {
                CAPTURE(experts, ranks, tokens);
                double const all = touched_experts(experts, 8, tokens);
                double const busiest = busiest_touched_experts(experts, 8, tokens, ranks);
                CHECK(busiest == Approx(drawn(experts, 8, tokens, ranks, draw)).epsilon(0.1));
                CHECK(busiest >= all / ranks);
                CHECK(busiest <= experts / ranks);
            }
    CHECK(busiest_touched_experts(256, 8, 4, 1) == Approx(touched_experts(256, 8, 4)));
    CHECK(busiest_touched_experts(256, 8, 1e6, 8) == Approx(32));
}

TEST_CASE(
    "serving: experts in four bits are faster than in sixteen, or nearly as fast where one sequence touches few") {
    for (char const* const device : {"b200-sxm", "h100-sxm", "h200-sxm"})
        for (double const batch : {1.0, 4.0, 16.0, 64.0}) {
            auto const time = [&](char const* weights) {
                ServingCase const what = served("qwen3-30b-a3b", device, {.weights = weights});
                IterationModel const iteration(what);
                return iteration(decodes(batch, 1000)).total();
            };
            CAPTURE(device, batch);
            CHECK(time("int4-weights") < (batch < 4 ? 1.15 : 0.9) * time("bf16"));
        }
}

TEST_CASE("serving: tokens that go to one rank more often touch more of its experts, up to all that it holds") {
    auto const step = [](double imbalance, double tokens) {
        ServingPlan const plan{.ep = 8, .attention_dp = 8, .weights = "fp8", .expert_imbalance = imbalance};
        IterationLoad load = decodes(tokens, 100);
        load.elsewhere = 7 * tokens;
        return IterationModel(served("deepseek-v3", "h200-sxm", plan))(load).gemm;
    };
    CHECK(step(4, 1) > 1.2 * step(1, 1));
    CHECK(step(4, 1) < 4 * step(1, 1));
    CHECK(step(1.5, 64) < 1.1 * step(1, 64));  // all are touched already
}

TEST_CASE("serving: experts divided over ranks that all have every token end in a sum, not in two exchanges") {
    for (char const* model : {"kimi-k2", "qwen3-235b-a22b"})
        for (double const batch : {1.0, 16.0, 128.0}) {
            ServingCase what = served(model, "h200-sxm", {.tp = 8, .ep = 8, .weights = "fp8"});
            CHECK_FALSE(sends_to_experts(what.plan));
            Seconds const divided = IterationModel(what)(decodes(batch, 1000)).communication;
            what.plan.dispatcher = Dispatcher::all_to_all;
            CHECK(sends_to_experts(what.plan));
            Seconds const sent = IterationModel(what)(decodes(batch, 1000)).communication;
            what.plan.dispatcher.reset();
            CAPTURE(model, batch);
            if (what.model.moe->shared_intermediate > 0) {
                CHECK(sent > divided);  // the shared expert has the sum in any case
            } else {
                what.plan.ep = 1;  // each expert cut: as many sums of the same tokens
                CHECK(divided == IterationModel(what)(decodes(batch, 1000)).communication);
            }
        }
    CHECK(sends_to_experts({.ep = 8, .attention_dp = 8}));
    CHECK_FALSE(sends_to_experts({.tp = 8}));
}

TEST_CASE("serving: experts are read with the scales of their weights") {
    // One sequence reads little else: the time of its experts grows by a scale byte in 16 values of half a byte.
    auto const step = [](char const* stored) {
        ServingPlan plan{.weights = "fp4"};
        plan.stored = stored;
        ServingCase what = served("gpt-oss-120b", "b200-sxm", plan);
        what.engine.expert_compute_scale.value = 1e-6;
        what.engine.expert_stream_scale.value = 100;  // alone
        return IterationModel(what)(decodes(16, 100)).gemm;
    };
    CHECK(step("fp4") / step("mxfp4") == Approx((0.5 + 1.0 / 16) / (0.5 + 1.0 / 32)).epsilon(0.01));
    CHECK(step("fp4") == step(""));
}

TEST_CASE("serving: guesses take no less than the products of their queries, whose keys are read once") {
    ServingPlan const plan{.ep = 8, .attention_dp = 8, .weights = "fp8-block"};
    IterationModel const latent(served("deepseek-v3", "h200-sxm", plan));
    auto const attention = [](IterationModel const& model, double batch, double context, double guesses) {
        IterationLoad load = decodes(batch, context);
        load.guesses = guesses * batch;
        return model(load).decode.base();
    };
    // 128 heads over 576 and 512 values of one latent are bound by arithmetic: every guess costs another query.
    double const one = attention(latent, 64, 8192, 1);
    CHECK(attention(latent, 64, 8192, 3) == Approx(2 * one));
    CHECK(one > 1.3 * attention(latent, 64, 8192, 0));
    ServingCase const& what = latent.what();
    AcceleratorProfile const& device = what.cluster.accelerator;
    double const flops = 64 * 2 * 8192.0 * 128 * (2 * 512 + 64) * 2 * static_cast<double>(what.model.layer_count());
    double const rate = device.peak.at(Precision::bf16).value.base() * device.attention_forward_efficiency.value;
    CHECK(one == Approx(flops / rate * what.engine.decode_scale.value).epsilon(0.02));
    // Groups of four heads read for long.
    IterationModel const grouped(served("llama-3.1-8b", "h100-sxm", {}));
    CHECK(attention(grouped, 64, 8192, 1) == attention(grouped, 64, 8192, 0));
    CHECK(attention(grouped, 64, 8192, 64) > attention(grouped, 64, 8192, 0));
}

TEST_CASE("serving memory: an attention group has the logits of its own sequences, not of all groups'") {
    auto const activations = [](std::int64_t groups, std::int64_t sequences) {
        ServingPlan const plan{.ep = groups, .attention_dp = groups, .max_batch = sequences};
        return serving_memory(served("deepseek-v3", "h200-sxm", plan)).activations;
    };
    CHECK(activations(16, 16 * 256) == activations(16, 16 * 255 + 1));
    // 256 more sequences of each group, 129280 entries of four bytes.
    CHECK((activations(16, 16 * 512) - activations(16, 16 * 256)).base() == Approx(256.0 * 129'280 * 4));
    CHECK((activations(1, 512) - activations(1, 256)).base() == Approx(256.0 * 129'280 * 4));
}

TEST_CASE("serving memory: engines hold what expands latents twice, as they multiply decodes by it") {
    auto const weights = [](char const* engine, ServingPlan const& plan) {
        ServingCase what = served("deepseek-v3", "h200-sxm", plan);
        what.engine = find_engine(engine, "test");
        return serving_memory(what).weights.base();
    };
    // 61 layers of 128 heads, each with 128 keys and 128 values of 512.
    double const expanding = 61.0 * 128 * 256 * 512;
    ServingPlan const fp8{.tp = 8, .weights = "fp8-block"};
    double const once = weights("tensorrt-llm", fp8);
    CHECK(weights("vllm", fp8) - once == Approx(2 * expanding / 8));
    CHECK(weights("sglang", fp8) - once == Approx(expanding / 8));
    ServingPlan const wide{.tp = 8};  // views
    CHECK(weights("vllm", wide) == weights("tensorrt-llm", wide));
    CHECK(weights("sglang", wide) - weights("vllm", wide) == Approx(2 * expanding / 8));
}

TEST_CASE("serving memory: vLLM leaves room for keys and values of earlier chunks, expanded") {
    auto const activations = [](char const* engine, std::int64_t tp) {
        ServingCase what = served("deepseek-v3", "h200-sxm", {.tp = tp, .ep = 16, .attention_dp = 16 / tp});
        what.engine = find_engine(engine, "test");
        return serving_memory(what).activations.base();
    };
    // Experts are wider but for that: 8 of 2048 times 3 and the hidden state. Attention: queries, keys and values of
    // 128 heads, and 65536 tokens of as many keys and values of 128.
    double const hidden = 8192.0 * 7168, attention = 8192 * 3.0 * 128 * 192 + 65536 * 128 * 256.0;
    double const experts = 8192 * 8 * (3.0 * 2048 + 7168), logits = 16.0 * 129'280;
    CHECK(activations("sglang", 1) == Approx(2 * (2 * hidden + experts) + 4 * logits));
    CHECK(activations("vllm", 1) == Approx(2 * (2 * hidden + attention) + 4 * logits));
    CHECK(activations("vllm", 8) < 0.25 * activations("vllm", 1));
}

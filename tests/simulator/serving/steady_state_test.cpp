// The steady state in closed form against the same requests, event by event.
#include "cost_models/serving/steady_state.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "simulator/serving/serving_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/serving/conserved.hpp"
#include "tests/simulator/serving/steady_runs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>

using namespace sextant;
using fixtures::cases;
using fixtures::in_loop;
using fixtures::model_of;
using fixtures::simulated;

TEST_CASE("serving: the steady state has the times of a simulation, up to 0.9 of the capacity, 0.8 in pipelines",
          "[long]") {
    std::mt19937 draw(fixtures::seeded(11));
    auto const among = [&](auto const& list) { return list[draw() % list.size()]; };
    auto const power = [&](double low, double high) {
        return std::round(std::exp2(std::uniform_real_distribution(low, high)(draw)));
    };
    constexpr int loads = cases(40, 12);
    int close = 0;
    for (int i = 0; i < loads; ++i) {
        ServingCase what;
        what.model = find_model("llama-3.1-8b");
        what.cluster = find_cluster(among(std::vector{"h100-sxm", "l40s", "a100-sxm-80gb"}), "test");
        what.engine = find_engine(among(std::vector{"vllm", "vllm-v0", "sglang", "tensorrt-llm"}), "test");
        what.plan.pp = among(std::vector<std::int64_t>{1, 1, 1, 2});
        what.plan.max_batch = among(std::vector<std::int64_t>{16, 64, 256});
        what.plan.max_batched_tokens = among(std::vector<std::int64_t>{2048, 8192});
        RequestShape const request{.prompt = power(6, 12), .output = power(4, 9)};
        IterationModel const model(what);
        double const share = std::min(among(std::vector{0.3, 0.6, 0.8, 0.9}), what.plan.pp > 1 ? 0.8 : 0.9);
        double const rate = share * serving_capacity(model, request);
        ServingEstimate const e = open_loop(model, request, rate);
        ServingOutcome const out = simulated(model, request, rate, static_cast<std::uint64_t>(i + 1));
        double const ttft = out.ttft.mean / e.ttft.total();
        double const tpot = out.tpot.mean / e.tpot;
        CAPTURE(i, what.cluster.name, what.engine.name, what.plan.pp, what.plan.max_batch);
        CAPTURE(what.plan.max_batched_tokens, request.prompt, request.output, share, ttft, tpot);
        CHECK(ttft > 0.6);
        CHECK(ttft < 1.6);
        CHECK(tpot > 0.7);
        CHECK(tpot < 1.4);
        if (std::abs(std::log(ttft)) < std::log(1.25) && std::abs(std::log(tpot)) < std::log(1.25)) ++close;
    }
    CAPTURE(close);
    CHECK(close >= 0.9 * loads);
}

TEST_CASE("serving: a prompt alone that is cut takes as long in closed form as chunk by chunk") {
    std::mt19937 draw(fixtures::seeded(5));
    for (char const* engine : {"vllm", "sglang", "tensorrt-llm"})
        for (std::int64_t const pp : {1, 2})
            for (double const prompt : {700.0, 4096.0, 9000.0, 30001.0}) {
                ServingCase what;
                what.model = find_model("llama-3.1-8b");
                what.cluster = find_cluster("h100-sxm", "test");
                what.engine = find_engine(engine, "test");
                what.plan.pp = pp;
                what.plan.max_batched_tokens = std::int64_t{512} << (draw() % 4);
                IterationModel const model(what);
                RequestShape const request{.prompt = prompt, .output = 3};
                CAPTURE(engine, pp, prompt, what.plan.max_batched_tokens);
                ServingOutcome const out = simulated(model, request, 1e-3, 1, 20);
                CHECK(out.ttft.p50.base() == Approx(closed_loop(model, request, 1).ttft.total().base()).epsilon(1e-6));
            }
}

TEST_CASE("serving: of a pipeline every batch has its turn, however busy the others keep the stages") {
    for (char const* engine : {"vllm", "vllm-v0", "sglang", "tensorrt-llm"})
        for (std::int64_t const pp : {2, 4, 8}) {
            IterationModel const model =
                model_of("qwen3-30b-a3b", "h100-sxm", engine, {.pp = pp, .max_batched_tokens = 2048});
            // As many requests as batches: one that came would wait for another to end.
            ServingOutcome const out = in_loop(model, {.prompt = 8000, .output = 400}, static_cast<double>(pp));
            CAPTURE(engine, pp, out.ttft.p50.base());
            CHECK(out.ttft.largest.base() < 3 * out.ttft.p50.base());
        }
}

TEST_CASE("serving: a prompt at random waits for the first batch of a pipeline that is free, as in a simulation") {
    struct Load {
        char const* engine;
        ServingPlan plan;
        RequestShape request;
    };
    for (std::int64_t const pp : {2, 4})
        for (Load load :
             {Load{"vllm", {}, {.prompt = 1000, .output = 200}},
              Load{"lmdeploy", {.max_batch = 128}, {.prompt = 4700, .output = 40}},
              Load{"tensorrt-llm", {.max_batch = 512, .max_batched_tokens = 2048}, {.prompt = 200, .output = 200}}})
            for (double const share : {0.1, 0.35, 0.5}) {
                load.plan.pp = pp;
                IterationModel const model = model_of("llama-3.1-8b", "h100-sxm", load.engine, load.plan);
                double const rate = share * serving_capacity(model, load.request);
                ServingOutcome const out = simulated(model, load.request, rate, 5, cases(30000, 10000));
                CAPTURE(pp, load.engine, share);
                CHECK(out.ttft.mean / open_loop(model, load.request, rate).ttft.total() == Approx(1).epsilon(0.07));
            }
}

TEST_CASE("serving: a prompt of a loop waits for the first batch of a pipeline that is free, as in a simulation") {
    for (std::int64_t const pp : {2, 4})
        for (char const* engine : {"vllm", "sglang", "tensorrt-llm"})
            for (double const concurrency : {16.0, 32.0}) {
                IterationModel const model = model_of("llama-3.1-8b", "h100-sxm", engine, {.pp = pp});
                RequestShape const request{.prompt = 800, .output = 200};
                CAPTURE(pp, engine, concurrency);
                CHECK(in_loop(model, request, concurrency).ttft.mean /
                          closed_loop(model, request, concurrency).ttft.total() ==
                      Approx(1).epsilon(0.12));
            }
}

TEST_CASE("serving: pipelines whose prompts have to be cut have the steps of a simulation in a loop") {
    for (std::int64_t const pp : {2, 4})
        for (double const prompt : {2200.0, 3500.0})
            for (double const output : {64.0, 300.0})
                for (double const concurrency : {8.0, 32.0}) {
                    IterationModel const model = model_of("llama-3.1-8b", "a100-sxm-80gb", "vllm",
                                                          {.pp = pp, .max_batch = 64, .max_batched_tokens = 2048});
                    RequestShape const request{.prompt = prompt, .output = output};
                    ServingEstimate const e = closed_loop(model, request, concurrency);
                    ServingOutcome const out = in_loop(model, request, concurrency);
                    CAPTURE(pp, prompt, output, concurrency, out.ttft.mean / e.ttft.total());
                    CHECK(out.tpot.mean / e.tpot == Approx(1).epsilon(0.15));
                    CHECK(out.ttft.mean / e.ttft.total() == Approx(1).epsilon(0.25));
                }
}

TEST_CASE("serving: attention data-parallel groups have the times of a simulation, alone, in a loop and at random") {
    std::mt19937 draw(fixtures::seeded(23));
    auto const among = [&](auto const& list) { return list[draw() % list.size()]; };
    constexpr int deployments = cases(14, 5);
    int close = 0;
    int compared = 0;
    auto const compare = [&](ServingEstimate const& e, ServingOutcome const& out) {
        double const ttft = out.ttft.mean / e.ttft.total();
        double const tpot = out.tpot.mean / e.tpot;
        CAPTURE(ttft, tpot);
        CHECK(std::abs(std::log(ttft)) < std::log(1.5));
        CHECK(std::abs(std::log(tpot)) < std::log(1.5));
        ++compared;
        if (std::abs(std::log(ttft)) < std::log(1.2) && std::abs(std::log(tpot)) < std::log(1.2)) ++close;
    };
    for (int i = 0; i < deployments; ++i) {
        ServingCase what;
        what.model = find_model(among(std::vector{"deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b", "mixtral-8x7b"}));
        what.cluster = find_cluster("h200-sxm", "test");
        what.engine = find_engine(among(std::vector{"vllm", "sglang", "tensorrt-llm"}), "test");
        what.plan.weights = "fp8";
        what.plan.attention_dp = among(std::vector<std::int64_t>{2, 4, 8});
        if (what.engine.name == "tensorrt-llm") what.plan.attention_dp = 8;  // groups of single ranks
        what.plan.tp = 8 / what.plan.attention_dp;
        what.plan.ep = 8;
        RequestShape const request{.prompt = among(std::vector{300.0, 1500.0, 4000.0}),
                                   .output = among(std::vector{30.0, 150.0, 500.0})};
        IterationModel const model(what);
        CAPTURE(i, what.model.name, what.engine.name, what.plan.attention_dp, request.prompt, request.output);
        // One request alone is the same request.
        ServingOutcome const one = simulated(model, request, 1e-4, 1, 12);
        ServingEstimate const alone = closed_loop(model, request, 1);
        CHECK(one.ttft.p50.base() == Approx(alone.ttft.total().base()).epsilon(1e-3));
        CHECK(one.tpot.p50.base() == Approx(alone.tpot.base()).epsilon(0.02));
        for (double const share : {0.3, 0.6}) {
            double const rate = share * serving_capacity(model, request);
            CAPTURE(share);
            compare(open_loop(model, request, rate), simulated(model, request, rate, 3, 6000));
        }
        for (double const concurrency : {4.0, 16.0, 64.0}) {
            CAPTURE(concurrency);
            compare(closed_loop(model, request, concurrency), in_loop(model, request, concurrency));
        }
    }
    CAPTURE(close, compared);
    CHECK(close >= 0.9 * compared);
}

TEST_CASE("serving: an accelerator is busy for the share of the time that a simulation has, alone, in a loop and idle",
          "[long]") {
    for (std::int64_t const pp : {1, 2, 4}) {
        ServingCase what;
        what.model = find_model("llama-3.1-8b");
        what.cluster = find_cluster("h100-sxm", "test");
        what.engine = find_engine("vllm", "test");
        what.plan.pp = pp;
        IterationModel const model(what);
        RequestShape const request{.prompt = 1000, .output = 100};
        double const alone = 1 / (closed_loop(model, request, 1).latency / units::s);
        double last = 0;
        for (double const share : {0.02, 0.1, 0.5, 2.0, 8.0}) {
            ServingEstimate const e = open_loop(model, request, share * alone);
            ServingOutcome const out = simulated(model, request, share * alone, 3);
            CAPTURE(pp, share);
            CHECK(e.busy == Approx(std::min(1.0, out.window.counters.busy / out.window.at)).epsilon(0.1).margin(0.1));
            CHECK(e.busy >= last);
            last = e.busy;
        }
        CHECK(last > 0.8);
        ServingOutcome const loop = in_loop(model, request, 64);
        CHECK(closed_loop(model, request, 64).busy ==
              Approx(std::min(1.0, loop.window.counters.busy / loop.window.at)).epsilon(0.1));
        CHECK(closed_loop(model, request, 1).busy == Approx(1 / static_cast<double>(pp)).epsilon(0.1));
        CHECK(static_batch(model, request, 1).busy == Approx(1 / static_cast<double>(pp)).epsilon(0.1));
    }
}

TEST_CASE("serving: a batch that is often full makes requests wait for places, as simulated") {
    ServingCase what;
    what.model = find_model("llama-3.1-8b");
    what.cluster = find_cluster("h100-sxm", "test");
    what.engine = find_engine(GENERATE("vllm", "sglang"), "test");
    what.plan.max_batch = 16;
    IterationModel const model(what);
    RequestShape const request{.prompt = 123, .output = 392};
    double const rate = 0.85 * serving_capacity(model, request);
    ServingEstimate const e = open_loop(model, request, rate);
    ServingOutcome const out = simulated(model, request, rate, 5);
    CHECK(out.ttft.mean / e.ttft.total() == Approx(1).epsilon(0.25));
    CHECK(e.ttft.queue > 0.75 * e.ttft.total());
}

TEST_CASE("serving: few places have the capacity of a simulated loop, and at random its times") {
    for (char const* engine : {"vllm", "sglang"})
        for (std::int64_t const places : {1, 2, 4, 8})
            for (RequestShape const& request :
                 {RequestShape{.prompt = 2000, .output = 100}, RequestShape{.prompt = 12000, .output = 30},
                  RequestShape{.prompt = 1000, .output = 10}}) {
                IterationModel const model = model_of("llama-3.1-8b", "h100-sxm", engine, {.max_batch = places});
                CAPTURE(engine, places, request.prompt);
                ServingOutcome const loop = in_loop(model, request, 4 * static_cast<double>(places));
                double const served = static_cast<double>(loop.window.finished) / (loop.window.at / units::s);
                CHECK(serving_capacity(model, request) == Approx(served).epsilon(0.06));
                ServingEstimate const e = open_loop(model, request, 0.6 * served);
                ServingOutcome const out = simulated(model, request, 0.6 * served, 3, cases(20000, 6000));
                CHECK(out.tpot.mean / e.tpot == Approx(1).epsilon(0.12));
                CHECK(out.ttft.mean / e.ttft.total() == Approx(1).epsilon(0.15));
            }
}

TEST_CASE("serving: answers of one token are served as fast as places and iterations take prompts") {
    for (std::int64_t const pp : {1, 2})
        for (std::int64_t const places : {1, 4, 64}) {
            IterationModel const model = model_of("llama-3.1-8b", "h100-sxm", "vllm", {.pp = pp, .max_batch = places});
            RequestShape const request{.prompt = 1000, .output = 1};
            ServingSetup setup;
            setup.limits = replica_limits(model.what(), model.memory());
            setup.concurrency = 4 * places;
            SyntheticSource source({.process = ArrivalProcess::closed,
                                    .prompt = length("1000"),
                                    .output = length("1"),
                                    .requests = 1500,
                                    .longest = 131072});
            ServingOutcome const loop = simulate_serving(setup, ModelledService(model), source);
            CAPTURE(pp, places);
            CHECK(serving_capacity(model, request) ==
                  Approx(static_cast<double>(loop.window.finished) / (loop.window.at / units::s)).epsilon(0.03));
        }
}

TEST_CASE("serving: engines that plan ahead give short answers before the prompts that came beside theirs") {
    for (char const* engine : {"vllm", "sglang", "tensorrt-llm"})
        for (double const output : {2.0, 3.0, 5.0, 10.0})
            for (double const share : {0.1, 0.3, 0.6}) {
                RequestShape const request{.prompt = 1024, .output = output};
                IterationModel const model = model_of("llama-3.1-8b", "h100-sxm", engine, {});
                double const rate = share * serving_capacity(model, request);
                double const ratio =
                    open_loop(model, request, rate).tpot / simulated(model, request, rate, 1, 8000).tpot.mean;
                CAPTURE(engine, output, share, ratio);
                double const near = output <= 2 && share > 0.3 ? 1.5 : 1.2;
                CHECK(ratio > 1 / near);
                CHECK(ratio < near);
            }
}

TEST_CASE("serving: loops with long prompts wait for each other's, as simulated, whichever goes first") {
    struct Loop {
        char const* model;
        char const* cluster;
        char const* engine;
        ServingPlan plan;
        RequestShape request;
        double concurrency;
    };
    std::vector<Loop> const loops{
        {"gemma-3-12b", "a100-sxm-80gb", "vllm", {.tp = 2, .max_batched_tokens = 1024}, {11696, 137}, 10},
        {"llama-3.1-8b", "h100-sxm", "vllm", {}, {16000, 20}, 8},
        // Prompts that go first leave the token limit of a step to the decodes.
        {"qwen2.5-7b", "h100-sxm", "sglang", {.max_batch = 64, .max_batched_tokens = 2048}, {5000, 15}, 61},
        // No step of a pipeline overtakes a prompt.
        {"llama-3.1-70b",
         "mi300x",
         "lmdeploy",
         {.tp = 2, .pp = 4, .weights = "int8", .max_batched_tokens = 16384},
         {10878, 828},
         2},
        {"llama-3.1-70b",
         "mi300x",
         "lmdeploy",
         {.tp = 2, .pp = 4, .weights = "int8", .max_batched_tokens = 16384},
         {10878, 828},
         5},
        {"deepseek-v2-lite", "h100-sxm", "vllm", {.pp = 2, .max_batch = 512}, {15542, 15}, 2}};
    for (Loop const& loop : loops) {
        IterationModel const model = model_of(loop.model, loop.cluster, loop.engine, loop.plan);
        ServingEstimate const e = closed_loop(model, loop.request, loop.concurrency);
        ServingOutcome const out = in_loop(model, loop.request, loop.concurrency);
        CAPTURE(loop.model, loop.concurrency, out.tpot.mean / e.tpot, out.ttft.mean / e.ttft.total());
        double const served = static_cast<double>(out.window.finished) / (out.window.at / units::s);
        CHECK(e.requests_per_s == Approx(served).epsilon(0.15));
        CHECK(out.tpot.mean / e.tpot == Approx(1).epsilon(0.2));
        CHECK(out.ttft.mean / e.ttft.total() == Approx(1).epsilon(0.3));
    }
}

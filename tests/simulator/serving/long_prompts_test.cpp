// Prompts that take several iterations, in closed form against the same requests, event by event.
#include "tests/catch.hpp"
#include "tests/simulator/serving/steady_runs.hpp"

#include <algorithm>

using namespace sextant;
using fixtures::in_loop;
using fixtures::model_of;
using fixtures::simulated;

TEST_CASE("serving: a loop that prompts limit has one steady state, later with every request more, as simulated") {
    IterationModel const model =
        model_of("gpt-oss-120b", "b200-sxm", "vllm", {.tp = 2, .weights = "fp4", .max_batch = 512});
    RequestShape const request{.prompt = 12000, .output = 200};
    ServingEstimate last{};
    for (double const concurrency : {120.0, 134.0, 140.0, 146.0, 160.0}) {
        ServingEstimate const e = closed_loop(model, request, concurrency);
        CAPTURE(concurrency, e.tpot.base(), last.tpot.base(), e.ttft.total().base());
        CHECK(e.tpot >= 0.99 * last.tpot);
        CHECK(e.ttft.total() > last.ttft.total());
        CHECK(in_loop(model, request, concurrency).tpot.mean / e.tpot == Approx(1).epsilon(0.1));
        last = e;
    }
}

TEST_CASE("serving: groups whose prompts are cut wait for whichever has a full chunk, as simulated") {
    IterationModel const model = model_of("deepseek-v3", "h200-sxm", "vllm",
                                          {.ep = 8, .attention_dp = 8, .weights = "fp8-block", .max_batch = 1024});
    for (double const prompt : {8000.0, 8300.0, 12000.0}) {
        RequestShape const request{.prompt = prompt, .output = 300};
        double const rate = std::min(1.1, 0.6 * serving_capacity(model, request));
        ServingEstimate const e = open_loop(model, request, rate);
        ServingOutcome const out = simulated(model, request, rate, 3, 4000);
        CAPTURE(prompt, out.ttft.mean / e.ttft.total(), out.tpot.mean / e.tpot);
        CHECK(out.ttft.mean / e.ttft.total() == Approx(1).epsilon(0.45));
        CHECK(out.tpot.mean / e.tpot == Approx(1).epsilon(0.35));
    }
}

#include "cost_models/serving/memory_share.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "tests/catch.hpp"

#include <cmath>

using namespace sextant;

namespace {

/// With the engine's own share of memory.
ServingCase served_by(char const* engine, char const* model, char const* cluster, ServingPlan plan = {}) {
    ServingCase what{.model = find_model(model),
                     .cluster = find_cluster(cluster, "test"),
                     .plan = std::move(plan),
                     .engine = find_engine(engine, "test")};
    what.plan.memory_utilisation = default_memory_share(what.engine, what.cluster.accelerator, what.plan);
    return what;
}

double sglang_share(char const* cluster, ServingPlan const& plan) {
    return served_by("sglang", "llama-3.1-8b", cluster, plan).plan.memory_utilisation;
}

}  // namespace

TEST_CASE("memory share: each engine's own is the share that it documents, of what it documents") {
    struct Engine {
        char const* name;
        MemoryShare of;
        double share;
    };
    for (Engine const& e : {Engine{"vllm", MemoryShare::device, 0.9}, Engine{"vllm-v0", MemoryShare::device, 0.9},
                            Engine{"tensorrt-llm", MemoryShare::left_by_activations, 0.9},
                            Engine{"lmdeploy", MemoryShare::left_by_weights, 0.8}}) {
        CAPTURE(e.name);
        ServingCase const what = served_by(e.name, "llama-3.1-8b", "h100-sxm");
        CHECK(what.engine.memory_share == e.of);
        CHECK(what.plan.memory_utilisation == e.share);
    }
    CHECK(find_engine("sglang", "test").memory_share == MemoryShare::weights_and_cache);
}

TEST_CASE("memory share: SGLang's is what its reserve leaves of the device") {
    // H100, 81,559 MiB: 512 + 1.5 x 8,192 + 2 x 256 + 128 = 13,440 reserved.
    CHECK(sglang_share("h100-sxm", {}) == Approx(0.835).margin(1e-9));
    // Of eight ranks: 512 + 12,288 + 2 x 512 + 1,024.
    CHECK(sglang_share("h100-sxm", {.tp = 8, .max_batch = 1024}) == Approx(0.818).margin(1e-9));
    CHECK(sglang_share("h100-sxm", {.max_batched_tokens = 2048}) == Approx(0.874).margin(1e-9));  // 10 GiB at least
    // L40S, 46,068 MiB, by itself 4,096 tokens and graphs of 32: 512 + 6,144 + 64 + 128.
    CHECK(sglang_share("l40s", {}) == Approx(0.851).margin(1e-3));
    CHECK(sglang_share("l40s", {.max_batched_tokens = 16384}) == sglang_share("l40s", {}));
    // Four attention groups of 64 sequences: 3 x 64 x 4 more, of four ranks.
    CHECK(sglang_share("h200-sxm", {.attention_dp = 4, .max_batch = 256}) ==
          Approx((143771 - (512 + 12288 + 128 + 512 + 768)) / 143771.0).margin(5e-4));
    ServingPlan const groups{.attention_dp = 8, .max_batch = 8 * 512};  // of more than 300: 4.5 for each
    CHECK(sglang_share("h200-sxm", groups) ==
          Approx((143771 - (512 + 12288 + 1024 + 1024 + 18432)) / 143771.0).margin(5e-4));
    EngineProfile stated = find_engine("sglang:memory_utilisation=0.7", "test");
    CHECK(default_memory_share(stated, find_cluster("h100-sxm", "test").accelerator, {}) == 0.7);
}

TEST_CASE("memory share: the cache is the share of what the engine counts, and the rest holds the activations") {
    for (char const* const engine : {"vllm", "sglang", "tensorrt-llm", "lmdeploy"})
        for (double const share : {0.3, 0.6, 0.8, 0.95, 1.0}) {
            CAPTURE(engine, share);
            ServingCase what = served_by(engine, "llama-3.1-8b", "h100-sxm", {.max_batched_tokens = 16384});
            what.plan.memory_utilisation = share;
            ServingMemory const m = serving_memory(what);
            double wanted = 0;
            switch (what.engine.memory_share) {
                case MemoryShare::device: wanted = (share * m.capacity - m.fixed()).base(); break;
                case MemoryShare::weights_and_cache: wanted = (share * m.capacity - m.weights).base(); break;
                case MemoryShare::left_by_weights: wanted = share * (m.capacity - m.weights - m.overhead).base(); break;
                case MemoryShare::left_by_activations: wanted = share * (m.capacity - m.fixed()).base(); break;
            }
            double const most = (m.capacity - m.fixed()).base();
            bool const over = what.engine.memory_share == MemoryShare::device ? false : wanted > most;
            CHECK(m.cache.base() == Approx(over ? most : wanted).epsilon(1e-9));
            CHECK((m.fixed() + m.cache).base() == Approx(m.usable.base()).epsilon(1e-9));
        }
}

TEST_CASE("memory share: weights beyond the device leave no cache, whatever the engine counts") {
    for (char const* const engine : {"vllm", "sglang", "tensorrt-llm", "lmdeploy"}) {
        CAPTURE(engine);
        ServingMemory const m = serving_memory(served_by(engine, "llama-3.1-70b", "h100-sxm"));
        CHECK(m.cache < Bytes{});
        CHECK_FALSE(m.fits());
        CHECK(m.usable <= m.capacity);
    }
}

TEST_CASE("memory share: a prefix that all requests have is in each cache once, and room is left for more of them") {
    ServingCase what = served_by("vllm", "llama-3.1-8b", "h100-sxm", {.attention_dp = 2, .max_batch = 4096});
    ServingMemory const m = serving_memory(what);
    double const tokens = 5000, shared = 4001;  // 4,000 in whole blocks of 16
    CHECK(largest_batch(what, m, tokens) == 2 * std::floor(m.cache_tokens / 5008));
    CHECK(largest_batch(what, m, tokens, shared) == 2 * std::floor((m.cache_tokens - 4000) / (5008 - 4000)));
    CHECK(largest_batch(what, m, tokens, 15) == largest_batch(what, m, tokens));
    for (double more = 0; more + 97 < tokens; more += 97) {
        CAPTURE(more);
        CHECK(largest_batch(what, m, tokens, more + 97) >= largest_batch(what, m, tokens, more));
    }
    IterationModel const model(what);
    RequestShape const own{.prompt = 4500, .output = 500, .cached = 4000};
    RequestShape const common{.prompt = 4500, .output = 500, .cached = 4000, .shared = 4000};
    CHECK(serving_capacity(model, common) > serving_capacity(model, own));
    ServingEstimate const apart = closed_loop(model, own, 32);
    ServingEstimate const together = closed_loop(model, common, 32);
    CHECK(together.tpot == apart.tpot);  // attention reads the prefix for each
    double const all = m.cache_tokens * 2;
    double const saved = (together.decodes + together.prompts - 2) * 4000;
    CHECK(apart.cache_share - together.cache_share == Approx(saved / all));
}

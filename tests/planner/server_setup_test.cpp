#include "planner/validation/server_setup.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/validation/served_loop.hpp"
#include "planner/validation/serving_case.hpp"
#include "tests/catch.hpp"

#include <string>

using namespace sextant;

namespace {

ServingRow row_of(std::string const& engine, std::string const& version, std::string const& notes) {
    ServingRow row;
    row.source_id = "inferencex-aic-agg";
    row.model = "meta-llama/Llama-3.1-8B-Instruct";
    row.gpu = "h100_sxm";
    row.num_gpus = 1;
    row.tp = 1;
    row.engine = engine;
    row.engine_version = version;
    row.notes = notes;
    row.input_len = 1024;
    row.output_len = 256;
    row.concurrency = 32;
    return row;
}

EngineProfile engine_of(char const* name) { return find_engine(name, "test"); }

AcceleratorProfile const& h100() { return *known_accelerator("h100-sxm"); }

std::string const generated = "dump Llama-3.1-8B-Instruct.csv; aic_batch_size_per_rank 32";
std::string const scripted = "dump 2026-04-27; aic_batch_size_per_rank 32";

}  // namespace

TEST_CASE("who started a server is told from the notes, and versions are read to the third number") {
    CHECK(benchmark_of(row_of("vllm", "", generated)) == Benchmark::aiconfigurator);
    CHECK(benchmark_of(row_of("vllm", "", scripted)) == Benchmark::inferencex);
    CHECK(benchmark_of(row_of("vllm", "", "")) == Benchmark::unknown);
    CHECK(row_of("sglang", "0.5.6.post2", "").patch_version() == 6);
    CHECK(row_of("sglang", "0.5.6.post2", "").minor_version() == 5);
    CHECK_FALSE(row_of("sglang", "0.5", "").patch_version());
    CHECK_FALSE(row_of("sglang", "", "").minor_version());
}

TEST_CASE("SGLang as AIConfigurator starts it mixes prompts with decodes since 0.5.3, up to a prompt and 1500 tokens") {
    ServerSetup const late =
        server_setup(row_of("sglang", "0.5.6.post2", generated), engine_of("sglang"), h100(), 1024, 32);
    CHECK(late.prompts == PromptOrder::mixed);
    CHECK(late.max_batched_tokens == 2524);
    CHECK(late.cut == PromptCut::whole);
    ServerSetup const early =
        server_setup(row_of("sglang", "0.5.1.post1", generated), engine_of("sglang"), h100(), 1024, 32);
    CHECK_FALSE(early.prompts);
    CHECK(early.max_batched_tokens == 16384);
    CHECK(server_setup(row_of("sglang", "0.5.9", scripted), engine_of("sglang"), h100(), 1024, 32).max_batched_tokens ==
          32768);
}

TEST_CASE("TensorRT-LLM leaves prompts whole whoever starts it, vLLM cuts them") {
    for (std::string const& notes : {generated, scripted, std::string()}) {
        CHECK(server_setup(row_of("trtllm", "1.0", notes), engine_of("tensorrt-llm"), h100(), 1024, 32).cut ==
              PromptCut::whole);
        CHECK(server_setup(row_of("vllm", "0.12.0", notes), engine_of("vllm"), h100(), 1024, 32).cut ==
              PromptCut::chunks);
    }
    CHECK(server_setup(row_of("trtllm", "1.0", generated), engine_of("tensorrt-llm"), h100(), 1024, 32)
              .max_batched_tokens == 1088);
    CHECK(server_setup(row_of("trtllm", "1.0", scripted), engine_of("tensorrt-llm"), h100(), 1024, 32)
              .max_batched_tokens == 1152);
    CHECK(server_setup(row_of("trtllm", "1.0", ""), engine_of("tensorrt-llm"), h100(), 1024, 32).max_batched_tokens ==
          8192);
}

TEST_CASE("a row's order of prompts replaces its engine's, and a case says so in its key") {
    ServedCase const late = served_case(row_of("sglang", "0.5.6", generated), nullptr);
    ServedCase const early = served_case(row_of("sglang", "0.5.1", generated), nullptr);
    CHECK(late.what.engine.prompts == PromptOrder::mixed);
    CHECK(early.what.engine.prompts == PromptOrder::first);
    CHECK(late.key != early.key);
}

TEST_CASE("whether prompts are cut matters where an iteration holds one and a half, and not for a request alone") {
    ServedCase c = served_case(row_of("vllm", "0.12.0", ""), nullptr);
    c.what.plan.max_batched_tokens = 1600;
    IterationModel const model(c.what);
    auto const ttft = [&](PromptCut cut, double concurrency) {
        ServingEstimate const e = served_loop(model, {.concurrency = concurrency, .request = c.request, .cut = cut});
        CHECK(e.requests_per_s * e.latency.base() == Approx(concurrency));
        return e.ttft.total();
    };
    CHECK(ttft(PromptCut::whole, 1) == ttft(PromptCut::chunks, 1));
    CHECK(ttft(PromptCut::whole, 32) != ttft(PromptCut::chunks, 32));
}

TEST_CASE("an engine's own limits are those of its device") {
    auto const setup = [](char const* engine, char const* device) {
        return default_setup(engine_of(engine), *known_accelerator(device));
    };
    for (char const* device : {"h100-sxm", "h200-sxm", "mi300x"}) {
        CHECK(setup("vllm", device).max_batched_tokens == 8192);
        CHECK(setup("vllm", device).group_batch == 1024);
    }
    for (char const* device : {"a100-sxm-80gb", "l40s", "rtx-4090"}) {
        CHECK(setup("vllm", device).max_batched_tokens == 2048);
        CHECK(setup("vllm", device).group_batch == 256);
    }
    CHECK(setup("vllm-v0", "h100-sxm").group_batch == 256);
    CHECK_FALSE(setup("tensorrt-llm", "l40s").group_batch);
    CHECK(setup("sglang", "rtx-4090").max_batched_tokens == 2048);
    CHECK(setup("sglang", "l40s").max_batched_tokens == 4096);
    CHECK(setup("sglang", "h100-sxm").max_batched_tokens == 8192);
    CHECK(setup("sglang", "b200-sxm").max_batched_tokens == 16384);
}

#include "cost_models/serving/serving_memory.hpp"
#include "planner/validation/serving_case.hpp"
#include "planner/validation/serving_row.hpp"
#include "tests/catch.hpp"
#include "tests/planner/serving_cells.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace sextant;

TEST_CASE("vLLM before 0.8 on AMD has AMD's profiles in the source that they are of, and before 0.6") {
    auto const engine = [](char const* gpu, char const* source, char const* version) {
        return case_of({{"gpu", gpu}, {"source_id", source}, {"engine_version", version}, {"notes", "static batch"}})
            .what.engine.name;
    };
    CHECK(engine("AMD MI300X GPU", "argonne-all", "") == "vllm-v0-rocm");
    CHECK(engine("AMD MI250 GPU", "argonne-all", "") == "vllm-v0-rocm-cdna2");
    CHECK(engine("MI300X", "test", "0.5.4") == "vllm-v0-rocm");
    CHECK(engine("MI300X", "test", "0.6.3") == "vllm-v0");
    CHECK(engine("MI325X", "test", "0.7") == "vllm-v0");
    CHECK(engine("MI300X", "test", "0.8.2") == "vllm");
    CHECK(assumes(case_of({{"gpu", "MI300X"}, {"engine_version", "0.6.3"}}).assumptions, "as on other devices"));
}

TEST_CASE("one batch is a static batch by its notes, not by the word static, and so are tables of old TensorRT-LLM") {
    auto const load = [](char const* notes, char const* engine = "vLLM", char const* version = "") {
        return case_of({{"notes", notes}, {"engine", engine}, {"engine_version", version}}).load;
    };
    for (char const* notes : {"static batch", "Static single batch; x", "static inference benchmark", "static-batch"})
        CHECK(load(notes) == ServedLoad::static_batch);
    for (char const* notes : {"static KV cache", "static fp8 scales", "ecstatic", "no static batching", ""})
        CHECK(load(notes) == ServedLoad::closed_loop);
    for (char const* version : {"0.5", "0.7a", "0.11.0"})
        CHECK(load("", "TensorRT-LLM", version) == ServedLoad::static_batch);
    CHECK(load("concurrency 16", "TensorRT-LLM", "0.11.0") == ServedLoad::closed_loop);
    CHECK(load("", "TensorRT-LLM", "0.12.0") == ServedLoad::closed_loop);
    CHECK(load("", "TensorRT-LLM", "0.20.0") == ServedLoad::closed_loop);
}

TEST_CASE("a version counts however it is written, also behind the engine's name") {
    for (auto const& [engine, version] : std::vector<std::pair<char const*, char const*>>{{"vLLM", "0.6.0"},
                                                                                          {"vLLM", "v0.6.0"},
                                                                                          {"vLLM 0.6.0", ""},
                                                                                          {"vllm==0.6.0", ""},
                                                                                          {"vllm v0.6.0", ""},
                                                                                          {"vLLM (v0.6.0)", ""},
                                                                                          {"vLLM", "vLLM 0.6.0"},
                                                                                          {"vLLM 0.9", "0.6.0"}}) {
        CAPTURE(engine, version);
        auto const table = table_of({with(usual_cells, {{"engine", engine}, {"engine_version", version}})});
        ServingRow const row = serving_row(RowCells(table, table.records.front()));
        CHECK(row.engine_version == "0.6.0");
        CHECK((row.engine == "vLLM" || row.engine == "vllm"));
        CHECK(served_case(row, nullptr).what.engine.name == "vllm-v0");
    }
    CHECK(case_of({{"engine", "vLLM v0.10.1 (docker)"}}).what.engine.name == "vllm");
    CHECK(case_of({{"engine_version", "V0"}}).what.engine.name == "vllm-v0");
    CHECK(case_of({{"engine_version", "gpt-oss-dev"}}).what.engine.name == "vllm");
}

TEST_CASE("engines are found in longer names, before words that name what nobody has a profile of") {
    for (auto const& [name, profile] :
         std::vector<std::pair<char const*, char const*>>{{"TensorRT-LLM (PyTorch backend)", "tensorrt-llm"},
                                                          {"trtllm-pytorch", "tensorrt-llm"},
                                                          {"vLLM (transformers backend)", "vllm"},
                                                          {"vLLM V0 engine", "vllm-v0"},
                                                          {"LMDeploy PyTorch", "lmdeploy"},
                                                          {"JetStream (PyTorch)", "other"},
                                                          {"NVIDIA NIM", "tensorrt-llm"},
                                                          {"NIM 1.3.0", "tensorrt-llm"},
                                                          {"NIM (vLLM)", "vllm"},
                                                          {"DeepSpeed-MII", "deepspeed"},
                                                          {"DeepSpeed-FastGen", "deepspeed"},
                                                          {"vLLM (accelerated kernels)", "vllm"},
                                                          {"unnimble", "other"}}) {
        CAPTURE(name);
        CHECK(case_of({{"engine", name}}).what.engine.name == profile);
    }
    CHECK(assumes(case_of({{"engine", "JetStream (PyTorch)"}}).assumptions, "as any other"));
    for (char const* name : {"PyTorch", "OpenLLM PyTorch", "HF transformers", "llama.cpp"})
        CHECK_THAT(predicted({{"engine", name}}).skip_reason, contains("no profile for engine"));
    for (char const* name : {"FlexGen", "HF Accelerate", "DeepSpeed ZeRO-Inference", "PowerInfer"})
        CHECK_THAT(predicted({{"engine", name}}).skip_reason, contains("outside the device's memory"));
}

TEST_CASE("drafted tokens and servers for prompts alone are skipped where they are said, not where they are denied") {
    for (char const* notes :
         {"with speculative decoding", "spec decode, 3 tokens", "EAGLE-3", "Medusa heads", "MTP decoding", "MTP=2",
          "num_speculative_tokens 3, draft model 1B", "ngram, k=4", "lookahead decoding", "no prefix cache with MTP"})
        CHECK_THAT(predicted({{"notes", notes}}).skip_reason, contains("speculative decoding is not"));
    for (char const* notes : {"disaggregated prefill", "PD disagg", "1P1D", "2p-4d, NIXL"})
        CHECK_THAT(predicted({{"notes", notes}}).skip_reason, contains("servers of their own"));
    CHECK_THAT(predicted({{"engine", "SGLang (EAGLE-2)"}}).skip_reason, contains("speculative decoding is not"));
    CHECK_THAT(predicted({{"engine", "vLLM disaggregated"}}).skip_reason, contains("servers of their own"));
    for (char const* notes : {"no MTP", "MTP off", "mtp=0", "without speculative decoding, draft none",
                              "no EAGLE or MTP", "non-disaggregated", "speculative decoding: disabled", "smtp server",
                              "agg; 8 prompts", "num_speculative_tokens=0", "Eagles", "100p99d1x"}) {
        CAPTURE(notes);
        CHECK(predicted({{"notes", notes}}).skip_reason.empty());
    }
}

TEST_CASE("requests that come at once are in flight up to what the engine takes, and the run has") {
    Cells const at_once{{"request_rate", "INF"}, {"concurrency_or_batch", ""}};
    auto const most = [&](Cells const& others) { return case_of(with(at_once, others)).what.plan.max_batch; };
    CHECK(most({{"engine", "TensorRT-LLM"}, {"engine_version", "1.0"}}) == 2048);
    CHECK(most({}) == 1024);
    CHECK(most({{"gpu", "A100-SXM4-80GB"}}) == 256);
    CHECK(most({{"engine_version", "0.6.3"}}) == 256);
    CHECK(most({{"notes", "max_num_seqs 64"}}) == 64);
    CHECK(throughput(with(at_once, {{"notes", "32 prompts"}})) < 0.7 * throughput(at_once));
    CHECK(throughput(with(at_once, {{"notes", "1,000 prompts of ShareGPT"}})) ==
          Approx(throughput(with(at_once, {{"notes", "num_prompts=1000"}}))));
    CHECK(case_of({{"concurrency_or_batch", "64"}, {"notes", "--num-prompts 20"}}).amount == 20);
    CHECK(case_of({{"concurrency_or_batch", "64"}, {"notes", "1000 prompts"}}).amount == 64);
    // More than the engine takes at a time wait.
    Cells const crowd{{"gpu", "A100-SXM4-80GB"}, {"concurrency_or_batch", "512"}};
    CHECK(throughput(crowd) < 1.1 * throughput(with(crowd, {{"concurrency_or_batch", "256"}})));
}

TEST_CASE("a loop runs as many requests as the run has: the first round's prompts weigh more in a short one") {
    auto const of_run = [](char const* notes) {
        return predicted(
            {{"input_len", "2048"}, {"output_len", "256"}, {"concurrency_or_batch", "64"}, {"notes", notes}});
    };
    RowPrediction const once = of_run("num_prompts=64"), twice = of_run("num_prompts=128");
    RowPrediction const ten = of_run("num_prompts=640"), hundred = of_run("num_prompts=6400"), unknown = of_run("");
    auto const ttft = [](RowPrediction const& p) { return *p.served[0].predicted; };
    auto const tokens = [](RowPrediction const& p) { return *p.served[2].predicted; };
    CHECK(ttft(once) > 2 * ttft(ten));
    CHECK(ttft(twice) > 1.5 * ttft(ten));
    CHECK(ttft(hundred) < ttft(ten));
    CHECK(ttft(ten) == Approx(ttft(unknown)));
    // All come at once and none follows: the run lasts as long as its last request.
    CHECK(tokens(once) < tokens(hundred));
    double const latency = (ttft(once) + 255 * *once.served[1].predicted) / 1000;
    CHECK(tokens(once) == Approx(64 * 256 / latency).epsilon(0.05));
    // A throughput that is derived from times is compared with such a one.
    Cells const timed{{"input_len", "2048"}, {"output_len", "256"}, {"concurrency_or_batch", "64"},
                      {"ttft_ms", "1500"},   {"tpot_ms", "20"},     {"notes", "num_prompts=64"}};
    CHECK(throughput(timed) == Approx(64 * 256 / latency));
}

TEST_CASE("a long run goes on at the rate of the requests that are followed") {
    auto const tokens = [](char const* notes) { return throughput({{"concurrency_or_batch", "2"}, {"notes", notes}}); };
    CHECK(tokens("num_prompts=1000000") == Approx(tokens("num_prompts=10000")).epsilon(0.002));
}

TEST_CASE("a run at a rate lasts until its last request is answered") {
    Cells const rated{
        {"input_len", "1024"}, {"output_len", "512"}, {"request_rate", "8"}, {"concurrency_or_batch", ""}};
    RowPrediction const few = predicted(with(rated, {{"notes", "num_prompts=100"}}));
    double const latency = (*few.served[0].predicted + 511 * *few.served[1].predicted) / 1000;
    CHECK(*few.served[2].predicted == Approx(100 * 512 / (99 / 8.0 + latency)));
    CHECK(throughput(with(rated, {{"notes", "num_prompts=20000"}})) == Approx(8 * 512).epsilon(0.01));
    CHECK(throughput(rated) == Approx(8 * 512));
    // More than can be served: as if all had come at once, but no faster than they come.
    Cells const above = with(rated, {{"request_rate", "60"}});
    CHECK(throughput(with(above, {{"notes", "num_prompts=1000"}})) < throughput(above));
    CHECK(throughput(with(above, {{"notes", "num_prompts=50"}})) < 0.6 * throughput(above));
}

TEST_CASE("where all requests come at once and their number is known, so is their wait") {
    Cells const at_once{{"request_rate", "INF"}, {"concurrency_or_batch", ""}, {"ttft_ms", "2000"}};
    auto const ttft = [&](char const* notes) { return predicted(with(at_once, {{"notes", notes}})).served[0]; };
    CHECK(ttft("2000 prompts").measured);
    CHECK(*ttft("4000 prompts").predicted > 1.5 * *ttft("2000 prompts").predicted);
    CHECK_FALSE(ttft("").measured);
    CHECK_FALSE(ttft("1000000 prompts").measured);
}

TEST_CASE("prompts of a run are not those of a product or a rate") {
    auto const sent = [](char const* notes) {
        ServingRow row;
        row.notes = notes;
        return row.prompts_sent();
    };
    CHECK(sent("500 prompts") == 500);
    CHECK(sent("ShareGPT (1000 prompts)") == 1000);
    CHECK(sent("mean of 3 runs; 1,500 prompts, seed 0") == 1500);
    CHECK(sent("num_prompts: 200") == 200);
    for (char const* notes : {"system 100 tok x 400 prompts x 10 users", "20 prompts/s", "v2 prompts", "prompts", "",
                              "8 prompts per user", "p50 prompts"})
        CHECK_FALSE(sent(notes));
}

TEST_CASE("a run of which more than a tenth failed is not scored") {
    auto const reason = [](char const* notes) { return predicted({{"notes", notes}}).skip_reason; };
    CHECK(reason("successes 732, failures 4068") == "more than a tenth of the requests failed");
    CHECK(reason("successes 4796, failures 4").empty());
    CHECK(reason("successes 100, failures 0").empty());
}

TEST_CASE("more requests than can be served give the figures of a full server, and no time to the first token") {
    Cells const flood{{"concurrency_or_batch", ""}, {"request_rate", "1000"}, {"ttft_ms", "90000"}};
    RowPrediction const p = predicted(with(flood, {{"tpot_ms", "30"}, {"output_tokens_per_s", "9000"}}));
    CHECK(p.skip_reason.empty());
    CHECK_FALSE(p.served[0].predicted);
    CHECK_FALSE(p.served[0].measured);
    CHECK(p.served[1].measured == 30);
    CHECK(assumes(p.assumptions, "more requests arrive"));
    REQUIRE(p.served[2].predicted);
    CHECK(*p.served[2].predicted < 1000 * 128);
    CHECK(*p.served[2].predicted ==
          Approx(throughput({{"concurrency_or_batch", ""}, {"request_rate", "900"}})));  // full is full
    Cells const short_run{{"concurrency_or_batch", ""}, {"request_rate", "1000"}, {"notes", "20 prompts"}};
    CHECK(throughput(short_run) < 0.5 * throughput(with(short_run, {{"notes", ""}})));
    RowPrediction const few = predicted(with(flood, {{"request_rate", "1"}}));
    CHECK(few.served[0].predicted);
}

TEST_CASE("a row that ran is predicted at the edge of the memory, unless its weights alone are more") {
    // 65.5 of 85.9 GB are weights: activations of an iteration of 131,072 tokens leave nothing of 0.9 to the cache.
    Cells const edge{{"model", "Qwen/Qwen2.5-32B-Instruct"},
                     {"gpu", "A100-SXM4-80GB"},
                     {"tp", "1"},
                     {"input_len", "8192"},
                     {"concurrency_or_batch", "4"}};
    REQUIRE(predicted(edge).served[2].predicted.has_value());
    Cells const full = with(edge, {{"notes", "max_num_batched_tokens 131072"}});
    RowPrediction const p = predicted(full);
    CAPTURE(p.skip_reason);
    CHECK(p.served[2].predicted.has_value());
    CHECK(assumes(p.assumptions, "since it did run"));
    CHECK_FALSE(assumes(predicted(edge).assumptions, "since it did run"));
    CHECK_THAT(predicted({{"model", "mistralai/Mixtral-8x7B-v0.1"}}).skip_reason, contains("not one request fits"));
}

TEST_CASE("experts that do not fit one server of several are cut over the ranks of all under vLLM and SGLang") {
    Cells const deepseek{
        {"model", "deepseek-ai/DeepSeek-V3"}, {"gpu", "H200"}, {"num_gpus", "8"}, {"tp", "1"}, {"dp", "8"}};
    for (char const* engine : {"vLLM", "SGLang"}) {
        ServedCase const c = case_of(with(deepseek, {{"engine", engine}}));
        CHECK(c.what.plan.attention_dp == 8);
        CHECK(c.what.plan.ep == 1);
        CHECK(c.replicas == 1);
        CHECK(serving_memory(c.what).fits());
        CHECK(assumes(c.assumptions, "cut over the ranks of all dp"));
    }
    CHECK(case_of(with(deepseek, {{"engine", "TensorRT-LLM"}})).replicas == 8);
    // A model that fits is as many servers.
    ServedCase const small = case_of(with(deepseek, {{"model", "Qwen/Qwen3-30B-A3B"}}));
    CHECK(small.what.plan.attention_dp == 1);
    CHECK(small.replicas == 8);
}

TEST_CASE("tp of a Trainium counts its cores") {
    auto const tp = [](char const* gpu, char const* degree, char const* chips) {
        return case_of({{"gpu", gpu}, {"tp", degree}, {"num_gpus", chips}}).what.plan.tp;
    };
    CHECK(tp("trn1", "8", "4") == 4);
    CHECK(tp("trn1", "2", "") == 1);
    CHECK(tp("trn2", "32", "4") == 4);
    CHECK(tp("trn2", "4", "4") == 4);
    CHECK(tp("H100", "4", "4") == 4);
    CHECK_THAT(predicted({{"gpu", "trn1"}, {"tp", "8"}, {"num_gpus", "1"}}).skip_reason,
               contains("more than num_gpus"));
    CHECK_THAT(predicted({{"tp", "2"}, {"pp", "2"}, {"num_gpus", "2"}}).skip_reason, contains("more than num_gpus"));
}

TEST_CASE("lengths of real requests are spread, those of drawn prompts are alike") {
    auto const least = [](Cells const& others) { return case_of(others).least_length; };
    CHECK(least({}) == 1);
    CHECK(least({{"notes", "random dataset"}}) == 1);
    CHECK(least({{"notes", "random lengths, not ShareGPT"}}) == 1);
    CHECK(least({{"notes", "ShareGPT_V3, 1000 prompts"}}) == 0);
    CHECK(least({{"notes", "lmsys-chat-1m"}}) == 0);
    CHECK(least({{"input_len", "225.4"}}) == 0);
    CHECK(least({{"output_len", "199.5"}}) == 0);
    // Three tokens less in 512 answers of 256, or prompts that are cut into tokens otherwise.
    CHECK(least({{"output_len", "255.994"}}) == 1);
    CHECK(least({{"input_len", "1023.1"}, {"output_len", "128"}}) == 1);
    CHECK(least({{"input_len", "9999.2"}}) == 1);
    CHECK(least({{"input_len", "1023.1"}, {"output_len", "130.7"}}) == 0);
    CHECK(least({{"output_len", "253.49"}}) == 0);
    Cells const crowd{{"input_len", "4096"}, {"output_len", "256"}, {"concurrency_or_batch", "64"}};
    CHECK(predicted(with(crowd, {{"notes", "ShareGPT"}})).served[0].predicted != predicted(crowd).served[0].predicted);
}

TEST_CASE("tokens a second that a row does not state follow from requests or all tokens a second, or the latency") {
    auto const rate = [](Cells const& others) { return predicted(others).served[2].measured; };
    REQUIRE(rate({{"requests_per_s", "11"}}).has_value());
    CHECK(*rate({{"requests_per_s", "11"}}) == Approx(11 * 128));
    CHECK(*rate({{"total_tokens_per_s", "7000"}}) == Approx(7000.0 * 128 / 640));
    CHECK(*rate({{"e2e_latency_ms", "1400"}}) == Approx(16 * 128 / 1.4));
    CHECK(*rate({{"requests_per_s", "11"}, {"output_tokens_per_s", "1400"}}) == 1400);
    CHECK(*rate({{"concurrency_or_batch", ""}, {"request_rate", "INF"}, {"requests_per_s", "70"}}) == Approx(70 * 128));
    CHECK_FALSE(rate({{"concurrency_or_batch", ""}, {"request_rate", "2"}, {"e2e_latency_ms", "1400"}}).has_value());
    // A derived figure that contradicts the others is left out, and these are kept: 16 in flight for 1.37 s each.
    Cells const times{{"ttft_ms", "100"}, {"tpot_ms", "10"}};
    CHECK(*rate(with(times, {{"requests_per_s", "11"}})) == Approx(11 * 128));
    RowPrediction const odd = predicted(with(times, {{"requests_per_s", "3"}}));
    CHECK(odd.skip_reason.empty());
    CHECK(*odd.served[2].measured == Approx(16 * 128 / 1.37));
    CHECK(assumes(predicted({{"requests_per_s", "11"}}).assumptions, "throughput from requests a second"));
}

TEST_CASE("spellings of formats and rates that tables use are read") {
    auto const weights = [](char const* text) { return case_of({{"weight_dtype", text}}).what.plan.weights; };
    CHECK(weights("w8a16") == weights("int8"));
    CHECK(weights("a8w8") == weights("w8a8"));
    CHECK(weights("w8a16") != weights("w8a8"));
    for (char const* text : {"E4M3", "float8_e4m3fn", "Float8"})
        CHECK(weights(text) == "fp8");
    CHECK(weights("16-bit") == "bf16");
    CHECK(weights("marlin") == weights("int4"));
    CHECK_THAT(predicted({{"weight_dtype", "w4afp8"}}).skip_reason, contains("not modelled"));
    auto const cache = [](char const* text, char const* stored = "") {
        return case_of({{"kv_dtype", text}, {"weight_dtype", stored}}).what.plan.cache;
    };
    CHECK(cache("float8_e4m3") == CacheFormat::fp8);
    for (char const* text : {"8-bit", "kv8", "int8"})
        CHECK(cache(text) == CacheFormat::int8);
    for (char const* text : {"same", "default", "auto", ""})
        CHECK(cache(text, "bf16") == CacheFormat::bf16);
    CHECK(cache("same", "fp8") == CacheFormat::fp8);
    CHECK(cache("auto", "fp8") == CacheFormat::bf16);
    auto const row = [](char const* rate) {
        auto const table = table_of({with(usual_cells, {{"request_rate", rate}})});
        return serving_row(RowCells(table, table.records.front()));
    };
    for (char const* rate : {"unlimited", "max", "offline", "INF"})
        CHECK(row(rate).unlimited_rate);
    for (char const* rate : {"4", "4 req/s", "4.0 RPS", "4/s", "4 requests/s"})
        CHECK(row(rate).request_rate == 4);
    CHECK_THROWS_AS(row("4 per minute"), RowSkip);
    CHECK(case_of({{"input_len", "1,024"}}).request.prompt == 1024);
}

// Benchmarks of an engine without a server, as JSON and as text.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

#include <string>
#include <utility>

using namespace sextant;

namespace {

ImportedTables read_as(std::string const& importer, std::string const& text, CellRow cells) {
    Importer const& found = importer_for(text, "x");
    CHECK(std::string(found.name) == importer);
    return found.read(text, {.name = "runs/x", .device = "h100-sxm", .cells = std::move(cells)});
}

CellRow offline_json(std::string const& text, CellRow cells) {
    auto const tables = read_as("offline-bench", text, std::move(cells));
    REQUIRE(tables.loads.size() == 1);
    return tables.loads[0];
}

std::string skipped_first(ImportedTables const& tables) {
    REQUIRE(tables.rows() == 0);
    REQUIRE(tables.skipped.size() == 1);
    return tables.skipped.begin()->first;
}

std::string const throughput =
    "{\n    \"elapsed_time\": 40.0,\n    \"num_requests\": 1000,\n    \"total_num_tokens\": 1152000,\n"
    "    \"requests_per_second\": 25.0,\n    \"tokens_per_second\": 28800.0\n}";
std::string const latency =
    "{\"avg_latency\": 2.5, \"std_latency\": 0.01, \"latencies\": [2.49, 2.51], "
    "\"percentiles\": {\"10\": 2.49, \"50\": 2.5, \"99\": 2.51}}";

}  // namespace

TEST_CASE("offline-bench: vllm bench throughput says no lengths, of which one makes the other") {
    CellRow const model{{"model", "llama-3.1-8b"}, {"tp", "1"}};
    CellRow with_prompt = model, with_answer = model, both = model, wrong = model;
    with_prompt["input_len"] = "1024";
    with_answer["output_len"] = "128";
    both["input_len"] = "1024";
    both["output_len"] = "128";
    wrong["input_len"] = "1024";
    wrong["output_len"] = "256";
    for (CellRow const& cells : {with_prompt, with_answer, both}) {
        CellRow const row = offline_json(throughput, cells);
        CHECK(row.at("engine") == "vLLM");
        CHECK(row.at("input_len") == "1024");
        CHECK(row.at("output_len") == "128");
        CHECK(row.at("request_rate") == "inf");
        CHECK(row.at("requests_per_s") == "25");
        CHECK(row.at("output_tokens_per_s") == "3200");
        CHECK(row.at("total_tokens_per_s") == "28800");
        CHECK(row.at("notes") == "num_prompts=1000");
    }
    CHECK_THAT(skipped_first(read_as("offline-bench", throughput, model)), contains("--set input_len=VALUE"));
    CHECK_THAT(skipped_first(read_as("offline-bench", throughput, wrong)), contains("a request has 1152 tokens"));
    CHECK_THROWS_WITH(read_as("offline-bench", throughput.substr(0, throughput.size() - 3), both),
                      contains("is no JSON, or was cut off"));
}

TEST_CASE("offline-bench: vllm bench latency is one batch, whose size and lengths are asked for") {
    CellRow cells{{"model", "llama-3.1-8b"}, {"tp", "1"}, {"input_len", "32"}, {"output_len", "128"}};
    CHECK_THAT(skipped_first(read_as("offline-bench", latency, cells)), contains("--set concurrency_or_batch=VALUE"));
    cells["concurrency_or_batch"] = "8";
    CellRow const row = offline_json(latency, cells);
    CHECK(row.at("e2e_latency_ms") == "2500");
    CHECK(row.at("output_tokens_per_s") == "409.6");  // 8 x 128 / 2.5 s
    CHECK(row.at("notes") == "static batch");
}

TEST_CASE("offline-bench: SGLang's results, a line each") {
    CellRow const cells{{"model", "llama-3.1-8b"}, {"tp", "1"}};
    std::string const one_batch =
        "{\"run_name\": \"a\", \"batch_size\": 16, \"input_len\": 1024, \"output_len\": 101, \"prefill_latency\": 0.5, "
        "\"prefill_throughput\": 32768.0, \"median_decode_latency\": 0.01, \"median_decode_throughput\": 1600.0, "
        "\"total_latency\": 1.5, \"overall_throughput\": 12000.0}\n";
    auto const several = read_as("offline-bench", one_batch + one_batch, cells);
    REQUIRE(several.loads.size() == 2);
    CellRow const& row = several.loads[1];
    CHECK(row.at("engine") == "SGLang");
    CHECK(row.at("ttft_ms") == "500");
    CHECK(row.at("tpot_ms") == "10");
    CHECK(row.at("e2e_latency_ms") == "1500");
    CHECK(row.at("concurrency_or_batch") == "16");
    CHECK(row.at("notes") == "static batch");

    std::string const served =
        "{\"run_name\": \"a\", \"batch_size\": 16, \"input_len\": 1024, \"output_len\": 100, \"latency\": 2.0, "
        "\"output_throughput\": 800.0, \"overall_throughput\": 9000.0}";
    CHECK(offline_json(served, cells).at("output_tokens_per_s") == "800");
    CHECK(offline_json(served, cells).at("notes") == "num_prompts=16");
    std::string drafts = served;
    drafts.insert(1, "\"acc_length\": 2.5, ");
    CHECK_THAT(skipped_first(read_as("offline-bench", drafts, cells)), contains("speculative decoding"));

    CellRow const all = offline_json(
        "{\"backend\": \"engine\", \"successful_requests\": 100, \"total_latency\": 20.0, \"total_input_tokens\": "
        "51200, "
        "\"total_output_tokens\": 12800, \"request_throughput\": 5.0, \"input_throughput\": 2560.0, "
        "\"output_throughput\": 640.0, \"total_throughput\": 3200.0}",
        cells);
    CHECK(all.at("input_len") == "512");
    CHECK(all.at("output_len") == "128");
    CHECK(all.at("output_tokens_per_s") == "640");
    CHECK(all.at("request_rate") == "inf");
}

TEST_CASE("offline-bench: no number, a time of zero and another object are left out with the reason") {
    CellRow const cells{{"model", "llama-3.1-8b"}, {"tp", "1"}, {"input_len", "1024"}};
    Importer const& importer = find_importer("offline-bench");
    auto const reason = [&](std::string const& text) {
        return skipped_first(importer.read(text, {.name = "x", .device = "h100-sxm", .cells = cells}));
    };
    std::string zero = throughput, null = throughput;
    zero.replace(zero.find("40.0"), 4, "0.0");
    null.replace(null.find("1152000"), 7, "null");
    CHECK_THAT(reason(zero), contains("elapsed_time is not stated"));
    CHECK_THAT(reason(null), contains("total_num_tokens is not stated"));
    CHECK_THAT(reason("[1, 2]"), contains("is no result of an offline benchmark"));
}

TEST_CASE("vllm-print: the engine says the model, its ranks and formats, the run its tokens") {
    std::string const engine =
        "(EngineCore_0 pid=95) INFO 04-17 23:05:00 [core.py:61] Initializing a V1 LLM engine (v0.11.0) with config: "
        "model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None, "
        "tokenizer='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=2048, "
        "tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, quantization=fp8, "
        "kv_cache_dtype=auto, device_config=cuda\n";
    std::string const bar = "Processed prompts: 100%|##########| 1000/1000 [00:40<00:00, 25.00it/s]\r\n";
    std::string const result =
        "Throughput: 25.00 requests/s, 28800.00 total tokens/s, 3200.00 output tokens/s\n"
        "Total num prompt tokens:  1024000\nTotal num output tokens:  128000\n";
    auto const tables = read_as("vllm-print", engine + bar + result, {});
    REQUIRE(tables.loads.size() == 1);
    CHECK(tables.loads[0] == CellRow{{"source_id", "log x"},
                                     {"source_ref", "printed by vllm bench throughput, runs/x"},
                                     {"model", "meta-llama/Llama-3.1-8B-Instruct"},
                                     {"gpu", "h100-sxm"},
                                     {"tp", "2"},
                                     {"pp", "1"},
                                     {"dp", "1"},
                                     {"engine", "vLLM"},
                                     {"engine_version", "0.11.0"},
                                     {"weight_dtype", "fp8"},
                                     {"kv_dtype", "auto"},
                                     {"input_len", "1024"},
                                     {"output_len", "128"},
                                     {"request_rate", "inf"},
                                     {"output_tokens_per_s", "3200"},
                                     {"total_tokens_per_s", "28800"},
                                     {"requests_per_s", "25"},
                                     {"notes", "num_prompts=1000"}});
    CHECK_THAT(skipped_first(read_as("vllm-print", result, {})), contains("--set model=VALUE"));
    CHECK_THAT(skipped_first(read_as("vllm-print", result.substr(0, result.find('\n') + 1), {})),
               contains("are not printed"));
    std::string slow = result;
    slow.replace(slow.find("25.00"), 5, "0.25");
    slow.replace(slow.find("28800.00"), 8, "288.00");
    CellRow const cells{{"model", "llama-3.1-8b"}, {"tp", "1"}};
    CHECK_THAT(skipped_first(read_as("vllm-print", slow, cells)), contains("so few digits"));
    CHECK(read_as("vllm-print", bar + slow, cells).loads.at(0).at("input_len") == "1024");
    std::string drafts = engine;
    drafts.replace(drafts.find("speculative_config=None"), 23, "speculative_config=SpeculativeConfig(method='eagle')");
    CHECK_THAT(read_as("vllm-print", drafts + result, {}).loads.at(0).at("notes"), contains("speculative decoding"));
}

TEST_CASE("vllm-print: latency of a batch, whose sizes earlier releases print") {
    std::string const result =
        "Avg latency: 2.5 seconds\nStd latency: 0.01 seconds\n10% percentile latency: 2.49 seconds\n"
        "50% percentile latency: 2.5 seconds\n";
    std::string const arguments =
        "Namespace(input_len=32, output_len=128, batch_size=8, n=1, model='meta-llama/Llama-3.1-8B', "
        "tensor_parallel_size=1, dtype='auto', quantization=None, kv_cache_dtype='auto')\n";
    CellRow const row = read_as("vllm-print", arguments + result, {}).loads.at(0);
    CHECK(row.at("model") == "meta-llama/Llama-3.1-8B");
    CHECK(row.at("concurrency_or_batch") == "8");
    CHECK(row.at("output_tokens_per_s") == "409.6");
    CHECK_FALSE(row.contains("weight_dtype"));
    CHECK_THAT(skipped_first(read_as("vllm-print", result, {})), contains("--set concurrency_or_batch=VALUE"));
}

TEST_CASE("bench-print: SGLang's offline block is a run whose requests came at once") {
    std::string const text =
        "====== Offline Throughput Benchmark Result =======\nBackend:                                 engine\n"
        "Successful requests:                     100\nBenchmark duration (s):                  20.00\n"
        "Total input tokens:                      51200\nTotal generated tokens:                  12800\n"
        "Last generation throughput (tok/s):      11.00\nRequest throughput (req/s):              5.00\n"
        "Input token throughput (tok/s):          2560.00\nOutput token throughput (tok/s):         640.00\n"
        "Total token throughput (tok/s):          3200.00\n==================================================\n";
    CellRow const row = read_as("bench-print", text, {{"model", "llama-3.1-8b"}, {"tp", "1"}}).loads.at(0);
    CHECK(row.at("engine") == "SGLang");
    CHECK(row.at("request_rate") == "inf");
    CHECK(row.at("output_tokens_per_s") == "640.00");
    CHECK(row.at("input_len") == "512");
}

TEST_CASE("genai-perf-csv: metrics with their units, and the load that is asked for") {
    std::string const text =
        "Metric,avg,min,max,p50,p99\nInput Sequence Length (tokens),1024.00,1024,1024,1024,1024\n"
        "Inter Token Latency (ms),12.10,11.0,14.0,12.0,13.9\nOutput Sequence Length (tokens),256.00,256,256,256,256\n"
        "Request Latency (ms),\"3,200.00\",3000,3300,3200,3299\nTime to First Token (ms),120.50,90,200,118,190\n\n"
        "Metric,Value\nOutput Token Throughput (tokens/sec),640.00\nRequest Count,200.00\n"
        "Request Throughput (requests/sec),2.50\n\n\nEndpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,min\n"
        "localhost:9400,0,H100,GPU-1,GPU Power Usage (W),650.00,600.00\n";
    CellRow cells{{"model", "llama-3.1-8b"}, {"tp", "1"}, {"engine", "vllm"}};
    CHECK_THAT(skipped_first(read_as("genai-perf-csv", text, cells)), contains("--set concurrency_or_batch=VALUE"));
    cells["concurrency_or_batch"] = "8";
    CellRow const row = read_as("genai-perf-csv", text, cells).loads.at(0);
    CHECK(row.at("input_len") == "1024");
    CHECK(row.at("output_len") == "256");
    CHECK(row.at("e2e_latency_ms") == "3200");
    CHECK(row.at("ttft_ms") == "120.5");
    CHECK(row.at("tpot_ms") == "12.1");
    CHECK(row.at("output_tokens_per_s") == "640");
    CHECK(row.at("requests_per_s") == "2.5");
    CHECK(row.at("notes") == "num_prompts=200");
    CHECK_THROWS_AS(find_importer("genai-perf-csv").read("Metric,avg\nx,1\n", {.name = "x"}), InputError);
}

// What a serving client says of lengths and of drafts.
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "tests/catch.hpp"

#include <string>

using namespace sextant;

namespace {

/// A run of 512 requests of 1024 and 256 tokens, with other fields.
CellRow run_with(std::string const& fields, std::string const& answers = "131072") {
    std::string const text =
        "{\"backend\": \"vllm\", \"model_id\": \"meta-llama/Llama-3.1-8B\", \"num_prompts\": 512, "
        "\"completed\": 512, \"total_input_tokens\": 524288, \"total_output_tokens\": " +
        answers + fields +
        ", \"request_rate\": \"inf\", \"max_concurrency\": 64, \"output_throughput\": 1092.27, "
        "\"mean_ttft_ms\": 812.3, \"mean_tpot_ms\": 26.1}";
    return importer_for(text, "x").read(text, {.name = "x", .device = "h100-sxm", .cells = {{"tp", "1"}}}).loads.at(0);
}

}  // namespace

TEST_CASE("bench_serving: lengths that a run says are one are that, though a few answers ended early") {
    std::string const random =
        ", \"dataset_name\": \"random\", \"random_input_len\": 1024, \"random_output_len\": 256, "
        "\"random_range_ratio\": ";
    CHECK(run_with("", "131069").at("output_len") == "255.994");  // nothing says what they were to be
    CHECK(run_with(random + "1.0", "131069").at("output_len") == "256");
    CHECK(run_with(random + "1.0", "131069").at("input_len") == "1024");
    CHECK(run_with(random + "0.5", "131069").at("output_len") == "255.994");
    CHECK(run_with(random + "1.0", "120000").at("output_len") == "234.375");  // more than a few
    CHECK(
        run_with(", \"dataset_name\": \"sharegpt\", \"random_output_len\": 256, \"random_range_ratio\": 1.0", "131069")
            .at("output_len") == "255.994");
    CHECK(run_with(", \"output_lens\": [256, 0, 256]", "131069").at("output_len") == "256");
    CHECK(run_with(", \"output_lens\": [256, 255, 256]", "131069").at("output_len") == "255.994");
    CHECK(run_with(", \"output_lens\": [\"256\", {}]", "131069").at("output_len") == "255.994");
}

TEST_CASE("bench_serving: a run that guesses tokens ahead says so in its notes") {
    CHECK(run_with("").at("notes") == "num_prompts=512");
    CHECK(run_with(", \"spec_decode_acceptance_rate\": 61.2").at("notes") == "num_prompts=512; speculative decoding");
    CHECK(run_with(", \"accept_length\": 2.9").at("notes") == "num_prompts=512; speculative decoding");
    CHECK(run_with(", \"accept_length\": null, \"spec_decode_acceptance_rate\": null").at("notes") ==
          "num_prompts=512");
    CHECK(run_with(", \"accept_length\": 1.0").at("notes") == "num_prompts=512");
}

TEST_CASE("bench_serving: what SGLang's server said of itself is in the row") {
    std::string const begin =
        "{\"backend\": \"sglang\", \"completed\": 512, \"server_info\": {\"model_path\": "
        "\"meta-llama/Llama-3.1-8B-Instruct\", \"version\": \"0.5.3\", \"tp_size\": 2";
    std::string const end = "}, \"request_rate\": Infinity, \"output_throughput\": 2184.5, \"mean_ttft_ms\": 300.0}";
    auto const read = [&](std::string const& more) {
        std::string const text = begin + more + end;
        return importer_for(text, "x").read(text, {.name = "x", .device = "h100-sxm"});
    };
    CellRow const row = read("").loads.at(0);
    CHECK(row.at("model") == "meta-llama/Llama-3.1-8B-Instruct");
    CHECK(row.at("engine_version") == "0.5.3");
    CHECK(row.at("tp") == "2");
    CHECK_THAT(read(", \"speculative_algorithm\": \"EAGLE\"").loads.at(0).at("notes"),
               contains("speculative decoding"));
    CHECK(read(", \"speculative_algorithm\": null").loads.at(0).at("notes") == "num_prompts=512");
    CHECK(read(", \"dp_size\": 2").skipped.contains("the log does not say num_gpus (give it: --set num_gpus=VALUE)"));
}

TEST_CASE("trtllm-bench: a report is a row of its ranks, formats, limits and means") {
    std::string const report = read_text_file(SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/trtllm_bench.json");
    auto const read = [](std::string const& text) {
        CHECK(std::string(importer_for(text, "x").name) == "trtllm-bench");
        return importer_for(text, "x").read(text, {.name = "runs/x.json", .device = "h100-sxm"});
    };
    auto const changed = [&](std::string const& from, std::string const& to) {
        std::string text = report;
        REQUIRE(text.find(from) != std::string::npos);
        return read(text.replace(text.find(from), from.size(), to));
    };
    CHECK(read(report).loads.at(0) == CellRow{{"source_id", "log x.json"},
                                              {"source_ref", "trtllm-bench runs/x.json"},
                                              {"model", "meta-llama/Llama-3.1-8B"},
                                              {"gpu", "h100-sxm"},
                                              {"num_gpus", "2"},
                                              {"tp", "2"},
                                              {"pp", "1"},
                                              {"engine", "TensorRT-LLM"},
                                              {"engine_version", "1.2.0"},
                                              {"weight_dtype", "FP8"},
                                              {"kv_dtype", "FP8"},
                                              {"input_len", "1024"},
                                              {"output_len", "256"},
                                              {"concurrency_or_batch", "63"},
                                              {"output_tokens_per_s", "2293.5"},
                                              {"total_tokens_per_s", "11467.4"},
                                              {"ttft_ms", "310.5"},
                                              {"tpot_ms", "26.2"},
                                              {"e2e_latency_ms", "7000"},
                                              {"requests_per_s", "8.96"},
                                              {"notes",
                                               "num_prompts=512; max_num_batched_tokens=8192; "
                                               "max_num_seqs=2048"}});
    CellRow const at_once = changed("62.7", "300.1").loads.at(0);
    CHECK(at_once.at("request_rate") == "inf");
    CHECK_FALSE(at_once.contains("concurrency_or_batch"));
    CHECK(changed("\"quantization\": \"FP8\"", "\"quantization\": null").loads.at(0).at("weight_dtype") == "bfloat16");
    CHECK_THAT(changed("\"streaming_metrics\"", "\"decoding_stats\": {\"num_draft_tokens\": 3}, \"streaming_metrics\"")
                   .loads.at(0)
                   .at("notes"),
               contains("; speculative decoding"));
    CHECK(changed("\"num_requests\": 512", "\"num_requests\": 0").loads.empty());
    std::string of_machine = report;
    of_machine.insert(1, "\"machine\": {\"name\": \"NVIDIA H100 80GB HBM3\", \"memory.total\": 79.2}, ");
    CHECK(importer_for(of_machine, "x").read(of_machine, {.name = "x"}).loads.at(0).at("gpu") ==
          "NVIDIA H100 80GB HBM3");
    CHECK(changed("\"engine\": {\"model\"", "\"engine\": [1], \"other\": {\"model\"")
              .skipped.contains("the log does not say model (give it: --set model=VALUE)"));
    CHECK_THROWS_AS(importer_for(report, "x").read(report.substr(0, 200), {.name = "x"}), InputError);
}

// What a serving client says of lengths and of drafts.
#include "calibrate/import/importer.hpp"
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

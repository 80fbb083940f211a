#include "tests/catch.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/run_sextant.hpp"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

Json sheet(Arguments arguments) {
    arguments.insert(arguments.begin(), "flops");
    arguments.insert(arguments.end(), {"--format", "json"});
    RunResult const result = run_sextant(arguments);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

double number(Json const& json, char const* key) { return json.at(key).get<double>(); }

}  // namespace

TEST_CASE("flops --format json has the keys that other programs read", "[INV-3]") {
    Json const json = sheet({"-m", "gpt3-175b", "--seq", "2048", "--global-batch", "1536"});
    CHECK(json.at("format") == "flops");
    CHECK(json.at("version") == 1);
    for (char const* key : {"forward_flops_per_token", "causal_forward_flops_per_token", "step_model_flops",
                            "step_executed_flops", "six_n_d_flops"})
        CHECK(number(json, key) > 0);
    CHECK(json.at("step_recompute_flops") == 0);
    CHECK(json.at("stages").size() == 1);
    CHECK(json.at("ops").size() > 10);
    for (Json const& op : json.at("ops"))
        for (char const* pass : {"forward", "backward"})
            for (char const* key : {"flops", "model_flops", "bytes", "sent_bytes"})
                CHECK(number(op.at(pass), key) >= 0);
}

TEST_CASE("flops: GPT-3's step is the published 72 and 96 formulas", "[INV-4]") {
    // h = 12288, L = 96, V = 51200 before padding; per token 72 L h^2 (1 + s / 6h + V / 12Lh).
    Json const json = sheet({"-m", "gpt3-175b", "--seq", "2048", "--global-batch", "1536"});
    CHECK(number(json, "step_model_flops") == Approx(number(json, "gpt_72_flops")).epsilon(1e-3));
    CHECK(number(json, "step_model_flops") ==
          Approx(3 * 1536.0 * 2048 * number(json, "forward_flops_per_token")).epsilon(1e-12));
    CHECK(number(json, "six_n_d_flops") < number(json, "step_model_flops"));
    CHECK(number(json, "causal_forward_flops_per_token") < number(json, "forward_flops_per_token"));
    Json const full = sheet({"-m", "gpt3-175b", "--seq", "2048", "--global-batch", "1536", "--recompute", "full"});
    CHECK(number(full, "step_recompute_flops") > 0);
    CHECK(number(full, "step_executed_flops") ==
          Approx(number(json, "step_executed_flops") + number(full, "step_recompute_flops")).epsilon(1e-12));
    CHECK(number(full, "step_model_flops") == number(json, "step_model_flops"));
}

TEST_CASE("flops: however a step is split, it is the same work", "[INV-5]") {
    Json const whole = sheet({"-m", "llama-3-8b", "--seq", "4096", "--global-batch", "32"});
    for (Arguments const& plan : {Arguments{"--tp", "8"},
                                  {"--pp", "4"},
                                  {"--dp", "4"},
                                  {"--cp", "2"},
                                  {"--tp", "2", "--pp", "2", "--vpp", "4", "--dp", "2"}}) {
        Arguments question{"-m", "llama-3-8b", "--seq", "4096", "--global-batch", "32"};
        question.insert(question.end(), plan.begin(), plan.end());
        Json const split = sheet(question);
        CHECK(number(split, "step_model_flops") == number(whole, "step_model_flops"));
        // Tensor parallelism pads the vocabulary to a multiple of 128 tp.
        double const padding = plan[0] == "--tp" ? 1e-3 : 1e-9;
        CHECK(number(split, "step_executed_flops") == Approx(number(whole, "step_executed_flops")).epsilon(padding));
        CHECK(number(split, "step_executed_flops") >= (1 - 1e-9) * number(whole, "step_executed_flops"));
        CHECK(split.at("graph_digest") != whole.at("graph_digest"));
    }
}

TEST_CASE("flops: every preset can be counted, in every format, without a machine", "[INV-3]") {
    for (char const* model :
         {"gpt2", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3", "gemma-2-27b", "falcon-180b", "bloom-176b"}) {
        CAPTURE(model);
        RunResult const csv = run_sextant({"flops", "-m", model, "--format", "csv"});
        REQUIRE(csv.code == 0);
        CHECK(is_csv_table(csv.out));
        CHECK(is_markdown_table(run_sextant({"flops", "-m", model, "--format", "markdown"}).out));
        RunResult const text = run_sextant({"flops", "-m", model});
        CHECK_THAT(text.out, contains("model FLOPs") && contains("6 N D"));
        CHECK(text.out.find(" \n") == std::string::npos);
    }
    CHECK(run_sextant({"flops", "-m", "gpt2", "--cluster", "h100-sxm"}).code == 2);
}

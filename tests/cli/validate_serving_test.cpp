#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/engine_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace {

std::string const excerpt = SEXTANT_SOURCE_DIR "/tests/data/serving/serving_excerpt.csv";

std::string every_fifth_row(std::string const& file) {
    std::string out;
    std::istringstream text(sextant::read_text_file(file));
    std::string line;
    for (int row = 0; std::getline(text, line); ++row)
        if (row % 5 == 0) out += line + "\n";  // the header among them
    return out;
}

}  // namespace

TEST_CASE("validate serving: the JSON report has errors of each figure, and adds up") {
    RunResult const run = run_sextant({"validate", "serving", excerpt, "--format", "json"});
    REQUIRE(run.code == 0);
    auto const json = nlohmann::json::parse(run.out);
    CHECK(json.at("format") == "serving-validation");
    for (char const* figure : {"ttft", "tpot", "throughput"}) {
        std::size_t n = 0;
        for (auto const& source : json.at("sources")) {
            n += source.at(figure).at("n").get<std::size_t>();
            for (char const* key : {"mape_pct", "median_ape_pct", "p90_ape_pct", "bias_pct"})
                CHECK(source.at(figure).at(key).is_null() == (source.at(figure).at("n") == 0));
        }
        CHECK(n > 0);
        CHECK(n == json.at("overall").at(figure).at("n").get<std::size_t>());
    }
    REQUIRE_FALSE(json.at("worst").empty());
    for (auto const& row : json.at("worst")) {
        double const measured = row.at("measured_tokens_per_s").get<double>();
        double const predicted = row.at("predicted_tokens_per_s").get<double>();
        CHECK(row.at("error_pct").get<double>() == Approx(100 * (predicted / measured - 1)));
        CHECK_FALSE(row.contains("measured_s"));
    }
    CHECK_FALSE(json.at("overall").contains("memory"));
    CHECK(run_sextant({"validate", "serving", excerpt, "--format", "json"}).out == run.out);
}

TEST_CASE("validate serving: --rows appends predictions or the reason to every input row") {
    ScratchFolder const scratch("validate_serving");
    std::string const out = scratch.path("rows.csv");
    REQUIRE(run_sextant({"validate", "serving", excerpt, "--rows", out}).code == 0);
    sextant::CsvTable const input = sextant::read_csv(excerpt);
    sextant::CsvTable const rows = sextant::read_csv(out);
    auto const added =
        rows.require({"pred_ttft_ms", "pred_tpot_ms", "pred_output_tokens_per_s", "pred_low", "pred_high",
                      "skip_reason", "scored_ttft_ms", "scored_tpot_ms", "scored_output_tokens_per_s"});
    REQUIRE(rows.records.size() == input.records.size());
    CHECK(added.front() == input.header.size());
    std::size_t without_wait = 0;
    for (auto const& record : rows.records) {
        auto const& cells = record.cells;
        INFO("line " << record.line);
        bool const skipped = !cells[added[5]].empty();
        for (std::size_t i = 1; i < 5; ++i)
            CHECK(cells[added[i]].empty() == skipped);
        if (skipped) {
            CHECK(cells[added[0]].empty());
            continue;
        }
        double const tokens = std::stod(cells[added[2]]);
        if (cells[added[0]].empty()) {  // of more requests than can be served: the wait has no end
            ++without_wait;
            CHECK(cells[added[6]].empty());
        } else {
            CHECK(std::stod(cells[added[0]]) > 0);
        }
        CHECK(tokens > 0);
        CHECK(std::stod(cells[added[3]]) < tokens);
        CHECK(tokens < std::stod(cells[added[4]]));
    }
    CHECK(without_wait == 2);
    std::size_t scored = 0;  // what the printed errors are of
    for (auto const& record : rows.records)
        scored += record.cells[added[8]].empty() ? 0 : 1;
    auto const json = nlohmann::json::parse(run_sextant({"validate", "serving", excerpt, "--format", "json"}).out);
    CHECK(scored == json.at("overall").at("throughput").at("n").get<std::size_t>());
}

TEST_CASE("validate serving: text, markdown and csv name every source, and no line ends in a space") {
    for (char const* format : {"text", "markdown", "csv"}) {
        RunResult const run = run_sextant({"validate", "serving", excerpt, "--format", format});
        REQUIRE(run.code == 0);
        for (char const* part : {"argonne-all", "blis-training-h100", "inferencex-aic-agg", "overall"})
            CHECK(run.out.find(part) != std::string::npos);
        CHECK(run.out.find(" \n") == std::string::npos);
    }
}

TEST_CASE("validate serving: an engine or a table with a fault is refused, a bar that is missed is exit code 1") {
    ScratchFolder const scratch("validate_serving_bad");
    CHECK(run_sextant({"validate", "serving", excerpt, "--profile", "vlm"}).err.find("did you mean 'vllm'") !=
          std::string::npos);
    CHECK(run_sextant({"validate", "serving", excerpt, "--profile", "vlm"}).code == 2);
    CHECK(run_sextant({"validate", "serving", scratch.path("missing.csv")}).code == 2);
    sextant::write_text_file(scratch.path("empty.csv"), "");
    CHECK(run_sextant({"validate", "serving", scratch.path("empty.csv")}).code == 2);
    sextant::write_text_file(scratch.path("other.csv"), "a,b\n1,2\n");
    CHECK(run_sextant({"validate", "serving", scratch.path("other.csv")}).code == 2);
    std::string const few = scratch.path("few.csv");
    sextant::write_text_file(few, every_fifth_row(excerpt));
    CHECK(run_sextant({"validate", "serving", few, "--max-median", "0.1"}).code == 1);
    CHECK(run_sextant({"validate", "serving", few, "--max-median", "60"}).code == 0);
    CHECK(run_sextant({"validate", "serving", few, "--profile", "sglang"}).code == 0);
}

TEST_CASE("calibrate fit --serving writes a profile that validate reads", "[long]") {
    ScratchFolder const scratch("fit_serving");
    std::string const out = scratch.path("lmdeploy.json");
    RunResult const run =
        run_sextant({"calibrate", "fit", "--serving", excerpt, "--engine", "LMDeploy TurboMind", "--out", out});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK(run.out.find("gemm_scale") != std::string::npos);
    CHECK(run.out.find("not identified") != std::string::npos);
    // Rows of one machine make no interval narrower.
    sextant::EngineProfile const before = sextant::find_engine("lmdeploy", "test");
    sextant::EngineProfile const after = sextant::find_engine(out, "test");
    CHECK(after.interval.low <= before.interval.low);
    CHECK(after.interval.high >= before.interval.high);
    CHECK(before.fitted_on.empty());
    CHECK(after.fitted_on == std::vector<std::string>{"a100-sxm-80gb"});
    CHECK(sextant::read_text_file(out).find("\"format\": \"engine-profile\"") != std::string::npos);
    CHECK(run_sextant({"validate", "serving", excerpt, "--profile", out}).code == 0);
    CHECK(run_sextant({"calibrate", "fit", "--serving", excerpt, "--out", out}).code == 2);  // several engines
    CHECK(run_sextant({"calibrate", "fit", "--serving", excerpt, "--engine", "nobody", "--out", out}).code == 2);
    CHECK(run_sextant({"calibrate", "fit", "--serving", excerpt, "--engine", "lmdeploy"}).code == 2);  // no --out
}

TEST_CASE("rows of zero tp or pp are left out with what is wrong, by a fit as by a validation", "[long]") {
    ScratchFolder const scratch("zero_degrees");
    std::string text =
        "source_id,model,gpu,num_gpus,tp,pp,engine,weight_dtype,input_len,output_len,"
        "concurrency_or_batch,ttft_ms,tpot_ms\n";
    for (int batch = 1; batch <= 12; ++batch)
        text += fmt::format("mine,llama-3.1-8b,H100 SXM,1,1,1,vLLM,bf16,1000,100,{},{},{}\n", batch, 40 + batch,
                            7 + 0.1 * batch);
    text += "mine,llama-3.1-8b,H100 SXM,1,0,1,vLLM,bf16,1000,100,1,40,7\n";
    text += "mine,llama-3.1-8b,H100 SXM,1,1,0,vLLM,bf16,1000,100,1,40,7\n";
    sextant::write_text_file(scratch.path("runs.csv"), text);
    RunResult const checked = run_sextant({"validate", "serving", scratch.path("runs.csv")});
    CHECK_THAT(checked.out, contains("tp is zero (1 where nothing is divided"));
    CHECK_THAT(checked.out, contains("pp is zero"));
    RunResult const fitted = run_sextant({"calibrate", "fit", "--serving", scratch.path("runs.csv"), "--engine", "vllm",
                                          "--out", scratch.path("mine.json")});
    INFO(fitted.err);
    CHECK(fitted.code == 0);
    CHECK_THAT(fitted.out + fitted.err, contains("tp is zero"));
}

TEST_CASE("calibrate fit --serving finds the servers that mixed prompts with decodes though their engine does not",
          "[long]") {
    ScratchFolder const scratch("fit_serving_mixed");
    std::string const columns = sextant::read_text_file(excerpt);
    auto const row = [](char const* what, char const* rest) { return fmt::format("made,made,{},{}\n", what, rest); };
    char const* const small = "llama-3.1-8b,h200_sxm,1,1,,,,sglang,0.5.6,fp8_block,";
    char const* const large = "qwen3-32b,h100_sxm,4,4,,,,sglang,0.5.1,,";
    // 40 prompts of 4,000 tokens that go before all decodes would wait 1.4 s, and nothing would interrupt the decodes.
    std::string const table = columns.substr(0, columns.find('\n') + 1) + row(small, "4000,100,40,,,,398,32.5,,,,") +
                              row(small, "8000,500,56,,,,1085,34.2,,,,") + row(large, "1024,512,64,,,,1143,15.2,,,,") +
                              row(large, "2048,256,64,,,,2317,22.4,,,,");
    sextant::write_text_file(scratch.path("runs.csv"), table);
    RunResult const run = run_sextant({"calibrate", "fit", "--serving", scratch.path("runs.csv"), "--engine", "sglang",
                                       "--out", scratch.path("sglang.json")});
    INFO(run.err << run.out);
    REQUIRE(run.code == 0);
    CHECK(run.err.find("llama-3.1-8b, h200-sxm, sglang: prompts were mixed with decodes") != std::string::npos);
    CHECK(run.err.find("qwen3-32b, h100-sxm, sglang: prompts were mixed") == std::string::npos);
    CHECK_THAT(run.err, contains("rows of h100-sxm, h200-sxm: a profile holds for one of them"));
}

TEST_CASE("calibrate fit --serving: where most servers mixed prompts with decodes, so does the file", "[long]") {
    ScratchFolder const scratch("fit_serving_mixes");
    std::string table = "model,gpu,num_gpus,tp,engine,input_len,output_len,concurrency_or_batch,ttft_ms,tpot_ms\n";
    // As above: many long prompts, each of which would wait for all before it, were answered at once.
    for (char const* const times : {"4000,100,40,398,32.5", "4000,100,38,390,32", "8000,500,56,1085,34.2"})
        table += fmt::format("llama-3.1-8b,h200_sxm,1,1,sglang,{}\n", times);
    std::string const out = scratch.path("sglang.json");
    RunResult const run = run_sextant(
        {"calibrate", "fit", "--serving", scratch.file("runs.csv", table), "--engine", "sglang", "--out", out});
    INFO(run.err << run.out);
    REQUIRE(run.code == 0);
    CHECK(sextant::find_engine("sglang", "test").prompts == sextant::PromptOrder::first);
    CHECK(sextant::find_engine(out, "test").prompts == sextant::PromptOrder::mixed);
}

TEST_CASE("calibrate fit --serving: first tokens alone hardly move what an iteration takes, and its interval grows",
          "[long]") {
    ScratchFolder const scratch("fit_serving_ttft");
    auto const fit = [&](std::string const& columns, std::string const& rows, std::string const& out) {
        RunResult const run = run_sextant({"calibrate", "fit", "--serving",
                                           scratch.file("runs.csv",
                                                        "model,gpu,num_gpus,tp,engine,input_len,output_len,"
                                                        "concurrency_or_batch," +
                                                            columns + "\n" + rows),
                                           "--engine", "vllm", "--out", out});
        INFO(run.err << run.out);
        REQUIRE(run.code == 0);
        return run.err;
    };
    std::string rows, both;
    for (int const in_flight : {1, 4, 8, 16, 32, 64}) {
        std::string const row = fmt::format("llama-3.1-8b,H100 SXM,1,1,vllm,1000,200,{},{}", in_flight,
                                            (in_flight % 3 == 0 ? 1.12 : 1) * (45 + 4 * in_flight));
        rows += row + "\n";
        both += row + fmt::format(",{}\n", 7.5 + 0.12 * in_flight);
    }
    std::string const out = scratch.path("vllm.json");
    sextant::EngineProfile const before = sextant::find_engine("vllm", "test");
    CHECK_THAT(fit("ttft_ms", rows, out), contains("no row states tpot_ms or output_tokens_per_s"));
    sextant::EngineProfile const after = sextant::find_engine(out, "test");
    for (auto const time : {&sextant::EngineProfile::host_per_iteration, &sextant::EngineProfile::host_per_sequence}) {
        double const moved = (after.*time).value / (before.*time).value;
        CHECK(moved == Approx(1).epsilon(0.7));
    }
    CHECK(after.interval.low <= before.interval.low);
    CHECK(after.interval.high >= before.interval.high);
    CHECK_THAT(fit("ttft_ms,tpot_ms", both, out), !contains("no row states"));
}

TEST_CASE("calibrate fit --serving leaves out a group with rows that say they multiplied faster than the device can",
          "[long]") {
    ScratchFolder const scratch("fit_serving_impossible");
    std::string const columns = sextant::read_text_file(excerpt);
    auto const row = [](char const* model, char const* gpu, int tp, char const* rest) {
        return fmt::format("made,made,{},{},{},{},,,,vllm,0.12.0,fp8,,{}\n", model, gpu, tp, tp, rest);
    };
    // 64 prompts of 2,000 tokens every 1.09 s are 117,000 tokens a second: 1.8 PFLOP/s of products on an H200.
    std::string const table = columns.substr(0, columns.find('\n') + 1) +
                              row("llama-3.1-8b", "h200_sxm", 1, "2000,100,64,,,,121.7,9.74,,,,") +
                              row("llama-3.1-8b", "h200_sxm", 1, "2000,100,60,,,,121.7,9.74,,,,") +
                              row("llama-3.1-8b", "h200_sxm", 1, "8000,2000,80,,,,361,23.8,,,,") +
                              row("qwen3-32b", "h100_sxm", 2, "1024,512,8,,,,153.6,16.5,,,,") +
                              row("qwen3-32b", "h100_sxm", 4, "1024,512,8,,,,126,10.7,,,,");
    sextant::write_text_file(scratch.path("runs.csv"), table);
    RunResult const run = run_sextant({"calibrate", "fit", "--serving", scratch.path("runs.csv"), "--engine", "vllm",
                                       "--out", scratch.path("vllm.json")});
    INFO(run.err << run.out);
    REQUIRE(run.code == 0);
    // Lines are wrapped.
    CHECK(run.err.find("3 left out: all rows of llama-3.1-8b") != std::string::npos);
    CHECK(run.err.find("fitting vllm: 4 figures") != std::string::npos);
    CHECK(run.out.find("held out") == std::string::npos);  // one group is left
    sextant::EngineProfile const shipped = sextant::find_engine("vllm", "test");
    sextant::EngineProfile const mine = sextant::find_engine(scratch.path("vllm.json"), "test");
    CHECK(mine.interval.rows == shipped.interval.rows);  // four figures are too few for one of their own
    CHECK(mine.first_token_interval.rows == shipped.first_token_interval.rows);
    CHECK(mine.expert_compute_scale.value == Approx(shipped.expert_compute_scale.value).epsilon(1e-3));
    // A profile of one's own is where a fit begins, and all rows are of it.
    std::string own = sextant::read_text_file(scratch.path("vllm.json"));
    own.replace(own.find("\"vllm\""), 6, "\"ours\"");
    sextant::write_text_file(scratch.path("ours.json"), own);
    REQUIRE(run_sextant({"calibrate", "fit", "--serving", scratch.path("runs.csv"), "--engine",
                         scratch.path("ours.json"), "--out", scratch.path("again.json")})
                .code == 0);
    CHECK(sextant::find_engine(scratch.path("again.json"), "test").name == "ours");
}

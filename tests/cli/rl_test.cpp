#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>
#include <numeric>

namespace {

Arguments with(Arguments const& more) {
    Arguments out{"rl",      "-m", "qwen2.5-1.5b",    "-c",  "h100-sxm",        "-n", "8", "--prompts", "32",
                  "--group", "8",  "--prompt-tokens", "200", "--output-tokens", "600"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

}  // namespace

TEST_CASE("rl: the report has every mode, phases that add up, and the speed-up of asynchrony with its staleness") {
    Json const json = report(with({"--global-batch", "128", "--staleness", "2", "--staleness-penalty", "0.05"}));
    CHECK(json.at("format") == "rl");
    CHECK(json.at("version") == 1);
    CHECK(json.at("question").at("updates") == 2);
    REQUIRE(json.at("modes").size() == 3);
    for (Json const& mode : json.at("modes")) {
        Json const& best = mode.at("best");
        REQUIRE(best.is_object());
        double sum = 0;
        for (auto const& [name, time] : best.at("phases").items())
            sum += time.get<double>();
        double const step = best.at("step_time_s");
        if (mode.at("mode") != "asynchronous") CHECK(step == Approx(sum));
        CHECK(best.at("samples_per_s").get<double>() == Approx(256 / step));
        std::vector<double> const ages = best.at("age_shares");
        CHECK(std::accumulate(ages.begin(), ages.end(), 0.0) == Approx(1));
        CHECK(ages.size() <= 3);
        for (Json const& role : best.at("memory"))
            CHECK(role.at("needed_bytes").get<double>() <= role.at("usable_bytes").get<double>());
    }
    CHECK(json.at("modes")[1].at("splits").size() == 7);
    Json const& gain = json.at("speed_up_of_asynchrony").at("over_split");
    CHECK(gain.at("raw").get<double>() >= 1);
    CHECK(gain.at("with_staleness") <= gain.at("raw"));
}

TEST_CASE("rl: text, csv and markdown are readable, and the same for the same question") {
    RunResult const text = run_sextant(with({}));
    REQUIRE(text.code == 0);
    CHECK_THAT(text.out, contains("long tail"));
    CHECK_THAT(text.out, contains("penalty of 0 is assumed"));
    CHECK(text.out == run_sextant(with({"--threads", "2"})).out);
    for (std::string const& line : lines_of(text.out))
        CHECK(line.size() <= 130);
    CHECK(is_csv_table(run_sextant(with({"--format", "csv"})).out));
    CHECK(is_markdown_table(run_sextant(with({"--format", "markdown"})).out));
}

TEST_CASE("rl: a policy that fits nowhere is an answer, not an error") {
    RunResult const result = run_sextant({"rl", "-m", "llama-3.1-405b", "-c", "h100-sxm", "-n", "8", "--prompts", "32",
                                          "--prompt-tokens", "200", "--output-tokens", "600"});
    CHECK(result.code == 1);
    CHECK_THAT(result.out, contains("not possible"));
}

TEST_CASE("rl: bad input is one line and exit code 2") {
    auto const refused = [](Arguments const& arguments, std::string const& part) {
        RunResult const result = run_sextant(arguments);
        CAPTURE(arguments.back(), result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        CHECK_THAT(result.err, contains(part));
    };
    refused(with({"--group", "0"}), "--group");
    refused({"rl", "-m", "qwen2.5-1.5b", "-c", "h100-sxm", "-n", "8", "--prompt-tokens", "9", "--output-tokens", "9"},
            "rl: what a step generates is not said: --prompts N missing");
    auto const step = [](char const* prompts, char const* prompt, char const* output) {
        return Arguments{"rl",        "-m",    "qwen2.5-1.5b",    "-c",   "h100-sxm",        "-n",  "8",
                         "--prompts", prompts, "--prompt-tokens", prompt, "--output-tokens", output};
    };
    refused(step("0", "9", "9"), "--prompts: 0 prompts a step (at least 1)");
    refused(step("8", "0", "9"), "--prompt-tokens: 0 (at least 1)");
    refused(step("8", "9", "0"), "--output-tokens: 0");
    refused({"rl", "-m", "qwen2.5-1.5b", "-c", "h100-sxm", "--prompts", "8", "--prompt-tokens", "9", "--output-tokens",
             "9"},
            "--gpus: how many");
    refused(with({"--lengths", "fixed", "--variation", "0.5"}), "--variation: 0.5 of lengths that are fixed");
    refused(with({"--seq", "100"}), "--output-tokens: ");
    refused(with({"--rollout-weights", "bf15"}), "--rollout-weights: unknown format 'bf15'; did you mean 'bf16'?");
    refused(with({"--mode", "colocated", "--rollout-gpus", "1"}), "--rollout-gpus: colocated");
    refused({"rl", "-c", "h100-sxm", "-n", "8"}, "--model");
    refused(with({"--algorithm", "grop"}), "did you mean 'grpo'");
    refused(with({"--lengths", "normal"}), "lognormal");
    refused({"rl", "-m", "qwen2.5-1.5b", "-c", "h100-sxm", "-n", "8"},
            "--prompts N, --prompt-tokens N, --output-tokens N missing");
    refused(with({"--variation", "nan"}), "--variation");
    refused(with({"--max-output", "1e9"}), "out");
    refused(with({"--max-output", "200000"}), "longer than the context");
    refused(with({"--max-output", "100"}), "--max-output: a maximum of 100 tokens below the mean");
    refused(with({"--rollout-gpus", "8"}), "--rollout-gpus");
    refused(with({"--rollout-tp", "2,x"}), "--rollout-tp");
    refused(with({"--rollout-tp", "5"}), "--rollout-tp: 5 does not divide the");
    refused(with({"--max-batch", "0"}), "batch");
    refused(with({"--rollout-pp", "0"}), "pp");
    refused(with({"--memory-utilisation", "nan"}), "memory");
    refused(with({"--staleness", "65"}), "--staleness");
    refused(with({"--staleness-penalty", "-1"}), "--staleness-penalty");
    refused(with({"--mode", "sync"}), "--mode");
    refused(with({"--critic", "qwen2.5-1.5b"}), "only ppo");
    refused(with({"--reward-time", "5"}), "--reward-time");
    refused(with({"--engine", "vlmm"}), "vllm");
    refused(with({"--global-batch", "100"}), "--global-batch");
    refused({"rl", "-m", "qwen2.5-1.5b", "-c", "l4-pcie", "-n", "100000000", "--prompts", "8", "--prompt-tokens", "9",
             "--output-tokens", "9"},
            "--gpus");
}

TEST_CASE("rl: published steps are compared, and a table without their columns is refused") {
    ScratchFolder const folder("rl");
    std::string const header =
        "source_id,model,algorithm,mode,gpu,num_gpus,max_seq_or_resp_len,avg_seq_len,global_batch_gen,"
        "global_batch_train,gen_tp_pp,train_tp_cp_ep_pp_vpp,step_time_s,tokens_per_s_per_gpu\n";
    std::string const row =
        "a,Qwen3-32B,GRPO,On policy,H100,32,4096,3206,2048,512,\"[4,1]\",\"[4,1,1,4,n/a]\",393,540\n";
    std::string const good = folder.file("good.csv", header + row + "a,x,GRPO,On policy,H100,32,4096,9,8,8,,,3,\n");
    Json const json = Json::parse(run_sextant({"rl", "--measured", good, "--format", "json"}).out);
    CHECK(json.at("overall").at("n") == 1);
    CHECK(json.at("rows")[0].at("pred_step_time_s").get<double>() > 0);
    CHECK_FALSE(json.at("rows")[1].at("skip_reason").get<std::string>().empty());
    CHECK_THAT(run_sextant({"rl", "--measured", good}).out, contains("not predicted"));
    CHECK(is_csv_table(run_sextant({"rl", "--measured", good, "--format", "csv"}).out));
    CHECK(run_sextant({"rl", "--measured", folder.file("short.csv", "model\nx\n")}).code == 2);
    CHECK(run_sextant({"rl", "--measured", folder.file("empty.csv", "")}).code == 2);
    CHECK(run_sextant({"rl", "--measured", folder.path("none.csv")}).code == 2);
    CHECK(run_sextant({"rl", "--measured", good, "--variation", "-1"}).code == 2);
    std::string const broken = folder.file("broken.csv", header + "a,Qwen3-32B,GRPO,On policy,H100,-3,1,1,1,1,,,x,\n");
    CHECK(run_sextant({"rl", "--measured", broken}).code == 2);
}

TEST_CASE("rl: of published steps chunks of a stage are followed, and prompts that are not stated are said") {
    ScratchFolder const folder("rl");
    auto const predicted = [&](std::string const& degrees, char const* rate) {
        std::string const table =
            folder.file("rows.csv",
                        "source_id,model,algorithm,mode,gpu,num_gpus,max_seq_or_resp_len,avg_seq_len,global_batch_gen,"
                        "global_batch_train,gen_tp_pp,train_tp_cp_ep_pp_vpp,step_time_s,tokens_per_s_per_gpu\n"
                        "a,Qwen3-32B,GRPO,On policy,H100,32,4096,3206,2048,512,\"[4,1]\",\"" +
                            degrees + "\",393," + rate + "\n");
        return Json::parse(run_sextant({"rl", "--measured", table, "--format", "json"}).out).at("rows")[0];
    };
    auto const time = [&](std::string const& degrees) {
        return predicted(degrees, "540").at("pred_step_time_s").get<double>();
    };
    CHECK(time("[4,1,1,4,n/a]") == time("[4,1,1,4,1]"));
    CHECK(time("[4,1,1,4,4]") != time("[4,1,1,4,1]"));
    auto const assumed = [&](char const* rate) { return predicted("[4,1,1,4,1]", rate).at("assumptions").dump(); };
    // 614 tokens a sequence, of which none are left beside responses of 3206.
    CHECK_THAT(assumed("100"), contains("prompts of 128 tokens: tokens a second mean 614 a sequence"));
    CHECK_THAT(assumed(""), contains("prompts of 128 tokens\""));
    CHECK(assumed("540").find("prompts of") == std::string::npos);
}

TEST_CASE("rl: the length of the sequences that are trained is said, a multiple of 16") {
    Json const json = report(with({}));
    bool said = false;
    for (Json const& line : json.at("assumptions"))
        said = said || line.get<std::string>().find("the mean length to the nearest 16") != std::string::npos;
    CHECK(said);
}

TEST_CASE("rl: with --max-output the longest response of a step reaches it, unless the variation is given") {
    auto const variation = [](Json const& json) { return json.at("question").at("output").at("variation"); };
    Json const cut = report(with({"--max-output", "4000", "--mode", "colocated"}));
    CHECK(variation(cut) > 0.6);
    CHECK(cut.at("question").at("output").at("longest_tokens").get<double>() >= 0.99 * 4000);
    CHECK(variation(report(with({"--max-output", "4000", "--variation", "0.6", "--mode", "colocated"}))) == 0.6);
    CHECK(variation(report(with({"--mode", "colocated"}))) == 0.6);
}

TEST_CASE("rl: engines of attention groups, and phases with the controller") {
    Json const json = report({"rl",
                              "-m",
                              "deepseek-v2-lite",
                              "-c",
                              "h100-sxm",
                              "-n",
                              "8",
                              "--prompts",
                              "64",
                              "--prompt-tokens",
                              "200",
                              "--output-tokens",
                              "300",
                              "--mode",
                              "colocated",
                              "--rollout-tp",
                              "1",
                              "--rollout-attention-dp",
                              "4",
                              "--rollout-ep",
                              "4"});
    Json const& best = json.at("modes")[0].at("best");
    REQUIRE(best.is_object());
    CHECK(best.at("engine").at("attention_dp") == 4);
    CHECK(best.at("engine").at("replicas") == 2);
    CHECK(best.at("engine").at("max_batch") == 4 * 1024);
    CHECK_THAT(run_sextant(with({})).out, contains("\ncontroller "));
}

TEST_CASE("rl: dollars follow the price, the range holds the step, and asynchrony has a break-even penalty") {
    Json const cheap = report(with({"--price", "2"}));
    Json const dear = report(with({"--price", "4"}));
    for (std::size_t i = 0; i < cheap.at("modes").size(); ++i) {
        Json const& best = cheap.at("modes")[i].at("best");
        double const step = best.at("step_time_s");
        CHECK(best.at("usd_per_step").get<double>() ==
              Approx(2 * cheap.at("question").at("gpus").get<double>() * step / 3600));
        CHECK(dear.at("modes")[i].at("best").at("usd_per_step").get<double>() ==
              Approx(2 * best.at("usd_per_step").get<double>()));
        CHECK(best.at("step_time_80_low_s") < step);
        CHECK(best.at("step_time_80_high_s") > step);
    }
    Json const& gain = cheap.at("speed_up_of_asynchrony").at("over_split");
    double const age = cheap.at("modes")[2].at("best").at("mean_age");
    if (gain.at("break_even_penalty").is_number()) {
        double const penalty = gain.at("break_even_penalty");
        CHECK(gain.at("raw").get<double>() * (1 - penalty * age) == Approx(1));
    }
    Json const bare = report(with({"--overheads", "none"}));
    CHECK(bare.at("modes")[0].at("best").at("step_time_s") < cheap.at("modes")[0].at("best").at("step_time_s"));
    CHECK_FALSE(bare.at("modes")[0].at("best").contains("step_time_80_low_s"));
    RunResult const text = run_sextant(with({"--price", "2"}));
    CHECK_THAT(text.out, contains("80 % range") && contains("USD/1000 samples") && contains("overheads fitted"));
    for (Arguments const& wrong : {Arguments{"--overheads", "some"}, Arguments{"--price", "-1"}}) {
        RunResult const result = run_sextant(with(wrong));
        CHECK(result.code == 2);
        CHECK_THAT(result.err, contains(wrong.front()));
    }
}

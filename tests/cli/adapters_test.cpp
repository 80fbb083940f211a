#include "tests/catch.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

Arguments question(std::string const& command, Arguments const& more) {
    Arguments all{command, "-m",   "llama-3-8b",     "-c", "h100-sxm", "--gpus", "8",
                  "--seq", "4096", "--global-batch", "32"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

Json answer(std::string const& command, Arguments more) {
    more.insert(more.end(), {"--format", "json"});
    RunResult const result = run_sextant(question(command, more));
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

std::string refusal(Arguments const& more, std::string const& command = "estimate") {
    RunResult const result = run_sextant(question(command, more));
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
}

}  // namespace

TEST_CASE("estimate --lora-rank: the plan, the trained parameters and less of everything") {
    Json const full = answer("estimate", {"--tp", "2"});
    Json const lora = answer("estimate", {"--tp", "2", "--lora-rank", "16"});
    Json const packed =
        answer("estimate", {"--tp", "2", "--lora-rank", "16", "--base-weights", "nf4", "--lora-targets", "all"});
    CHECK_FALSE(full.at("plan").contains("lora_rank"));
    CHECK_FALSE(full.contains("trained_parameters"));
    CHECK(lora.at("plan").at("lora_rank") == 16);
    CHECK(lora.at("plan").at("lora_targets") == "attention");
    CHECK(lora.at("plan").at("base_weights") == "bf16");
    CHECK(lora.at("trained_parameters") == 13'631'488);
    CHECK(packed.at("trained_parameters") == 41'943'040);
    CHECK(lora.at("iteration_time_s") < full.at("iteration_time_s"));
    auto const memory = [](Json const& json) { return json.at("memory").at("peak_bytes").get<double>(); };
    CHECK(memory(lora) < memory(full));
    CHECK(memory(packed) < memory(lora));
    CHECK(packed.at("graph_digest") != lora.at("graph_digest"));
}

TEST_CASE(
    "estimate --lora-rank --optimizer adamw-pure-bf16: the adapters' state is in bf16, frozen weights are as before") {
    Json const lora = answer("estimate", {"--tp", "2", "--lora-rank", "16"});
    Json const pure = answer("estimate", {"--tp", "2", "--lora-rank", "16", "--optimizer", "adamw-pure-bf16"});
    auto const bytes = [](Json const& json, char const* part) { return json.at("memory").at(part).get<double>(); };
    CHECK(bytes(pure, "weights_bytes") == bytes(lora, "weights_bytes"));
    CHECK(bytes(pure, "gradients_bytes") == bytes(lora, "gradients_bytes") / 2);
    CHECK(bytes(pure, "optimizer_bytes") == bytes(lora, "optimizer_bytes") / 3);
    CHECK(pure.at("iteration_time_s") <= lora.at("iteration_time_s"));
}

TEST_CASE("estimate --lora-rank: the text says what is trained and how MFU is counted") {
    RunResult const result = run_sextant(question("estimate", {"--lora-rank", "16", "--base-weights", "nf4"}));
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("lora16 (attention, nf4)"));
    CHECK_THAT(result.out, contains("13.6 M of 8.04 B parameters"));
    CHECK_THAT(result.out, contains("base weights nf4: no measured step dequantised weights"));
    CHECK_THAT(result.out, contains("the work that this needs: forward, gradients of inputs"));
}

TEST_CASE("plan, simulate, memory and flops take the adapters' options") {
    Json const plan = answer("plan", {"--lora-rank", "8", "--base-weights", "fp8", "--top", "2"});
    CHECK(plan.at("candidates").at(0).at("plan").at("lora_rank") == 8);
    CHECK(plan.at("candidates").at(0).at("plan").at("base_weights") == "fp8");
    Json const simulated = answer("simulate", {"--lora-rank", "8"});
    Json const estimated = answer("estimate", {"--lora-rank", "8"});
    CHECK(simulated.at("iteration_time_s").get<double>() ==
          Approx(estimated.at("iteration_time_s").get<double>()).epsilon(0.05));
    CHECK(run_sextant(question("memory", {"--lora-rank", "8"})).code == 0);
    RunResult const flops = run_sextant({"flops", "-m", "llama-3-8b", "--lora-rank", "8", "--format", "json"});
    CHECK(flops.code == 0);
    CHECK(Json::parse(flops.out).at("stages").at(0).at("trained_parameters") == 6'815'744);
}

TEST_CASE("run-plan trains adapters on the tokens that are given, and asks no law") {
    Arguments const base{"run-plan", "-m", "llama-3-8b", "-c", "h100-sxm", "--gpus", "16", "--failures", "none"};
    auto const run = [&](Arguments more) {
        more.insert(more.begin(), base.begin(), base.end());
        more.insert(more.end(), {"--format", "json"});
        RunResult const result = run_sextant(more);
        INFO(result.err);
        REQUIRE(result.code == 0);
        return Json::parse(result.out);
    };
    Json const full = run({"--tokens", "1e9"});
    Json const lora = run({"--tokens", "1e9", "--lora-rank", "16"});
    CHECK(lora.at("run").at("wall_s") < full.at("run").at("wall_s"));
    CHECK(lora.at("run").dump().find("lora") != std::string::npos);
    CHECK(full.at("law").is_object());
    CHECK(lora.at("law").is_null());
    Json const bought = run({"--gpu-hours", "160", "--lora-rank", "16"});
    CHECK(bought.at("run").at("gpu_hours").get<double>() == Approx(160).epsilon(0.01));
    CHECK(bought.at("tokens") > lora.at("tokens"));

    auto const refused = [&](Arguments more) {
        more.insert(more.begin(), {"run-plan", "-c", "h100-sxm", "--gpus", "16", "--lora-rank", "16"});
        RunResult const result = run_sextant(more);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        return result.err;
    };
    CHECK_THAT(refused({"--flops", "1e21"}), contains("--lora-rank: adapters are trained beside a model"));
    CHECK_THAT(refused({"-m", "llama-3-8b", "--flops", "1e21"}), contains("--flops: 6 N D is the work of training"));
    CHECK_THAT(refused({"-m", "llama-3-8b"}), contains("--tokens: on how many the adapters are trained"));
    CHECK_THAT(refused({"-m", "llama-3-8b", "--tokens", "1e9", "--mfu", "0.5"}), contains("--mfu: 6 N D"));
}

TEST_CASE("rl takes the adapters' options, and says what becomes of them") {
    RunResult const result =
        run_sextant({"rl", "-m", "llama-3-8b", "-c", "h100-sxm", "--gpus", "8", "--prompts", "16", "--prompt-tokens",
                     "200", "--output-tokens", "500", "--mode", "colocated", "--lora-rank", "16"});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("lora16"));
    CHECK_THAT(result.out, contains("the policy is its own reference"));
}

TEST_CASE("sweep varies the rank of adapters and the format of base weights") {
    RunResult const result =
        run_sextant({"sweep", "estimate", "-m", "llama-3-8b", "-c", "h100-sxm", "--gpus", "8", "--global-batch", "32",
                     "--axis", "lora-rank=8,64", "--axis", "base-weights=bf16,nf4", "--format", "csv"});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 5);
}

TEST_CASE("adapters are asked for beside a plan of another program, and kept in what is proposed") {
    RunResult const result = run_sextant(
        {"estimate", "-m", "llama-3-8b", "-c", "h100-sxm", "--gpus", "8", "--lora-rank", "16", "--base-weights", "fp8",
         "--from-megatron=--tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 32 --seq-length 4096 "
         "--bf16 --num-layers 32"});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("lora16 (attention, fp8)"));
    CHECK_THAT(result.out, contains("--lora-rank 16 --base-weights fp8"));
}

TEST_CASE("a plan with adapters comes back from its file") {
    RunResult const plan = run_sextant(question("estimate", {"--tp", "2", "--lora-rank", "16", "--format", "json"}));
    REQUIRE(plan.code == 0);
    ScratchFolder const folder("adapters");
    std::string const path = folder.file("plan.json", plan.out);
    RunResult const exported = run_sextant({"export", "--plan", path, "--format", "nemo"});
    INFO(exported.err);
    CHECK_THAT(exported.out, contains("CanonicalLoRA"));
    CHECK_THAT(exported.out, contains("dim=16"));
}

TEST_CASE("options of adapters that make no sense are refused") {
    CHECK_THAT(refusal({"--lora-rank", "0"}), contains("--lora-rank: 0 is out of range (1 to 65536)"));
    CHECK_THAT(refusal({"--lora-rank", "-3"}), contains("--lora-rank"));
    CHECK_THAT(refusal({"--lora-rank", "2000"}), contains("rank 2000 is larger than attention.k of llama-3-8b"));
    CHECK_THAT(refusal({"--lora-rank", "2000"}, "plan"), contains("rank 2000 is larger than attention.k"));
    CHECK_THAT(refusal({"--lora-targets", "all"}), contains("it needs --lora-rank"));
    CHECK_THAT(refusal({"--base-weights", "nf4"}), contains("it needs --lora-rank"));
    CHECK_THAT(refusal({"--lora-rank", "8", "--lora-targets", "q,w"}), contains("unknown target 'w'"));
    CHECK_THAT(refusal({"--lora-rank", "8", "--base-weights", "fp2"}), contains("unknown format of base weights"));
}

TEST_CASE("export writes adapters for NeMo, and says where a framework has none") {
    RunResult const nemo = run_sextant(question("export", {"--lora-rank", "16", "--format", "nemo"}));
    INFO(nemo.err);
    CHECK_THAT(nemo.out, contains("llm.finetune"));
    CHECK_THAT(nemo.out, contains("CanonicalLoRA, target_modules=[\"linear_q\", \"linear_k\", \"linear_v\", "
                                  "\"linear_proj\"], dim=16"));
    RunResult const fused =
        run_sextant(question("export", {"--lora-rank", "8", "--lora-targets", "qkv,o", "--format", "nemo"}));
    CHECK_THAT(fused.out, contains("run.Config(LoRA, target_modules=[\"linear_qkv\", \"linear_proj\"], dim=8"));
    for (char const* const format : {"megatron", "torchtitan", "fsdp2", "maxtext", "deepspeed"}) {
        RunResult const other = run_sextant(question("export", {"--lora-rank", "16", "--format", format}));
        CHECK_THAT(other.out + other.err, contains("lora_rank"));
    }
}

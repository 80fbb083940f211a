#include "cli/shell/words_of_others.hpp"

#include "tests/cli/questions.hpp"

#include <array>

using sextant::cli::did_you_mean_option;
using sextant::cli::own_word;

namespace {

Arguments const small{"estimate", "-m", "llama-3.2-1b", "-c", "h100-sxm", "--gpus", "8", "--global-batch", "64"};

/// The report of the same question, whichever words it is asked in.
void check_same(Arguments const& theirs, Arguments const& ours) {
    CAPTURE(theirs);
    RunResult const wanted = run_sextant(small + ours);
    RunResult const found = run_sextant(small + theirs);
    REQUIRE(wanted.code != 2);
    CHECK(found.code == wanted.code);
    CHECK(found.out == wanted.out);
}

}  // namespace

TEST_CASE("words of others: a value in another program's spelling is the same question", "[cli]") {
    check_same({"--precision", "bfloat16"}, {"--precision", "bf16"});
    check_same({"--precision", "BF16"}, {"--precision", "bf16"});
    check_same({"--precision", "fp8_e4m3"}, {"--precision", "fp8"});
    check_same({"--optimizer", "AdamW"}, {"--optimizer", "adamw"});
    check_same({"--optimizer", "paged_adamw_8bit"}, {"--optimizer", "adamw-8bit"});
    check_same({"--pp", "2", "--schedule", "1F1B"}, {"--pp", "2", "--schedule", "1f1b"});
    check_same({"--pp", "2", "--schedule", "zero-bubble"}, {"--pp", "2", "--schedule", "zb-h1"});
    check_same({"--recompute", "true"}, {"--recompute", "full"});
    check_same({"--attention", "sdpa"}, {"--attention", "flash"});
    check_same({"--offload", "cpu"}, {"--offload", "optimizer"});
    check_same({"--zero", "3", "--offload", "weights"}, {"--zero", "3", "--offload", "parameters"});
    check_same({"--cp", "2", "--cp-mode", "a2a"}, {"--cp", "2", "--cp-mode", "ulysses"});
    check_same({"--lora-rank", "16", "--lora-targets", "q_proj,v_proj", "--base-weights", "4bit"},
               {"--lora-rank", "16", "--lora-targets", "q,v", "--base-weights", "nf4"});
    check_same({"--framework", "axolotl"}, {"--framework", "transformers"});
    check_same({"--format", "JSON"}, {"--format", "json"});
    CHECK(own_word("lora-targets", "gate_up") == "gate_up");
    CHECK(own_word("offload", "Optimizer+activations") == "optimizer+activations");
    CHECK(own_word("rollout-weights", "AWQ") == "int4-weights");
    CHECK(own_word("output", "My_File.TXT") == "My_File.TXT");
    CHECK(own_word("schedule", "My_Schedule.csv") == "My_Schedule.csv");  // refused by its name
}

TEST_CASE("words of others: what is known and not modelled is no misspelling", "[cli]") {
    check_refused(small + Arguments{"--optimizer", "lamb"}, "'lamb' is not modelled", "adamw-8bit");
    check_refused(small + Arguments{"--lora-rank", "8", "--base-weights", "int4"}, "four bits are nf4");
    check_refused({"serve", "plan", "-m", "llama-3.2-1b", "-c", "h100-sxm", "--rate", "1", "--weights", "fp5"},
                  "--weights: unknown format 'fp5'", "int4-weights");
}

TEST_CASE("words of others: an unknown option is answered by what it is called here", "[cli]") {
    auto const meant = [](char const* option) { return run_sextant(small + Arguments{option, "2"}).err; };
    CHECK_THAT(meant("--tensor-parallel-size"), contains("did you mean '--tp'?"));
    CHECK_THAT(meant("--pipeline_parallel_size"), contains("did you mean '--pp'?"));
    CHECK_THAT(meant("--mbs"), contains("did you mean '--micro-batch'?"));
    CHECK_THAT(meant("--batch-size"), contains("did you mean '--global-batch'?"));
    CHECK_THAT(meant("--seq-len"), contains("did you mean '--seq'?"));
    CHECK_THAT(meant("--fsdp"), contains("did you mean '--zero 3'?"));
    CHECK_THAT(meant("--gradient-checkpointing"), contains("did you mean '--recompute full'?"));
    CHECK_THAT(meant("--json"), contains("did you mean '--format json'?"));
    CHECK_THAT(meant("--nodes"), contains("--gpus counts accelerators"));
    // Only what the command has.
    std::array<std::string, 2> const served{"--slo-ttft", "--weights"};
    CHECK(did_you_mean_option("--ttft", served) == "; did you mean '--slo-ttft'?");
    CHECK(did_you_mean_option("--dtype", served) == "; did you mean '--weights'?");
    CHECK(did_you_mean_option("--tensor-parallel-size", served).empty());
    // Of a sweep, too.
    check_refused({"sweep", "estimate", "-m", "gpt2", "-c", "h100-sxm", "--axis", "tp=1", "--mbs", "2"},
                  "did you mean '--micro-batch'?");
}

TEST_CASE("words of others: a number without its unit is answered by what may be meant", "[cli]") {
    check_refused(small + Arguments{"--max-memory", "0.9"}, "'0.9' has no unit", "'90%'", "'70 GB'");
    check_refused(small + Arguments{"--max-memory", "70G"}, "did you mean 'GB'?");
    Arguments const estimate{"estimate", "-m", "llama-3.2-1b", "-c", "h100-sxm"};
    check_refused(estimate + Arguments{"--global-batch", "4M"}, "digits alone: 4000000", "sequences, not tokens");
    check_refused(estimate + Arguments{"--gpus", "1k"}, "digits alone: 1000)");
    check_refused(estimate + Arguments{"--seq", "1e6"}, "digits alone: 1000000)");
    check_refused({"run-plan", "-m", "llama-3.2-1b", "-c", "h100-sxm", "--tokens", "1e10", "--deadline", "2026-12-31"},
                  "no length of time", "dates are not read");
    check_refused({"simulate", "-m", "gpt2", "-c", "h100-sxm", "--gpus", "4", "--straggler", "3:30%"},
                  "'30%' is not a factor", "3:1.3x: 30 % slower");
    auto const run = [](char const* deadline) {
        return run_sextant({"run-plan", "-m", "llama-3.2-1b", "-c", "h100-sxm", "--tokens", "1e10", "--no-curve",
                            "--deadline", deadline});
    };
    RunResult const days = run("14");
    CHECK(days.code == 0);
    CHECK(days.out == run("14d").out);
    CHECK(days.out == run("2 weeks").out);
}

TEST_CASE("words of others: a machine's name may count it, and a short model's name brings the presets of it",
          "[cli]") {
    auto const gpus = [](char const* cluster) {
        return Json::parse(run_sextant({"estimate", "-m", "llama-3.2-1b", "-c", cluster, "--format", "json"}).out)
            .at("gpus")
            .get<int>();
    };
    CHECK(gpus("8xH100") == 8);
    CHECK(gpus("v5p-128") == 64);  // by cores
    CHECK(gpus("v5litepod-16") == 16);
    CHECK(gpus("dgx-h100") == 1);
    CHECK(gpus("RTX 4090") == 1);
    CHECK(gpus("4090 x 2") == 2);
    check_refused({"estimate", "-m", "llama-3.2-1b", "-c", "h100:8"}, "'h100:8' has a number behind it", "--gpus 8");
    check_refused({"estimate", "-m", "llama-3.2-1b", "-c", "rubin"}, "unknown cluster 'rubin'", "lists all");
    check_refused({"estimate", "-m", "gpt-3", "-c", "h100-sxm"}, "gpt3-175b");
    check_refused({"estimate", "-m", "70b", "-c", "h100-sxm"}, "llama-3.1-70b", "llama-2-70b");
    RunResult const g5 = run_sextant({"estimate", "-m", "llama-3.2-1b", "-c", "g5.48xlarge", "--gpus", "8"});
    CHECK_THAT(g5.out, contains("8 x a10g-efa"));
}

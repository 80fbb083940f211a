#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/fixtures.hpp"

TEST_CASE("export serve: a replica over several nodes starts on all of them", "[cli][export]") {
    auto const serve = [](char const* engine, char const* tp, char const* attention_dp) {
        RunResult const result =
            run_sextant({"export", "serve", "--engine", engine, "--model", "mixtral-8x7b", "--cluster", "h100-sxm",
                         "--tp", tp, "--attention-dp", attention_dp, "--report", "json"});
        INFO(result.err);
        REQUIRE(result.code == 0);
        return Json::parse(result.out);
    };
    auto const text = [](Json const& json) { return json.at("files")[0].at("text").get<std::string>(); };
    std::string const groups = text(serve("vllm", "2", "8"));
    CHECK_THAT(groups, contains("--data-parallel-backend ray\n") && contains("--data-parallel-size-local 4\n"));
    CHECK(text(serve("vllm", "2", "4")).find("--data-parallel-backend") == std::string::npos);
    CHECK(text(serve("vllm", "16", "1")).find("--data-parallel-backend") == std::string::npos);
    Json const wide = serve("vllm", "16", "2");
    CHECK(text(wide).find("--data-parallel-size-local") == std::string::npos);
    CHECK_THAT(wide.at("not_expressed").dump(), contains("VLLM_RAY_DP_PACK_STRATEGY=span"));
    CHECK_THAT(text(serve("tensorrt-llm", "16", "1")),
               contains("exec srun --mpi=pmix --nodes 2 --ntasks 16 --ntasks-per-node 8 trtllm-llmapi-launch "
                        "trtllm-serve \"$model\" "));
    CHECK_THAT(text(serve("tensorrt-llm", "8", "1")), contains("exec trtllm-serve \"$model\" "));
    CHECK_THAT(text(serve("trtllm", "8", "1")), contains("exec trtllm-serve \"$model\" "));
}

TEST_CASE("export serve: a deployment becomes a command of each engine", "[cli][export]") {
    for (std::string const engine : {"vllm", "sglang", "tensorrt-llm"}) {
        Json const json = [&] {
            RunResult const result =
                run_sextant({"export",       "serve",    "--engine",   engine, "--model",        "qwen3-30b-a3b",
                             "--cluster",    "h100-sxm", "--tp",       "1",    "--attention-dp", "4",
                             "--ep",         "4",        "--kv-cache", "fp8",  "--max-batch",    "64",
                             "--model-path", "org/name", "--report",   "json"});
            INFO(result.err);
            REQUIRE(result.code == 0);
            return Json::parse(result.out);
        }();
        std::string const text = json.at("files")[0].at("text");
        CHECK_THAT(text, contains("model_default=org/name"));
        if (engine == "vllm") CHECK_THAT(text, contains("--max-num-seqs 16") && contains("--enable-expert-parallel"));
        if (engine == "sglang") CHECK_THAT(text, contains("--tp-size 4") && contains("--enable-dp-attention"));
        if (engine == "tensorrt-llm") CHECK_THAT(text, contains("--tp_size 4") && contains("--ep_size 4"));
    }
    check_refused({"export", "serve", "--engine", "lmdeploy", "--model", "gpt2", "--cluster", "h100-sxm"},
                  "unknown engine 'lmdeploy'");
    check_refused({"export", "serve", "--engine", "vllm"}, "which model is served");
}

TEST_CASE("export serve: replicas for prompts and those that decode have a script each", "[cli][export]") {
    auto const serve = [](char const* engine, char const* prompts, char const* decodes) {
        RunResult const result =
            run_sextant({"export", "serve", "--engine", engine, "--model", "llama-3.1-70b", "--cluster", "h100-sxm",
                         "--tp", decodes, "--prefill-tp", prompts, "--prefill-replicas", "3", "--report", "json"});
        INFO(result.err);
        REQUIRE(result.code == 0);
        return Json::parse(result.out);
    };
    auto const file = [](Json const& json, std::string const& name) {
        for (Json const& each : json.at("files"))
            if (each.at("name") == name) return each.at("text").get<std::string>();
        FAIL(name << " is missing");
        return std::string();
    };
    Json const vllm = serve("vllm", "4", "8");
    CHECK_THAT(file(vllm, "vllm_prefill.sh"), contains("--tensor-parallel-size 4\n") && contains("NixlConnector") &&
                                                  contains("# It processes prompts only"));
    CHECK_THAT(file(vllm, "vllm_decode.sh"), contains("--tensor-parallel-size 8\n") && contains("NixlConnector"));
    CHECK_THAT(vllm.at("not_expressed").dump(), !contains("takes no cache of more ranks"));
    CHECK_THAT(serve("vllm", "8", "4").at("not_expressed").dump(), contains("takes no cache of more ranks"));
    Json const sglang = serve("sglang", "4", "8");
    CHECK_THAT(file(sglang, "sglang_prefill.sh"), contains("--disaggregation-mode prefill\n"));
    CHECK_THAT(file(sglang, "sglang_decode.sh"), contains("--disaggregation-mode decode\n"));
    Json const trtllm = serve("tensorrt-llm", "4", "8");
    CHECK_THAT(file(trtllm, "tensorrt_llm_prefill.yml"),
               contains("disable_overlap_scheduler: true") && contains("cache_transceiver_config"));
    CHECK_THAT(file(trtllm, "tensorrt_llm_decode.yml"), !contains("disable_overlap_scheduler"));
    CHECK_THAT(file(trtllm, "tensorrt_llm_prefill.sh"), contains("/tensorrt_llm_prefill.yml"));
    check_refused({"export", "serve", "--model", "llama-3.1-70b", "--cluster", "h100-sxm", "--prefill-tp", "4"},
                  "--prefill-replicas");
    check_refused({"export", "serve", "--model", "llama-3.1-70b", "--cluster", "h100-sxm", "--tp", "8",
                   "--prefill-replicas", "2"},
                  "--output");
}

TEST_CASE("export serve: vLLM takes requests as long as the model, or as the cache holds", "[cli][export]") {
    auto const serve = [](Arguments const& more) {
        RunResult const result =
            run_sextant(Arguments{"export", "serve", "--engine", "vllm", "--report", "json"} + more);
        INFO(result.err);
        REQUIRE(result.code == 0);
        return Json::parse(result.out);
    };
    auto const text = [](Json const& json) { return json.at("files")[0].at("text").get<std::string>(); };
    auto const held = [](Arguments const& more) {
        return report(Arguments{"serve", "estimate", "--prompt", "64", "--output-tokens", "64"} + more)
            .at("memory")
            .at("cache_tokens")
            .get<int>();
    };
    Arguments const small_card{"--model", "llama-3.1-8b", "--cluster", "l4-pcie"};
    int const tokens = held(small_card);
    REQUIRE(tokens < 131072);
    std::string const sure = std::to_string(static_cast<int>(0.96 * tokens));
    Json const cut = serve(small_card);
    CHECK_THAT(text(cut), contains("--max-model-len " + sure + "\n"));
    CHECK_THAT(cut.at("not_expressed").dump(), contains("may not hold a request of the model's 131072 tokens"));
    Json const whole = serve({"--model", "llama-3.1-8b", "--cluster", "h100-sxm"});
    CHECK_THAT(text(whole), contains("--max-model-len 131072\n"));
    CHECK(whole.at("not_expressed").empty());

    ScratchFolder const folder("export_serve_length");
    std::string const file = folder.path("serve.json");
    REQUIRE(run_sextant({"serve", "plan", "--model", "llama-3.1-8b", "--cluster", "l4-pcie", "--rate", "0.05", "--pp",
                         "1", "--prompt", "1000", "--output-tokens", "200", "--format", "json", "--output", file})
                .code == 0);
    CHECK_THAT(text(serve({"--plan", file, "--model", "llama-3.1-8b", "--cluster", "l4-pcie", "--tp", "1", "--kv-cache",
                           "bf16", "--weights", "bf16", "--max-batch", "256", "--max-batched-tokens", "8192"})),
               contains("--max-model-len " + sure + "\n"));
}

TEST_CASE("export serve: the token limit is of an attention group, of which SGLang wants whole pages and their sum",
          "[cli][export]") {
    auto const chunk = [](char const* tokens, char const* groups, char const* engine = "sglang") {
        return run_sextant({"export", "serve", "--engine", engine, "--model", "qwen3-30b-a3b", "--cluster", "h100-sxm",
                            "--max-batched-tokens", tokens, "--block-tokens", "64", "--attention-dp", groups})
            .out;
    };
    CHECK_THAT(chunk("8192", "1"), contains("--chunked-prefill-size 8192\n"));
    CHECK_THAT(chunk("5000", "1"), contains("--chunked-prefill-size 4992\n"));
    CHECK_THAT(chunk("5000", "2"), contains("--chunked-prefill-size 9984\n"));
    CHECK_THAT(chunk("5000", "4"), contains("--chunked-prefill-size 19968\n"));
    CHECK_THAT(chunk("5000", "4", "vllm"), contains("--max-num-batched-tokens 5000\n"));
    CHECK_THAT(chunk("5000", "4", "tensorrt-llm"), contains("--max_num_tokens 5000\n"));
}

TEST_CASE("export serve: a deployment from a file starts the engine that it is for, with its share of memory",
          "[cli][export][long]") {
    ScratchFolder const folder("export_serve_engine");
    std::string const file = folder.path("serve.json");
    auto const plan = [&](Arguments const& more) {
        RunResult const result = run_sextant(Arguments{"serve", "plan", "--model", "llama-3.1-8b", "--cluster",
                                                       "h100-sxm", "--engine", "sglang", "--memory-utilisation", "0.5",
                                                       "--rate", "1", "--format", "json", "--output", file} +
                                             more);
        INFO(result.err);
        REQUIRE(result.code == 0);
    };
    auto const exported = [&](Arguments const& more) {
        RunResult const result = run_sextant(Arguments{"export", "serve", "--plan", file, "--report", "json"} + more);
        INFO(result.err);
        REQUIRE(result.code == 0);
        return Json::parse(result.out);
    };
    auto const text = [](Json const& json) { return json.at("files")[0].at("text").get<std::string>(); };
    plan({});
    Json const own = exported({});
    CHECK_THAT(text(own), contains("sglang") && contains("--mem-fraction-static 0.500\n"));
    CHECK(own.at("not_expressed").dump().find("scheduler") == std::string::npos);
    CHECK_THAT(text(exported({"--engine", "vllm", "--memory-utilisation", "0.8"})),
               contains("vllm serve") && contains("--gpu-memory-utilization 0.8"));
    CHECK_THAT(text(exported({"--engine", "vllm"})), contains("--gpu-memory-utilization 0.9"));  // another share
    plan({"--scheduler", "fcfs"});
    Json const fcfs = exported({});
    CHECK_THAT(fcfs.at("not_expressed").dump(),
               contains("the plan's times are of 'fcfs', and sglang runs 'prefill-first'"));
    CHECK_THAT(text(fcfs), contains("# - scheduler: the plan's times are of 'fcfs'"));
}

TEST_CASE("export serve: every note is in the file, and a checkpoint's format is not converted in silence",
          "[cli][export]") {
    auto const serve = [](Arguments const& more) {
        RunResult const result =
            run_sextant(Arguments{"export", "serve", "--cluster", "h200-sxm", "--tp", "8", "--engine"} + more);
        INFO(result.err);
        REQUIRE(result.code == 0);
        return result;
    };
    RunResult const stored = serve({"vllm", "--model", "gpt-oss-120b"});
    CHECK_THAT(stored.out, contains("# - weights: the checkpoint is in fp4: four-bit weights") &&
                               !contains("Every part of the plan is expressed"));
    CHECK_THAT(stored.err, contains("the checkpoint is in fp4") && !contains("has to come with another one"));
    for (char const* engine : {"vllm", "sglang", "tensorrt-llm"}) {
        CAPTURE(engine);
        RunResult const other = serve({engine, "--model", "gpt-oss-120b", "--weights", "fp8"});
        CHECK_THAT(other.out, contains("# - weights: the engine loads the checkpoint as it is, in fp4") &&
                                  !contains("--quantization"));
        CHECK_THAT(serve({engine, "--model", "deepseek-v3"}).out, !contains("# - weights"));
    }
}

TEST_CASE("export serve: a replica that does not fit is answered with no", "[cli][export]") {
    RunResult const result = run_sextant(
        {"export", "serve", "--engine", "vllm", "--model", "deepseek-v3", "--cluster", "h100-sxm", "--tp", "1"});
    CHECK(result.code == 1);
    CHECK_THAT(result.out, contains("# DOES NOT FIT: weights 674.9 GB"));
    CHECK_THAT(result.err, contains("sextant: export serve: the replica does not fit into memory: weights 674.9 GB"));
}

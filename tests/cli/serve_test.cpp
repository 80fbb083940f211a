#include "cli/page/plotting_library.hpp"
#include "core/json/text_file.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <algorithm>
#include <cstdint>

namespace {

Arguments estimate(Arguments const& more, std::string const& model = "llama-3.1-70b", std::string const& tp = "4") {
    Arguments out{"serve", "estimate", "--model", model, "--cluster", "h100-sxm", "--tp", tp};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

}  // namespace

TEST_CASE("serve estimate: the parts of a first token and of an iteration add up, memory too") {
    Json const j = report(estimate({"--concurrency", "1,16,200", "--prompt", "3000", "--output-tokens", "100"}));
    CHECK(j["format"] == "serving-estimate");
    REQUIRE(j["rows"].size() == 3);
    for (Json const& row : j["rows"]) {
        double ttft = 0;
        for (auto const& [name, part] : row["ttft_parts"].items())
            ttft += part.get<double>();
        CHECK(ttft == Approx(row["ttft_s"].get<double>()));
        for (char const* which : {"decode_iteration", "chunk_iteration"}) {
            double sum = 0;
            for (auto const& [name, part] : row[which].items())
                if (name != "total_s") sum += part.get<double>();
            CHECK(sum == Approx(row[which]["total_s"].get<double>()));
        }
        CHECK(row["output_tokens_per_s"].get<double>() == Approx(100 * row["requests_per_s"].get<double>()));
    }
    Json const& m = j["memory"];
    CHECK(m["weights_bytes"].get<double>() + m["activations_bytes"].get<double>() + m["overhead_bytes"].get<double>() +
              m["cache_bytes"].get<double>() ==
          Approx(m["usable_bytes"].get<double>()));
    CHECK(j["rows"][2]["output_tokens_per_s"].get<double>() > j["rows"][0]["output_tokens_per_s"].get<double>());
    CHECK(j["rows"][2]["usd_per_million_output_tokens"].get<double>() <
          j["rows"][0]["usd_per_million_output_tokens"].get<double>());
}

TEST_CASE("serve estimate: narrower weights and caches make room, more experts are touched by larger batches") {
    Json const wide = report(estimate({"--concurrency", "1"}));
    Json const narrow = report(estimate({"--concurrency", "1", "--weights", "fp8", "--kv-cache", "fp8"}));
    CHECK(narrow["memory"]["cache_tokens"].get<double>() > 2 * wide["memory"]["cache_tokens"].get<double>());
    CHECK(narrow["rows"][0]["tpot_s"].get<double>() < wide["rows"][0]["tpot_s"].get<double>());
    Json const experts = report(estimate({"--batch", "1,64"}, "mixtral-8x7b", "2"));
    CHECK(experts["rows"][0]["experts_touched_share"].get<double>() == Approx(0.25));
    CHECK(experts["rows"][1]["experts_touched_share"].get<double>() > 0.99);
}

TEST_CASE("serve estimate: a rate above the capacity has no time to the first token, and code 1 when all are") {
    Json const j = report(estimate({"--rate", "0.1,1000"}));
    CHECK_FALSE(j["rows"][0]["saturated"].get<bool>());
    CHECK(j["rows"][1]["saturated"].get<bool>());
    CHECK(j["rows"][1]["ttft_s"].is_null());
    RunResult const all = run_sextant(estimate({"--rate", "1000"}));
    CHECK(all.code == 1);
    CHECK_THAT(all.out, contains("SATURATED"));
    CHECK_THAT(all.out, contains("unbounded"));
}

TEST_CASE("serve estimate: answers of one token have no time per further token, in any format") {
    for (char const* load : {"--rate", "--concurrency", "--batch"}) {
        Arguments const asked = estimate({load, "1,2", "--prompt", "4000", "--output-tokens", "1"});
        CAPTURE(load);
        Json const json = report(asked);
        for (Json const& row : json["rows"]) {
            CHECK(row.at("tpot_s").is_null());
            CHECK(row.at("bound") == "compute");
        }
        CHECK_THAT(run_sextant(asked).out, contains(" -           - "));
        RunResult const page = run_sextant(asked + Arguments{"--format", "html"});
        if (page.code == 3) continue;  // this build has no pages
        CHECK(page.code == 0);
        CHECK_THAT(page.out, !contains("Throughput against latency") && !contains("TPOT at"));
    }
    Json const two = report(estimate({"--batch", "1", "--output-tokens", "2"}));
    CHECK(two["rows"][0]["tpot_s"].get<double>() > 0);
}

TEST_CASE("serve estimate: an accelerator that waits for requests draws what a waiting one does") {
    Json const rows = report(estimate({"--rate", "0.0001,0.1,1,8"})).at("rows");
    double const rated = 700;  // h100-sxm
    double last = 0;
    for (Json const& row : rows) {
        CHECK(row.at("watts_per_gpu").get<double>() >= last);
        last = row.at("watts_per_gpu").get<double>();
    }
    CHECK(rows[0].at("watts_per_gpu").get<double>() == Approx(0.3 * rated).epsilon(0.01));
    CHECK(last > 0.5 * rated);
}

TEST_CASE("serve estimate: what does not fit says what is needed, with code 1") {
    RunResult const result = run_sextant(estimate({}, "llama-3.1-405b"));
    CHECK(result.code == 1);
    CHECK_THAT(result.out, contains("does not fit"));
    CHECK_THAT(result.out, contains("GB"));
    CHECK(result.err.empty());
    RunResult const json = run_sextant(estimate({"--format", "json"}, "llama-3.1-405b"));
    CHECK(json.code == 1);
    auto const j = nlohmann::json::parse(json.out);
    CHECK(j["fits"] == false);
    CHECK(j["rows"].empty());
    auto const& m = j["memory"];
    CHECK(m["needed_bytes"].get<double>() > m["usable_bytes"].get<double>());
    double sum = 0;
    for (char const* part : {"weights_bytes", "activations_bytes", "overhead_bytes", "request_cache_bytes"})
        sum += m[part].get<double>();
    CHECK(m["needed_bytes"].get<double>() == Approx(sum));
    // Sweeps and people who send the report to a file read why.
    CHECK(json.err == j["reason"].get<std::string>() + "\n");
    CHECK_THAT(run_sextant(estimate({"--format", "csv"}, "llama-3.1-405b")).out, contains("\nfalse,"));
    CHECK(report(estimate({}))["fits"] == true);
}

TEST_CASE("serve estimate: a narrower cache is advised where it is the cache that does not fit, not the weights") {
    auto const reason = [](char const* model, Arguments const& more) {
        return answer(Arguments{"serve", "estimate", "-m", model, "-c", "a100-sxm-40gb"} + more)
            .at("reason")
            .get<std::string>();
    };
    CHECK_THAT(reason("mixtral-8x7b", {"--tp", "1"}), contains("narrower --weights)"));
    CHECK_THAT(reason("qwen3-14b", {"--prompt", "40000", "--output-tokens", "900"}),
               contains("narrower --weights or --kv-cache)"));
}

TEST_CASE("serve estimate: the page says whether the cache or --max-batch limits the largest batch") {
    if (sextant::cli::plotting_library().empty()) return;
    auto const page = [](Arguments const& more) { return run_sextant(estimate({"--format", "html"}) + more).out; };
    CHECK_THAT(page({"--max-batch", "16"}), contains(", by --max-batch; the cache would hold "));
    CHECK_THAT(page({"--max-batch", "1000"}), contains(" tokens fit the cache"));
}

TEST_CASE("serve estimate: a batch that begins together has to fit the cache together, with code 1 where it does not") {
    Arguments const wide{"--max-batch", "4096"};  // the engine's own would stop it before
    double const tokens = report(estimate({"--batch", "1"}) + wide)["memory"]["cache_tokens"].get<double>();
    auto const most = static_cast<std::int64_t>(tokens / 1280);  // the usual 1024 + 256, whole blocks
    CHECK(run_sextant(estimate({"--batch", std::to_string(most)}) + wide).code == 0);
    RunResult const more = run_sextant(estimate({"--batch", std::to_string(most + 1)}) + wide);
    CHECK(more.code == 1);
    CHECK_THAT(more.out, contains("does not fit: a batch of " + std::to_string(most + 1)));
    CHECK(run_sextant(estimate({"--concurrency", std::to_string(most + 1)})).code == 0);
}

TEST_CASE("serve estimate: a batch that does not fit is a row that says so beside those that do, with code 1") {
    Arguments const asked = estimate({"--batch", "1,64,3000", "--prompt", "2000", "--max-batch", "4096"});
    RunResult const json = run_sextant(asked + Arguments{"--format", "json"});
    CHECK(json.code == 1);
    Json const j = Json::parse(json.out);
    CHECK(j["fits"] == true);
    REQUIRE(j["rows"].size() == 3);
    CHECK(j["rows"][1]["batch"] == 64);
    CHECK(j["rows"][1]["tpot_s"].get<double>() > 0);
    CHECK(j["rows"][2]["batch"] == 3000);
    CHECK(j["rows"][2]["fits"] == false);
    CHECK_THAT(j["rows"][2]["reason"].get<std::string>(), contains("a batch of 3000 requests of 2256 tokens"));
    for (char const* format : {"text", "markdown", "csv", "html"}) {
        if (std::string(format) == "html" && sextant::cli::plotting_library().empty()) continue;
        RunResult const other = run_sextant(asked + Arguments{"--format", format});
        CAPTURE(format);
        CHECK(other.code == 1);
        CHECK_THAT(other.out,
                   contains(std::string(format) == "csv" ? "a batch of 3000" : "DOES NOT FIT: the cache holds"));
    }
}

TEST_CASE("serve estimate: every format, the same bytes each time") {
    for (char const* format : {"text", "json", "csv", "markdown"}) {
        RunResult const once = run_sextant(estimate({"--format", format}));
        CHECK(once.code == 0);
        CHECK(once.out == run_sextant(estimate({"--format", format})).out);
    }
}

TEST_CASE("serve estimate: wrong questions are refused in one line") {
    std::vector<std::pair<Arguments, char const*>> const cases{
        {estimate({}, "llama-9"), "did you mean"},
        {estimate({}, "llama-3.1-70b", "7"), "does not divide"},
        {estimate({"--engine", "vlm"}), "did you mean 'vllm'"},
        {estimate({"--weights", "fp9"}), "--weights"},
        {estimate({"--kv-cache", "fp16x"}), "--kv-cache"},
        {estimate({"--prompt", "0"}), "--prompt"},
        {estimate({"--prompt", "nan"}), "--prompt"},
        {estimate({"--prompt", "1e6"}), "more than the 131072"},
        {estimate({"--output-tokens", "-4"}), "--output-tokens"},
        {estimate({"--cached", "5000"}), "--cached"},
        {estimate({"--shared", "500"}), "--shared: 500 (0 to the 0 of --cached)"},
        {estimate({"--cached", "500", "--shared", "501"}), "--shared"},
        {estimate({"--rate", "0"}), "--rate"},
        {estimate({"--rate", "1", "--batch", "2"}), "one of"},
        {estimate({"--batch", "2.5"}), "--batch: 2.5 (whole requests)"},
        {estimate({"--batch", "256,300", "--prompt", "100"}), "--batch: 300 (the engine runs 256 at a time"},
        {estimate({"--concurrency", "x"}), "--concurrency"},
        {estimate({"--memory-utilisation", "2"}), "--memory-utilisation"},
        {estimate({"--price", "-1"}), "--price"},
        {estimate({"--ep", "4"}), "has no experts"},
        {estimate({"--max-batch", "0"}), "--max-batch"},
        {estimate({"--block-tokens", "-1"}), "--block-tokens"},
    };
    for (auto const& [arguments, part] : cases) {
        RunResult const result = run_sextant(arguments);
        CAPTURE(arguments.back(), result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        CHECK_THAT(result.err, contains(part));
    }
}

TEST_CASE("serve plan: an answer in every format, code 1 when no size keeps the objectives", "[long]") {
    Arguments const base{"serve",  "plan", "--model",    "llama-3.1-8b", "--cluster", "h100-sxm,l40s-pcie",
                         "--rate", "8",    "--requests", "600",          "--pp",      "1,2"};
    for (char const* format : {"text", "json", "csv", "markdown"}) {
        Arguments arguments = base;
        arguments.insert(arguments.end(), {"--ttft", "1s", "--tpot", "60ms", "--format", format});
        RunResult const result = run_sextant(arguments);
        INFO(result.err);
        CHECK(result.code == 0);
        CHECK(result.out == run_sextant(arguments).out);
        if (std::string(format) != "json") continue;
        Json const j = Json::parse(result.out);
        CHECK(j["found"] == true);
        CHECK(j["candidates"][0]["simulation"]["kept_share"].get<double>() >= 0.99);
        CHECK(j["candidates"][0]["usd_per_hour"].get<double>() > 0);
    }
    Arguments impossible = base;
    impossible.insert(impossible.end(), {"--tpot", "0.1ms"});
    RunResult const no = run_sextant(impossible);
    CHECK(no.code == 1);
    CHECK_THAT(no.out, contains("times the objective"));
}

TEST_CASE("serve plan: without an answer every format says why and what may help, and tables have no header alone") {
    Arguments const base{"serve", "plan", "--cluster", "l40s-pcie", "--requests", "500"};
    struct Unanswered {
        Arguments more;
        std::vector<std::string> said;
    };
    std::vector<Unanswered> const cases{
        {{"--model", "llama-3.1-405b", "--rate", "5"}, {"fits the memory", "--weights fp8-block"}},
        {{"--model", "llama-3.1-405b", "--rate", "5", "--weights", "fp8-block", "--pp", "1,2"},
         {"that was tried fits the memory", "--weights int4-weights", "--pp 4"}},
        {{"--model", "kimi-k2", "--rate", "2", "--weights", "int4-weights", "--pp", "1", "--attention-dp", "1"},
         {"that was tried fits the memory", "fit: accelerators with", "--pp 2", "--attention-dp 2"}},
        {{"--model", "llama-3.1-8b", "--rate", "5", "--tpot", "0.1ms"}, {"keeps the objectives", "a longer --tpot"}},
        {{"--model", "llama-3.1-8b", "--rate", "500", "--max-gpus", "2"}, {"500 requests/s", "--max-gpus above 2"}},
    };
    for (auto const& [more, said] : cases)
        for (std::string const format : {"text", "markdown", "csv", "json"}) {
            RunResult const result = run_sextant(base + more + Arguments{"--format", format});
            bool const for_programs = format == "csv" || format == "json";
            CAPTURE(format, result.out, result.err);
            CHECK(result.code == 1);
            for (std::string const& words : said)
                CHECK_THAT(unwrapped(for_programs ? result.err : result.out), contains(words));
            if (format == "csv") CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
            if (format == "markdown") CHECK(result.out.find("---|") == std::string::npos);
            if (!for_programs) CHECK(result.err.empty());
        }
}

TEST_CASE("serve plan: a machine without a price, one that is not listed and an answer without room are said") {
    Arguments const base{"serve", "plan", "--model", "llama-3.1-8b", "--rate", "20",    "--tp",
                         "1",     "--pp", "1",       "--requests",   "500",    "--top", "2"};
    RunResult const text =
        run_sextant(base + Arguments{"--cluster", "h100-sxm,h800", "--ttft", "1s", "--tpot", "25ms"});
    CAPTURE(text.out, text.err);
    CHECK(text.code == 0);
    std::string const words = unwrapped(text.out);
    std::string const top = words.substr(0, words.find("# machine"));
    CHECK_THAT(top, contains("no price is known of h800") && contains("(--price USD,USD...: one of each"));
    CHECK_THAT(words.substr(top.size(), 600), contains("h800") && contains("h100-sxm"));
    RunResult const tight = run_sextant(base + Arguments{"--cluster", "h100-sxm", "--tpot", "12ms"});
    CHECK(tight.code == 0);
    CHECK_THAT(unwrapped(tight.out), contains("The first is tight: it misses the objectives at the upper end"));
    CHECK_THAT(unwrapped(tight.out), contains("TPOT of 99 % of the requests is up to"));
    RunResult const wide = run_sextant(base + Arguments{"--cluster", "h100-sxm"});
    CHECK_THAT(wide.out, !contains("tight"));
}

TEST_CASE("serve plan: wrong questions are refused in one line") {
    Arguments const base{"serve", "plan", "--model", "llama-3.1-8b", "--cluster", "h100-sxm"};
    std::vector<std::pair<Arguments, char const*>> const cases{
        {{}, "--rate"},
        {{"--rate", "0"}, "--rate"},
        {{"--rate", "nan"}, "--rate"},
        {{"--rate", "1", "--users", "5"}, "--rate"},
        {{"--users", "-1"}, "--users"},
        {{"--rate", "1", "--ttft", "5"}, "--ttft"},
        {{"--rate", "1", "--tpot", "-5ms"}, "--tpot"},
        {{"--rate", "1", "--share", "1.5"}, "--share"},
        {{"--rate", "1", "--weights", "fp9"}, "--weights"},
        {{"--rate", "1", "--kv-cache", "x"}, "--kv-cache"},
        {{"--rate", "1", "--prompt", "0"}, "--prompt"},
        {{"--rate", "1", "--prompt", "uniform:5"}, "--prompt"},
        {{"--rate", "1", "--arrivals", "closed"}, "--arrivals"},
        {{"--rate", "1", "--price", "1,2"}, "--price: 2 prices for 1 cluster (one of all, or one of each"},
        {{"--rate", "1", "--cluster", "h200-sxm,l40s-pcie", "--price", "3,4"}, "--price: 2 prices for 3 clusters"},
        {{"--rate", "1", "--max-gpus", "0"}, "--max-gpus"},
        {{"--rate", "1", "--memory-utilisation", "nan"}, "--memory-utilisation"},
        {{"--rate", "1", "--memory-utilisation", "1.5"}, "--memory-utilisation"},
        {{"--rate", "1", "--arrivals", "gamma", "--variation", "nan"}, "--variation"},
        {{"--rate", "1", "--engine", "none"}, "--engine"},
        {{"--rate", "1", "--scheduler", "lifo"}, "--scheduler"},
        {{"--rate", "1", "--tp", "3"}, "--tp: 3 does not divide"},
        {{"--rate", "1", "--pp", "33"}, "--pp: 33 (1 to 32)"},
        {{"--rate", "1", "--attention-dp", "0"}, "--attention-dp: 0"},
        {{"--rate", "1", "--scheduler", "fair"}, "tenant"},
        {{"--rate", "1", "--scheduler", "priority"}, "priority"},
    };
    for (auto const& [more, part] : cases) {
        Arguments arguments = base;
        arguments.insert(arguments.end(), more.begin(), more.end());
        RunResult const result = run_sextant(arguments);
        CAPTURE(arguments.back(), result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK_THAT(result.err, contains(part));
    }
}

TEST_CASE("serve: weights are as the checkpoint is where none are given, and the report says so", "[long]") {
    Arguments const deepseek{"serve", "estimate", "--model", "deepseek-v3", "--cluster", "h200-sxm", "--tp", "8"};
    Json const stored = report(deepseek + Arguments{"--concurrency", "16"});
    Json const given = report(deepseek + Arguments{"--concurrency", "16", "--weights", "fp8-block"});
    CHECK(stored["plan"]["weights"] == "fp8-block");
    CHECK(stored["plan"]["weights_origin"] == "checkpoint");
    CHECK(stored["plan"]["kv_cache_origin"] == "usual");
    CHECK(given["plan"]["weights_origin"] == "given");
    CHECK(stored["rows"] == given["rows"]);
    CHECK_THAT(run_sextant(deepseek).out, contains("weights fp8-block as the checkpoint is"));
    CHECK_THAT(run_sextant(deepseek + Arguments{"--weights", "fp8-block"}).out, !contains("as the checkpoint is"));
    RunResult const planned = run_sextant({"serve", "plan", "--model", "deepseek-v3", "--cluster", "h200-sxm", "--rate",
                                           "1", "--requests", "500", "--top", "1", "--pp", "1,2"});
    CHECK_THAT(planned.out, contains("weights fp8-block, as the checkpoint is"));
}

TEST_CASE("serve: a config.json says its formats, of weights and cache, and what is not known is said") {
    ScratchFolder const scratch("quantised");
    Json config = Json::parse(sextant::read_text_file(SEXTANT_SOURCE_DIR "/models/llama-3.1-8b.json", 1 << 20));
    auto const asked = [&](Json const& quantisation, Arguments const& more = {}) {
        config["quantization_config"] = quantisation;
        return Arguments{"serve",     "estimate", "--model", scratch.file("model.json", config.dump()),
                         "--cluster", "h100-sxm"} +
               more;
    };
    Json const numbers{{"num_bits", 8}, {"type", "float"}};
    Json const tensors{{"quant_method", "compressed-tensors"},
                       {"kv_cache_scheme", numbers},
                       {"config_groups", {{"group_0", {{"weights", numbers}, {"input_activations", numbers}}}}}};
    Json const found = report(asked(tensors));
    CHECK(found["plan"]["weights"] == "fp8");
    CHECK(found["plan"]["kv_cache"] == "fp8");
    CHECK(found["plan"]["kv_cache_origin"] == "checkpoint");
    Json const other = report(asked(tensors, {"--weights", "bf16", "--kv-cache", "bf16"}));
    CHECK(other["plan"]["weights"] == "bf16");
    CHECK(other["plan"]["kv_cache"] == "bf16");
    RunResult const unknown = run_sextant(asked({{"quant_method", "aqlm"}}));
    CHECK(unknown.code == 0);
    CHECK_THAT(unknown.out, contains("'aqlm' is not known here"));
    CHECK_THAT(unknown.out, contains("weights bf16, cache bf16"));
    check_refused(asked({{"quant_method", "gptq"}, {"bits", "four"}}), "quantization_config.bits", "'four'");
    // An engine refuses to be told another method than the checkpoint's.
    Arguments exported{"export", "serve", "--model", scratch.path("model.json"), "--cluster", "h100-sxm"};
    static_cast<void>(asked(tensors));
    CHECK_THAT(run_sextant(exported).out, !contains("--quantization"));
    CHECK_THAT(run_sextant(exported + Arguments{"--weights", "fp8"}).out, !contains("--quantization"));
}

TEST_CASE("serve estimate: closed loops of one- and two-token answers are those of serve simulate, in pipelines too") {
    for (char const* pp : {"1", "2", "4"})
        for (char const* prompt : {"256", "2048"})
            for (char const* output : {"1", "2"})
                for (char const* concurrency : {"1", "2", "8", "64"}) {
                    CAPTURE(pp, prompt, output, concurrency);
                    Arguments const loop{"-m",   "llama-3.1-8b",    "-c",   "h100-sxm",      "--pp",     pp, "--prompt",
                                         prompt, "--output-tokens", output, "--concurrency", concurrency};
                    Json const estimated = report(Arguments{"serve", "estimate"} + loop);
                    Json const simulated = report(Arguments{"serve", "simulate", "--count", "3000"} + loop);
                    Json const& row = estimated.at("rows").at(0);
                    CHECK(row.at("ttft_s").get<double>() ==
                          Approx(simulated.at("ttft").at("mean_s").get<double>()).epsilon(0.1));
                    CHECK(row.at("requests_per_s").get<double>() ==
                          Approx(simulated.at("requests_per_s").get<double>()).epsilon(0.1));
                    if (std::string(output) == "2")
                        CHECK(row.at("tpot_s").get<double>() ==
                              Approx(simulated.at("tpot").at("mean_s").get<double>()).epsilon(0.1));
                    Json const& parts = row.at("ttft_parts");
                    CHECK(parts.at("queue_s").get<double>() >= 0);
                }
}

TEST_CASE("serve estimate: the parts of a device's memory add up, a pool of recurrent states among them") {
    Json const memory = report(estimate({"--batch", "1", "--engine", "sglang"}, "qwen3-next-80b-a3b"))["memory"];
    CHECK(memory["state_pool_bytes"].get<double>() > 0);
    double sum = 0;
    for (char const* const part : {"weights", "activations", "overhead", "state_pool", "cache"})
        sum += memory[std::string(part) + "_bytes"].get<double>();
    CHECK(sum == Approx(memory["usable_bytes"].get<double>()));
}

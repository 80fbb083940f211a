#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace sextant;

namespace {

Arguments simulate(Arguments const& more) {
    Arguments out{"serve", "simulate", "--model", "llama-3.1-70b", "--cluster", "h100-sxm", "--tp", "2"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

double at(Json const& json, char const* path) { return json.at(Json::json_pointer(path)).get<double>(); }

/// More in flight than the cache holds.
Arguments crowded(Arguments const& more) {
    Arguments out{"--concurrency", "60", "--count", "400", "--prompt", "1500", "--output-tokens", "uniform:50-900"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

}  // namespace

TEST_CASE("serve simulate: swap saves the computing again, and says what it copied and over what") {
    Json const again = answer(simulate(crowded({})));
    Json const swap = answer(simulate(crowded({"--preemption", "swap"})));
    REQUIRE(at(again, "/preemptions") > 20);
    CHECK(at(again, "/recomputed_tokens") > 0);
    CHECK_FALSE(again.contains("swap"));
    CHECK(at(swap, "/recomputed_tokens") == 0);
    CHECK(at(swap, "/swap/count") == at(swap, "/preemptions"));
    // 70B: 2 x 80 layers x 8 heads x 128 x 2 bytes over two ranks at 50 GB/s each, there and back.
    CHECK(at(swap, "/swap/copying_s") == Approx(2 * at(swap, "/swap/tokens") * 163840 / 50e9).epsilon(1e-6));
    CHECK(swap.at("assumptions").dump().find("50 GB/s") != std::string::npos);
    // vLLM has not swapped since its first engine.
    CHECK(swap.at("assumptions").dump().find("vllm computes preempted sequences again") != std::string::npos);
    CHECK(again.at("assumptions").dump().find("preempted") == std::string::npos);
    Json const old = answer(simulate(crowded({"--preemption", "swap", "--engine", "vllm-v0"})));
    CHECK(old.at("assumptions").dump().find("computes preempted") == std::string::npos);
    // A smaller host cache takes less: 32 GB hold nearly 200 K tokens, 0.5 GB one sequence or two.
    Json const small = answer(simulate(crowded({"--preemption", "swap", "--host-cache", "0.5 GB"})));
    CHECK(at(small, "/swap/count") < at(small, "/preemptions"));
    CHECK(at(small, "/recomputed_tokens") > 0);
}

TEST_CASE("serve simulate: a host cache without use, without a unit, or beyond the host is refused") {
    check_refused(simulate(crowded({"--host-cache", "4 GB"})), "--host-cache: nothing goes there");
    check_refused(simulate(crowded({"--preemption", "swop"})), "did you mean 'swap'");
    check_refused(simulate(crowded({"--preemption", "swap", "--host-cache", "4"})), "--host-cache");
    check_refused(simulate(crowded({"--preemption", "swap", "--host-cache", "-4 GB"})), "--host-cache");
    check_refused(simulate(crowded({"--preemption", "swap", "--host-cache", "nan GB"})), "--host-cache");
    check_refused(simulate(crowded({"--preemption", "swap", "--host-cache", "9999 TB"})), "has on its host");
}

TEST_CASE("serve simulate: resident adapters take their bytes from the cache, and fewer slots mean fewer hits") {
    Arguments const load{"--concurrency", "16", "--count", "300", "--prompt", "300", "--output-tokens", "50"};
    auto const run = [&](Arguments const& more) {
        Arguments all = load;
        all.insert(all.end(), more.begin(), more.end());
        return answer(simulate(all));
    };
    Json const none = run({});
    Json const all = run({"--adapters", "12", "--adapter-rank", "16", "--adapter-slots", "12"});
    Json const few = run({"--adapters", "12", "--adapter-rank", "16", "--adapter-slots", "3"});
    double const block = 163840.0 * 16;
    CHECK(at(none, "/setup/blocks") - at(all, "/setup/blocks") ==
          Approx(12 * at(all, "/adapters/bytes_each") / block).margin(1));
    CHECK(at(few, "/setup/blocks") > at(all, "/setup/blocks"));
    CHECK(at(few, "/adapters/hit_rate") < at(all, "/adapters/hit_rate"));
    CHECK(at(all, "/adapters/hit_rate") > 0.9);
    CHECK(at(all, "/tpot/mean_s") > at(none, "/tpot/mean_s"));
    CHECK_FALSE(none.contains("adapters"));
    // Slots for more than there are take no memory.
    CHECK(run({"--adapters", "12", "--adapter-rank", "16", "--adapter-slots", "50"}) == all);
}

TEST_CASE("serve simulate: adapters of a trace are its own, and rows without one use the model") {
    ScratchFolder const folder("serve_adapters");
    std::string const trace = folder.file("t.csv",
                                          "arrival_s,prompt,output,adapter\n"
                                          "0,500,20,sql\n0.1,500,20,\n0.2,500,20,law\n3,500,20,sql\n");
    Json const json = answer(simulate({"--trace", trace, "--adapter-rank", "8", "--warmup", "0"}));
    CHECK(at(json, "/setup/adapters") == 2);
    CHECK(at(json, "/adapters/wanted") == 3);
    CHECK(at(json, "/adapters/loaded") == 2);
    check_refused(simulate({"--trace", trace}), "--adapter-rank: wanted");
    check_refused(simulate({"--trace", trace, "--adapters", "3"}), "the trace says that");
    std::string const plain = folder.file("p.csv", "arrival_s,prompt,output\n0,500,20\n");
    check_refused(simulate({"--trace", plain, "--adapter-rank", "8"}), "no adapters in");
}

TEST_CASE("serve simulate: adapters that cannot be are refused, and those that leave no cache do not fit") {
    check_refused(simulate({"--rate", "1", "--adapter-rank", "8"}), "there are no adapters");
    check_refused(simulate({"--rate", "1", "--adapters", "-1"}), "--adapters");
    check_refused(simulate({"--rate", "1", "--adapters", "4", "--adapter-rank", "0"}), "--adapter-rank: 0");
    check_refused(simulate({"--rate", "1", "--adapters", "4", "--adapter-slots", "0"}), "--adapter-slots: 0");
    RunResult const result =
        run_sextant(simulate({"--rate", "1", "--adapters", "900", "--adapter-rank", "512", "--adapter-slots", "900"}));
    CHECK(result.code == 1);
    CHECK_THAT(result.out, contains("does not fit"));
    CHECK_THAT(result.out, contains("900 adapters"));
}

TEST_CASE("serve simulate: caches that share NICs take longer than alone, with --network ideal they do not") {
    Arguments const load{"--concurrency",     "40", "--count",  "500",  "--prefill-replicas", "4",
                         "--decode-replicas", "2",  "--prompt", "8000", "--output-tokens",    "20"};
    Arguments ideal = load;
    ideal.insert(ideal.end(), {"--network", "ideal"});
    Json const shared = answer(simulate(load));
    Json const alone = answer(simulate(ideal));
    CHECK(at(shared, "/transfers/mean_s") > at(shared, "/transfers/alone_s"));
    CHECK(at(alone, "/transfers/mean_s") == Approx(at(alone, "/transfers/alone_s")).epsilon(1e-6));
    CHECK(at(shared, "/output_tokens") == 500 * 20);
    check_refused(simulate({"--rate", "1", "--network", "ideal"}), "--network: no cache goes");
    Arguments unknown = load;
    unknown.insert(unknown.end(), {"--network", "fare"});
    check_refused(simulate(unknown), "fair");
}

TEST_CASE("serve simulate: an autoscaled fleet pays for what it holds, and says what a cold start is made of") {
    Arguments const load{"--rate", "4", "--count", "1500", "--prompt", "300", "--output-tokens", "100"};
    Arguments scaled = load;
    scaled.insert(scaled.end(), {"--autoscale", "1..6", "--scale-target", "requests:10", "--price", "2"});
    Json const json = answer(simulate(scaled));
    CHECK(at(json, "/fleet/held_mean") < 6);
    CHECK(at(json, "/fleet/held_mean") >= at(json, "/fleet/up_mean"));
    CHECK(at(json, "/fleet/started") > 0);
    CHECK(at(json, "/fleet/cost_usd") == Approx(2 * at(json, "/fleet/gpu_hours")));
    // 70.56 GB on each of two accelerators at 40 GB/s a node, and 30 s.
    CHECK(at(json, "/fleet/cold_start_s") == Approx(2 * 70.56 / 40 + 30).epsilon(0.05));
    CHECK(json.at("assumptions").dump().find("local-nvme") != std::string::npos);
    CHECK(at(json, "/output_tokens") == 150000);
    CHECK(at(json, "/output_tokens_per_s_per_gpu") ==
          Approx(at(json, "/output_tokens_per_s") / (2 * at(json, "/fleet/held_mean"))));
    CHECK(json.at("state") == "steady");
    Arguments given = scaled;
    given.insert(given.end(), {"--cold-start", "3 s"});
    CHECK(at(answer(simulate(given)), "/fleet/cold_start_s") == 3);
    Arguments fixed = load;
    fixed.insert(fixed.end(), {"--replicas", "6"});
    CHECK_FALSE(answer(simulate(fixed)).contains("fleet"));
}

TEST_CASE("serve simulate: a trace that replicas follow is measured from its first request on, unless told otherwise") {
    ScratchFolder const scratch("burst");
    std::string rows = "arrival_s,prompt,output\n";
    for (int i = 0; i < 100; ++i)
        rows += fmt::format("{},500,20\n", i < 10 ? 0.0 : 10.0 * i);
    std::string const trace = scratch.file("t.csv", rows);
    auto const measured = [&](Arguments const& more) {
        return at(answer(simulate(Arguments{"--trace", trace} + more)), "/requests/measured");
    };
    CHECK(measured({"--autoscale", "1..3"}) == 100);
    CHECK(measured({"--autoscale", "1..3", "--warmup", "0.1"}) == 90);
    CHECK(measured({}) == 90);
}

TEST_CASE("serve simulate: a closed loop of no more requests than are in flight says that they come at once") {
    auto const load = [](Arguments const& more) {
        return answer(simulate(Arguments{"--prompt", "100", "--output-tokens", "4", "--concurrency"} + more));
    };
    CHECK(load({"50", "--count", "20"}).at("load").get<std::string>().starts_with("all 20 requests at once"));
    CHECK(
        load({"20", "--count", "50"}).at("load").get<std::string>().starts_with("20 requests in flight at all times"));
    CHECK(at(load({"6000"}), "/requests/asked") == 12000);
}

TEST_CASE("serve simulate: failures and drains are counted, and every token still comes out") {
    Json const json = answer(simulate({"--rate", "2", "--count", "1500", "--replicas", "3", "--prompt", "300",
                                       "--output-tokens", "100", "--replica-mtbf", "120 s", "--replica-repair", "20 s",
                                       "--drain-at", "100 s:2", "--drain-for", "30 s"}));
    CHECK(at(json, "/fleet/failures") > 3);
    CHECK(at(json, "/fleet/drains") <= 1);
    CHECK(at(json, "/fleet/restarted_requests") > 0);
    CHECK(at(json, "/fleet/availability") == Approx(120.0 / 140).margin(0.12));
    CHECK(at(json, "/output_tokens") == 150000);
    check_refused(simulate({"--rate", "1", "--replica-repair", "5 s"}), "--replica-repair: no replica fails");
    check_refused(simulate({"--rate", "1", "--replica-mtbf", "0 s"}), "--replica-mtbf");
    check_refused(simulate({"--rate", "1", "--replica-mtbf", "nan s"}), "--replica-mtbf");
    check_refused(simulate({"--rate", "1", "--drain-for", "5 s"}), "--drain-for: nothing");
    check_refused(simulate({"--rate", "1", "--drain-at", "5 s"}), "no replica is sure to stay");
    check_refused(simulate({"--rate", "1", "--drain-at", "5 s:7", "--replicas", "2"}), "there is no replica 7");
    check_refused(simulate({"--rate", "1", "--drain-at", "5 s:x", "--replicas", "2"}), "not of the form");
    check_refused(simulate({"--rate", "1", "--autoscale", "4"}), "MIN..MAX");
    check_refused(simulate({"--rate", "1", "--autoscale", "4..2"}), "--autoscale");
    check_refused(simulate({"--rate", "1", "--autoscale", "0..2"}), "--autoscale");
    check_refused(simulate({"--rate", "1", "--autoscale", "1..2", "--replicas", "2"}), "--replicas: --autoscale");
    check_refused(simulate({"--rate", "1", "--autoscale", "1..2", "--scale-target", "busy:3"}), "busy:3");
    check_refused(simulate({"--rate", "1", "--autoscale", "1..2", "--scale-target", "load:3"}), "waiting:N");
    check_refused(simulate({"--rate", "1", "--scale-every", "3 s"}), "--scale-every: the number of replicas is fixed");
    check_refused(simulate({"--rate", "1", "--cold-start", "3 s"}), "no replica starts");
}

TEST_CASE("serve simulate: tenants get their share of the requests, and their tokens add up") {
    Json const json =
        answer(simulate({"--rate", "3", "--count", "3000", "--warmup", "0", "--prompt", "200", "--output-tokens", "20",
                         "--tenants", "big:3,small:1", "--scheduler", "fair", "--slo-ttft", "1 s"}));
    Json const& tenants = json.at("tenants");
    REQUIRE(tenants.size() == 2);
    CHECK(tenants[0].at("name") == "big");
    CHECK(at(tenants[0], "/measured") + at(tenants[1], "/measured") == 3000);
    CHECK(at(tenants[0], "/token_share") == Approx(0.75).margin(0.03));
    CHECK(at(tenants[0], "/token_share") + at(tenants[1], "/token_share") == Approx(1));
    CHECK(at(tenants[0], "/output_tokens") == 20 * at(tenants[0], "/measured"));
    CHECK(at(tenants[0], "/ttft/count") == at(tenants[0], "/measured"));
    // All requests are some tenant's: means add up.
    CHECK((at(tenants[0], "/e2e/mean_s") * at(tenants[0], "/measured") +
           at(tenants[1], "/e2e/mean_s") * at(tenants[1], "/measured")) /
              3000 ==
          Approx(at(json, "/e2e/mean_s")).epsilon(1e-9));
    CHECK(answer(simulate({"--rate", "3", "--count", "300", "--tenants", "4"})).at("tenants").size() == 4);
    CHECK_FALSE(answer(simulate({"--rate", "3", "--count", "300"})).contains("tenants"));
    for (char const* bad : {"0", "-2", "1.5", "nan", "a:1,a:2", "a:0", "a:x", ":1", "a:1,"})
        check_refused(simulate({"--rate", "1", "--tenants", bad}), "--tenants");
    check_refused(simulate({"--rate", "1", "--scheduler", "fair"}), "fair wants several tenants");
}

TEST_CASE("serve simulate: pictures and the table over time are written where asked for") {
    ScratchFolder const folder("serve_plots");
    std::string const plots = folder.path("plots");
    Json const json = answer(simulate({"--rate", "0.5", "--count", "1000", "--plots", plots}));
    CsvTable const table = read_csv(plots + "/over_time.csv");
    REQUIRE(table.records.size() > 100);
    std::size_t const tokens = *table.find("tokens_out");
    CHECK(std::stod(table.records.back().cells[tokens]) <= at(json, "/output_tokens"));
    for (char const* name : {"latency.svg", "load.svg", "cost.svg"}) {
        std::string const svg = read_text_file(plots + "/" + name);
        CHECK(svg.rfind("<svg", 0) == 0);
        CHECK(svg.find("</svg>") != std::string::npos);
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(svg.find("inf") == std::string::npos);
    }
    std::string const file = folder.file("file", "x");
    check_refused(simulate({"--rate", "3", "--count", "10", "--plots", file + "/below"}), "--plots");
}

TEST_CASE("serve simulate: an overloaded run says how fast the queue grows, and when the objective is first missed") {
    Json const json = answer(simulate({"--rate", "8", "--count", "5000", "--slo-ttft", "2 s"}));
    REQUIRE(json.at("state") == "overloaded");
    double const drift = at(json, "/overload/drift_requests_per_s");
    double const capacity = at(json, "/overload/capacity_requests_per_s");
    CHECK(drift == Approx(at(json, "/overload/offered_requests_per_s") - capacity));
    CHECK(at(json, "/overload/ttft_missed_from_s") ==
          Approx(at(json, "/overload/since_s") + 2 * capacity / drift).epsilon(1e-9));
}

TEST_CASE("serve: requests go as far as the scaled positions of a config, or --context", "[serve]") {
    ScratchFolder const folder("context");
    Json config = Json::parse(read_text_file(SEXTANT_SOURCE_DIR "/models/qwen3-8b.json", 1 << 20));
    if (config.contains("config")) config = Json(config.at("config"));
    config["max_position_embeddings"] = 40960;
    std::string const plain = folder.file("plain.json", config.dump());
    config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
    std::string const yarn = folder.file("yarn.json", config.dump());
    auto const asked = [](std::string const& model, Arguments const& more) {
        return Arguments{"serve", "estimate", "-m", model, "-c", "h100-sxm", "--concurrency", "1"} + more;
    };
    CHECK(report(asked(yarn, {"--prompt", "60000"})).at("context") == 131072);
    check_refused(asked(yarn, {"--prompt", "131072"}), "131072 + 256 tokens are more than the 131072", "--context");
    check_refused(asked(plain, {"--prompt", "60000"}), "60000 + 256 tokens are more than the 40960", "--context");
    Json const longer = report(asked(plain, {"--prompt", "60000", "--context", "64Ki"}));
    CHECK(longer.at("context") == 65536);
    CHECK_THAT(longer.at("assumptions").dump(), contains("where the config of") && contains("says 40960"));
    check_refused(asked(plain, {"--prompt", "5000", "--context", "4096"}), "more than the 4096");
    check_refused(asked("opt-6.7b", {"--context", "4096"}), "positions that opt-6.7b has learned");
    check_refused({"serve", "plan", "-m", plain, "-c", "h100-sxm", "--rate", "1", "--prompt", "60000"}, "--context");
    check_refused({"serve", "simulate", "-m", plain, "-c", "h100-sxm", "--rate", "1", "--prompt", "60000"}, "40960",
                  "--context");
    CHECK(run_sextant({"serve", "simulate", "-m", plain, "-c", "h100-sxm", "--concurrency", "1", "--count", "20",
                       "--prompt", "60000", "--context", "65536"})
              .code == 0);
    // The engine gets it as its longest request.
    std::string const deployment =
        folder.file("deployment.json",
                    run_sextant({"serve", "plan", "-m", plain, "-c", "h100-sxm", "--rate", "1", "--requests", "500",
                                 "--pp", "1", "--context", "65536", "--prompt", "60000", "--format", "json"})
                        .out);
    for (auto const& [engine, option] :
         {std::pair{"vllm", "--max-model-len 65536"}, std::pair{"sglang", "--context-length 65536"},
          std::pair{"tensorrt-llm", "--max_seq_len 65536"}}) {
        RunResult const script = run_sextant(
            {"export", "serve", "--engine", engine, "--plan", deployment, "--model", plain, "--report", "json"});
        INFO(script.err << script.out);
        CHECK_THAT(script.out, contains(option) && contains("goes to 40960 tokens"));
    }
}

TEST_CASE("serve plan: limits of the batch that are given are those that are tried", "[serve]") {
    Arguments const plan{"serve", "plan", "-m", "llama-3.1-8b", "-c", "h100-sxm",   "--rate",
                         "5",     "--tp", "1",  "--pp",         "1",  "--requests", "500"};
    Json const json = report(plan + Arguments{"--max-batch", "20,40", "--max-batched-tokens", "1024"});
    CHECK(json.at("counts").at("enumerated") == 2);
    Json const first = json.at("candidates").at(0).at("plan");
    CHECK((first.at("max_batch") == 20 || first.at("max_batch") == 40));
    CHECK(first.at("max_batched_tokens") == 1024);
    check_refused(plan + Arguments{"--max-batch", "0"}, "--max-batch: 0");
    check_refused(plan + Arguments{"--max-batched-tokens", "-8"}, "--max-batched-tokens: -8");
}

TEST_CASE("serve plan: replicas for prompts that an engine does not start, or that have no use, are said", "[serve]") {
    Arguments const plan{
        "serve",      "plan", "-m",     "llama-3.1-8b", "-c",   "h100-sxm", "--disaggregated",      "--rate", "20",
        "--requests", "500",  "--ttft", "1s",           "--tp", "1,2",      "--max-batched-tokens", "2048"};
    auto const assumptions = [&](Arguments const& more) { return report(plan + more).at("assumptions").dump(); };
    std::string const fault = "vLLM's connector takes no caches of pipeline stages";
    CHECK_THAT(assumptions({"--tpot", "8ms", "--pp", "2"}), contains(fault));
    CHECK_THAT(assumptions({"--tpot", "8ms", "--pp", "1"}), !contains(fault));
    CHECK_THAT(assumptions({"--output-tokens", "1"}), contains("answers of one token"));
    CHECK_THAT(assumptions({"--output-tokens", "2", "--pp", "1"}), !contains("answers of one token"));
}

TEST_CASE("serve plan: the report says with how many seeds the first was simulated, and what the worst kept",
          "[serve]") {
    Arguments const plan{"serve", "plan", "-m", "llama-3.1-8b", "-c",  "h100-sxm", "--rate", "20", "--tp",
                         "1",     "--pp", "1",  "--requests",   "500", "--tpot",   "40ms"};
    Json const first = report(plan).at("candidates").at(0);
    Json const confirmed = first.at("confirmation");
    CHECK(confirmed.at("simulations").get<int>() >= 3);
    CHECK(confirmed.at("least_kept_share").get<double>() >= 0.99);
    CHECK(confirmed.at("least_kept_share").get<double>() <= first.at("simulation").at("kept_share").get<double>());
    CHECK(confirmed.at("tpot_kept_s").at(0).get<double>() <= confirmed.at("tpot_kept_s").at(1).get<double>());
    CHECK_THAT(run_sextant(plan).out, contains("The first keeps the objectives in") && contains("a seed each"));
}

TEST_CASE("serve plan: what needs another option is refused without it", "[serve]") {
    Arguments const plan{"serve", "plan", "-m", "llama-3.1-8b", "-c", "h100-sxm"};
    check_refused(plan + Arguments{"--rate", "2", "--variation", "3"}, "--variation", "--arrivals gamma");
    check_refused(plan + Arguments{"--rate", "2", "--variation", "3", "--arrivals", "poisson"}, "--arrivals gamma");
    check_refused(plan + Arguments{"--rate", "2", "--requests-per-user", "3"}, "--requests-per-user", "--users");
    check_refused(plan + Arguments{"--requests-per-user", "3"}, "--requests-per-user", "--users");
    check_refused(plan + Arguments{"--trace", "t.csv", "--requests-per-user", "3"}, "the trace says that");
}

TEST_CASE("serve: shares may be per cents, tokens multiples of 1,024", "[serve]") {
    Arguments const load{"-m", "llama-3.1-8b", "-c", "h100-sxm"};
    auto const estimate = [&](Arguments const& more) {
        return Arguments{"serve", "estimate", "--concurrency", "2"} + load + more;
    };
    CHECK(report(estimate({"--memory-utilisation", "85%", "--prompt", "8Ki"})) ==
          report(estimate({"--memory-utilisation", "0.85", "--prompt", "8192"})));
    check_refused(estimate({"--memory-utilisation", "120%"}), "--memory-utilisation");
    check_refused(estimate({"--memory-utilisation", "%"}), "--memory-utilisation");
    check_refused(estimate({"--prompt", "8k"}), "--prompt", "8000", "8Ki");
    auto const simulate = [&](Arguments const& more) {
        return Arguments{"serve", "simulate", "--rate", "2", "--count", "200"} + load + more;
    };
    CHECK(report(simulate({"--warmup", "20%", "--prompt", "1Ki", "--speculate", "2", "--acceptance", "70%"})) ==
          report(simulate({"--warmup", "0.2", "--prompt", "1024", "--speculate", "2", "--acceptance", "0.7"})));
    check_refused(simulate({"--prompt", "lognormal:8K,1"}), "--prompt", "8Ki");
    auto const plan = [&](Arguments const& more) {
        return Arguments{"serve", "plan", "--rate", "2", "--requests", "500", "--pp", "1"} + load + more;
    };
    CHECK(report(plan({"--share", "95%", "--max-error", "10%"})) ==
          report(plan({"--share", "0.95", "--max-error", "0.1"})));
    check_refused(plan({"--prompt", "128k"}), "--prompt", "128Ki");
}

TEST_CASE("serve plan: lengths stand in the JSON as the options spell them", "[serve]") {
    Json const j = report({"serve", "plan", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "2", "--requests", "500",
                           "--pp", "1", "--prompt", "lognormal:3000,1", "--output-tokens", "uniform:100-300"});
    CHECK(j.at("prompt") == "lognormal:3000,1");
    CHECK(j.at("output") == "uniform:100-300");
    CHECK(run_sextant({"serve", "simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "2", "--count", "50",
                       "--prompt", j.at("prompt"), "--output-tokens", j.at("output")})
              .code == 0);
}

TEST_CASE("serve plan: a checkpoint as it was released is not rejected for what its format would lose", "[serve]") {
    Arguments const plan{
        "serve",          "plan", "-m",         "gpt-oss-120b", "-c",   "h100-sxm", "--rate", "2", "--ttft",      "2s",
        "--tpot",         "50ms", "--requests", "500",          "--tp", "2",        "--pp",   "1", "--max-error", "0.1",
        "--attention-dp", "1"};
    Json const own = report(plan);
    CHECK(own.at("found").get<bool>());
    Json const& best = own.at("candidates").at(0);
    CHECK(best.at("plan").at("weights") == "int4-weights");
    CHECK(best.at("plan").at("weights_stored") == "mxfp4");
    CHECK(best.at("error").get<double>() < 0.01);
    Json const quantised = answer({"serve", "plan", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "2", "--requests",
                                   "500", "--pp", "1", "--weights", "fp4,int4-weights", "--max-error", "0.1"});
    CHECK_THAT(quantised.at("counts").at("rejected").dump(), contains("int4-weights weights: output error 17 %"));
    CHECK(quantised.at("candidates").at(0).at("plan").at("weights_stored") == "fp4");
    CHECK(quantised.at("candidates").at(0).at("error").get<double>() == Approx(0.095).epsilon(0.05));
}

TEST_CASE("serve estimate: formats that a device lacks run widened, or the error names others", "[serve]") {
    auto const on = [](char const* cluster, char const* weights, char const* engine = "vllm") {
        return Arguments{"serve", "estimate", "-m",   "llama-3.1-8b",  "-c", cluster, "--weights",
                         weights, "--engine", engine, "--concurrency", "4"};
    };
    Json const ampere = report(on("a100-sxm-80gb", "fp8"));
    CHECK(ampere.at("plan").at("weights") == "int8-weights");
    CHECK(ampere.at("plan").at("weights_stored") == "fp8");
    CHECK_THAT(ampere.at("assumptions").dump(), contains("--weights fp8: fp8 weights widened"));
    CHECK(report(on("h100-sxm", "fp4")).at("plan").at("weights") == "int4-weights");
    check_refused(on("a100-sxm-80gb", "fp8", "tensorrt-llm"), "no fp8 products", "int8");
}

TEST_CASE("serve: dispatcher and copies of experts go from a plan to the engine's options", "[serve]") {
    Arguments const wide{"serve",    "estimate",       "-m", "deepseek-v3",   "-c",
                         "h100-sxm", "--attention-dp", "36", "--concurrency", "144"};
    check_refused(wide + Arguments{"--ep", "36"}, "--redundant-experts 32", "--ep 32");
    Json const estimate = report(wide + Arguments{"--ep", "36", "--redundant-experts", "32"});
    CHECK(estimate.at("plan").at("moe_dispatcher") == "deduplicated");
    CHECK(estimate.at("plan").at("redundant_experts") == 32);
    CHECK_THAT(estimate.at("assumptions").dump(), contains("once per domain") && contains("1.03125 bytes"));
    check_refused(wide + Arguments{"--ep", "1", "--redundant-experts", "4"}, "--redundant-experts", "--ep");
    check_refused(wide + Arguments{"--moe-dispatcher", "deepeq"}, "deepeq", "deduplicated");
    // In DeepEP's own name it is the same.
    Json const named =
        report(wide + Arguments{"--ep", "36", "--redundant-experts", "32", "--moe-dispatcher", "deepep"});
    CHECK(named.at("plan").at("moe_dispatcher") == "deduplicated");
    ScratchFolder const folder("experts");
    std::string const deployment = folder.file("deployment.json", run_sextant({"serve",
                                                                               "plan",
                                                                               "-m",
                                                                               "deepseek-v3",
                                                                               "-c",
                                                                               "h100-sxm",
                                                                               "--rate",
                                                                               "2",
                                                                               "--requests",
                                                                               "500",
                                                                               "--tp",
                                                                               "1",
                                                                               "--pp",
                                                                               "1",
                                                                               "--attention-dp",
                                                                               "32",
                                                                               "--redundant-experts",
                                                                               "32",
                                                                               "--format",
                                                                               "json"})
                                                                      .out);
    Json const best = Json::parse(read_text_file(deployment, 1 << 24)).at("candidates").at(0).at("plan");
    CHECK(best.at("moe_dispatcher") == "deduplicated");
    CHECK(best.at("redundant_experts") == 32);
    for (auto const& [engine, dispatcher, copies] :
         {std::tuple{"vllm", "VLLM_ALL2ALL_BACKEND=deepep", "num_redundant_experts"},
          std::tuple{"sglang", "--moe-a2a-backend deepep", "--ep-num-redundant-experts 32"},
          std::tuple{"tensorrt-llm", "DeepEP", "num_slots 288"}}) {
        RunResult const script =
            run_sextant({"export", "serve", "--engine", engine, "--plan", deployment, "--report", "json"});
        INFO(script.err << script.out);
        CHECK_THAT(script.out, contains(dispatcher) && contains(copies));
    }
}

TEST_CASE("serve estimate: what the prefix cache has takes room for each request, or once where all share it") {
    auto const asked = [](Arguments const& more) {
        Arguments out{"serve",    "estimate", "--model",  "llama-3.1-8b", "--cluster",   "l40s",
                      "--prompt", "4000",     "--cached", "3200",         "--max-batch", "4096"};
        out.insert(out.end(), more.begin(), more.end());
        return answer(out);
    };
    Json const own = asked({});
    Json const common = asked({"--shared", "3200"});
    CHECK(own.at("assumptions").dump().find("each request's own") != std::string::npos);
    CHECK(common.at("assumptions").dump().find("that of all requests") != std::string::npos);
    CHECK(at(common, "/request/shared") == 3200);
    double const tokens = at(own, "/memory/cache_tokens");
    CHECK(at(own, "/largest_batch") == std::floor(tokens / 4256));
    CHECK(at(common, "/largest_batch") == std::floor((tokens - 3200) / 1056));
}

#include "cli/serve/pages.hpp"
#include "core/csv.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

using namespace sextant;

namespace {

Arguments simulate(Arguments const& more, std::string const& model = "llama-3.1-8b",
                   std::string const& cluster = "h100-sxm") {
    Arguments out{"serve", "simulate", "--model", model, "--cluster", cluster};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

double at(Json const& json, char const* path) { return json.at(Json::json_pointer(path)).get<double>(); }

}  // namespace

TEST_CASE("serve simulate: one request at a time takes what the estimate says") {
    Json const simulated =
        answer(simulate({"--concurrency", "1", "--count", "50", "--prompt", "1000", "--output-tokens", "100"}));
    RunResult const closed =
        run_sextant({"serve", "estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--concurrency", "1",
                     "--prompt", "1000", "--output-tokens", "100", "--format", "json"});
    REQUIRE(closed.code == 0);
    Json const row = Json::parse(closed.out).at("rows").at(0);
    CHECK(at(simulated, "/tpot/mean_s") == Approx(at(row, "/tpot_s")).epsilon(0.03));
    // The replica is idle when a request comes.
    CHECK(at(simulated, "/ttft/mean_s") == Approx(at(row, "/ttft_s")).epsilon(0.001));
    CHECK(at(simulated, "/running_mean") <= 1);
    CHECK(at(simulated, "/waiting_most") <= 1);
}

TEST_CASE("serve simulate: a closed loop answers as soon as the estimate says where lengths vary, in step where not") {
    auto const loop = [](char const* output) {
        return answer(simulate({"--concurrency", "16", "--count", "600", "--tp", "4", "--output-tokens", output},
                               "llama-3.1-70b"));
    };
    Json const varied = loop("uniform:128-384"), equal = loop("256");
    Json const estimate = answer(
        {"serve", "estimate", "--model", "llama-3.1-70b", "--cluster", "h100-sxm", "--tp", "4", "--concurrency", "16"});
    double const ttft = at(estimate.at("rows").at(0), "/ttft_s");
    CHECK(at(varied, "/ttft/mean_s") == Approx(ttft).epsilon(0.15));
    CHECK(at(equal, "/ttft/mean_s") > 3 * ttft);
    CHECK_THAT(equal.at("load").get<std::string>(), contains("in step"));
    CHECK_THAT(varied.at("load").get<std::string>(), !contains("in step"));
}

TEST_CASE("serve simulate: a saturated closed loop serves what the estimate calls its capacity") {
    Json const simulated = answer(simulate({"--concurrency", "400", "--count", "4000", "--tp", "4"}, "llama-3.1-70b"));
    RunResult const closed = run_sextant({"serve", "estimate", "--model", "llama-3.1-70b", "--cluster", "h100-sxm",
                                          "--tp", "4", "--concurrency", "256", "--format", "json"});
    Json const row = Json::parse(closed.out).at("rows").at(0);
    CHECK(at(simulated, "/requests_per_s") == Approx(at(row, "/requests_per_s")).epsilon(0.1));
    CHECK(simulated.at("state") == "steady");
}

TEST_CASE("serve simulate: a faster device never serves fewer requests, nor later") {
    Json const slow = answer(simulate({"--concurrency", "32", "--count", "600"}, "llama-3.1-8b", "a100-sxm-80gb"));
    Json const fast = answer(simulate({"--concurrency", "32", "--count", "600"}, "llama-3.1-8b", "h100-sxm"));
    Json const faster = answer(simulate({"--concurrency", "32", "--count", "600"}, "llama-3.1-8b", "b200-sxm"));
    CHECK(at(fast, "/requests_per_s") >= at(slow, "/requests_per_s"));
    CHECK(at(faster, "/requests_per_s") >= at(fast, "/requests_per_s"));
    CHECK(at(fast, "/tpot/mean_s") <= at(slow, "/tpot/mean_s"));
    // At a rate that all of them serve they serve the same.
    Json const slow_open = answer(simulate({"--rate", "2", "--count", "1000"}, "llama-3.1-8b", "a100-sxm-80gb"));
    Json const fast_open = answer(simulate({"--rate", "2", "--count", "1000"}));
    CHECK(at(fast_open, "/requests_per_s") >= 0.99 * at(slow_open, "/requests_per_s"));
    CHECK(at(fast_open, "/e2e/mean_s") < at(slow_open, "/e2e/mean_s"));
}

TEST_CASE("serve simulate: same seed, same bytes; another seed, other figures") {
    Arguments const run = simulate({"--rate", "5", "--count", "500", "--arrivals", "gamma", "--cv", "3", "--prompt",
                                    "lognormal:900,1", "--output-tokens", "exponential:100", "--seed", "4"});
    std::string const first = run_sextant(run).out;
    CHECK(first == run_sextant(run).out);
    Arguments other = run;
    other.back() = "5";
    CHECK(first != run_sextant(other).out);
}

TEST_CASE("serve simulate: throughput is measured once the batches are full, however short the warm-up") {
    Arguments const load{"--tp", "4", "--replicas", "2", "--rate", "14", "--count"};
    auto const served = [&](char const* count) {
        Json const json = answer(simulate(load + Arguments{count}, "llama-3.1-70b"));
        CHECK(json.at("state") == "steady");
        return at(json, "/requests_per_s");
    };
    CHECK(served("600") == Approx(served("6000")).epsilon(0.05));

    // Nothing is left to measure when arrivals end before that.
    Json const brief =
        answer(simulate({"--tp", "4", "--replicas", "8", "--rate", "40", "--count", "500"}, "llama-3.1-70b"));
    CHECK(brief.at("state") == "unsettled");
}

TEST_CASE("serve simulate: iterations are those of the window in every format") {
    Arguments const question = simulate({"--rate", "2", "--count", "20"});
    auto const iterations = answer(question).at("iterations").get<std::int64_t>();
    CHECK_THAT(run_sextant(question).out, contains(" " + human_count(static_cast<double>(iterations)) + " iterations"));
}

TEST_CASE("serve simulate: overload ends the run with exit code 1 and no latency") {
    for (std::string const format : {"text", "json", "csv"}) {
        RunResult const result = run_sextant(simulate({"--rate", "150", "--count", "20000", "--format", format}));
        CHECK(result.code == 1);
        CHECK_THAT(result.out, !contains(format == "text" ? "TTFT" : "ttft_p50"));
        if (format != "json") continue;
        Json const json = Json::parse(result.out);
        CHECK(json.at("state") == "overloaded");
        CHECK(json.at("ttft").is_null());
        CHECK(at(json, "/requests/arrived") < 20000);
        CHECK(at(json, "/overload/capacity_requests_per_s") < 100);
        CHECK(at(json, "/overload/offered_requests_per_s") == Approx(150).epsilon(0.1));
        // What is called the capacity can be served, nearly.
        double const capacity = at(json, "/overload/capacity_requests_per_s");
        Json const below = answer(simulate({"--rate", std::to_string(0.9 * capacity), "--count", "6000"}));
        CHECK(below.at("state") == "steady");
        Json const above = answer(simulate({"--rate", std::to_string(1.15 * capacity), "--count", "20000"}));
        CHECK(above.at("state") == "overloaded");
    }
}

TEST_CASE("serve simulate: a capacity that was not measured is not said to be nothing") {
    Arguments const run = simulate({"--rate", "5000", "--count", "400", "--max-batch", "512", "--slo-ttft", "1s"});
    Json const overload = Json::parse(run_sextant(run + Arguments{"--format", "json"}).out).at("overload");
    CHECK(overload.at("capacity_requests_per_s").is_null());
    CHECK(overload.at("drift_requests_per_s").is_null());
    CHECK(overload.at("ttft_missed_from_s").is_null());
    RunResult const text = run_sextant(run);
    CHECK(text.code == 1);
    CHECK_THAT(text.out, contains("not measured (more") && !contains("and 0 are served"));
    CHECK_THAT(run_sextant(run + Arguments{"--format", "csv"}).out, contains("capacity_requests_per_s,\n"));
}

TEST_CASE("serve simulate: what would settle a run of a trace is a longer trace, not --count") {
    ScratchFolder const scratch("unsettled");
    std::string rows = "arrival_s,prompt,output\n";
    for (int i = 0; i < 500; ++i)
        rows += fmt::format("{},1024,256\n", 0.002 * i);
    RunResult const run = run_sextant(
        {"serve", "simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--trace", scratch.file("t.csv", rows)});
    CHECK_THAT(run.out, contains("a longer trace"));
    CHECK_THAT(run.out, !contains("--count"));
}

TEST_CASE("serve simulate: the page says how many keep the objectives, and is green for as many as a plan asks for") {
    cli::ServeSimulateReport report;
    report.what = {.model = find_model("llama-3.1-8b"),
                   .cluster = find_cluster("h100-sxm", "test"),
                   .plan = {},
                   .engine = find_engine("vllm", "test")};
    report.setup.objective = {.ttft = 2 * units::s, .tpot = 40 * units::ms};
    report.outcome.measured = 1000;
    report.outcome.window.at = 100 * units::s;
    report.outcome.window.finished = 2069;
    report.outcome.window.counters.tokens_out = 529664;
    auto const page = [&](std::int64_t good) {
        report.outcome.good = good;
        return serve_simulate_page(report);
    };
    std::string const missed = page(119);
    CHECK_THAT(missed,
               contains("class=\"verdict bad\"") && contains("11.9 % keep TTFT &lt;= 2 s and TPOT &lt;= 40 ms: "));
    CHECK_THAT(missed, contains("objectives: TTFT &lt;= 2 s and TPOT &lt;= 40 ms") && contains("20.69 requests/s"));
    CHECK_THAT(page(900), contains("class=\"verdict warning\""));
    CHECK_THAT(page(990), contains("class=\"verdict good\""));
    report.setup.objective = {};
    CHECK_THAT(page(0), contains("class=\"verdict good\"") && !contains("keep TTFT"));
}

TEST_CASE("serve simulate: the cache that is in use is that of the replicas that serve, not of those that may") {
    Arguments const load{"--rate", "2", "--count", "500"};
    Json const fixed = answer(simulate(load + Arguments{"--replicas", "1"}));
    Json const scaled = answer(simulate(load + Arguments{"--autoscale", "1..8", "--scale-target", "requests:1000"}));
    CHECK(at(scaled, "/cache_use_mean") == Approx(at(fixed, "/cache_use_mean")).epsilon(1e-6));
    CHECK(at(scaled, "/cache_use_most") == at(fixed, "/cache_use_most"));
}

TEST_CASE("serve simulate: a sweep over the rate shows where the objective is left and the queue grows") {
    RunResult const result = run_sextant({"sweep", "serve", "simulate", "--model", "llama-3.1-8b", "--cluster",
                                          "h100-sxm", "--slo-tpot", "20ms", "--axis", "rate=8,20,150", "--columns",
                                          "state,objective.good_share,tpot.p99_s", "--format", "json"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    Json const rows = Json::parse(result.out).at("rows");
    REQUIRE(rows.size() == 3);
    CAPTURE(rows.dump());
    CHECK(rows[0].at("values").at("state") == "steady");
    CHECK(at(rows[0], "/values/objective.good_share") > at(rows[1], "/values/objective.good_share"));
    CHECK(at(rows[0], "/values/tpot.p99_s") < at(rows[1], "/values/tpot.p99_s"));
    CHECK(rows[2].at("values").at("state") == "overloaded");
}

TEST_CASE("serve simulate: a trace comes back request by request") {
    ScratchFolder const folder("serve_trace");
    std::string const trace = folder.file("t.csv",
                                          "arrival_s,prompt,output,prefix_id,prefix_tokens,tenant,priority\n"
                                          "0,500,20,sys,256,a,0\n"
                                          "0.5,600,1,sys,256,b,1\n"
                                          "0.5,10,30,,,a,\n"
                                          "1.25,2000,200,doc,1500,\"x,y\",2\n");
    std::string const rows = folder.path("r.csv");
    std::string const timeline = folder.path("t.json");
    RunResult const result =
        run_sextant(simulate({"--trace", trace, "--requests", rows, "--timeline", timeline, "--warmup", "0"}));
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, contains("too few to tell"));
    CsvTable const table = read_csv(rows);
    REQUIRE(table.records.size() == 4);
    auto const cell = [&](std::size_t row, char const* column) {
        return table.records[row].cells[*table.find(column)];
    };
    CHECK(cell(1, "cached_tokens") == "256");
    CHECK(cell(1, "tpot_s").empty());
    CHECK(cell(3, "tenant") == "x,y");
    CHECK(std::stod(cell(3, "e2e_s")) > std::stod(cell(3, "ttft_s")));
    Json const events = Json::parse(read_text_file(timeline)).at("traceEvents");
    CHECK(events.size() > 10);
}

TEST_CASE("serve simulate: a trace longer than what is read at once is the same trace") {
    ScratchFolder const folder("serve_long_trace");
    std::string text = "arrival_s,prompt,output\n";
    for (int i = 0; i < 10'000; ++i)
        text += std::to_string(i) + "," + std::to_string(1 + i % 50) + ",1\n";
    Json const report =
        Json::parse(run_sextant(simulate({"--trace", folder.file("t.csv", text), "--format", "json"})).out);
    CHECK(report.at("requests").at("arrived") == 10'000);
    text += "10000,10,x\n";
    check_refused(simulate({"--trace", folder.file("t.csv", text)}), "line 10002, output: 'x' is no number");
}

TEST_CASE("serve simulate: traces that make no sense are refused with their line") {
    ScratchFolder const folder("serve_bad_trace");
    std::string const header = "arrival_s,prompt,output\n";
    auto const refused = [&](std::string const& text, std::string const& part) {
        check_refused(simulate({"--trace", folder.file("t.csv", text)}), part);
    };
    refused(header + "0,10,10\n-1,10,10\n", "line 3, arrival_s: -1 is negative");
    refused(header + "2,10,10\n1,10,10\n", "line 3, arrival_s: 1 is before the row above, 2");
    refused(header + "0,200000,10\n", "line 2, prompt: 200010 tokens");
    refused(header + "0,0,10\n", "line 2, prompt: 0");
    refused(header + "0,10,0\n", "line 2, output: 0");
    refused(header + "0,10.5,1\n", "line 2, prompt: 10.5");
    refused(header + "nan,10,1\n", "line 2, arrival_s: 'nan' is no number");
    refused(header + "inf,10,1\n", "line 2, arrival_s");
    refused(header + "2026-01-02T10:00:00Z,10,1\n", "is a date (seconds are wanted");
    refused(header + "10:00:00.5,10,1\n", "is a date (seconds are wanted");
    refused(header + "2026-01-02,10,1\n", "is a date (seconds are wanted");
    refused(header + "1714000000123,10,1\n", "divide milliseconds since 1970 by 1e3");
    refused(header + "x,10,1\n", "line 2, arrival_s: 'x' is no number");
    refused(header + "0,10\n", "line 2");
    refused(header, "no requests");
    refused("", "t.csv");
    refused("arrival_s,prompt\n0,1\n", "output");
    refused("arrival_s,prompt,output,speed\n0,1,1,1\n", "unknown column 'speed'");
    refused("arrival_s,input_tokens,output_tokens\n0,1,1\n", "'input_tokens'; is it 'prompt'?");
    refused("arrival_s,prompt,GeneratedTokens\n0,1,1\n", "'GeneratedTokens'; is it 'output'?");
    refused("TIMESTAMP,prompt,output\n0,1,1\n", "'TIMESTAMP'; is it 'arrival_s'? (in seconds)");
    refused("arrival_s,prompt,output,prefix_token\n0,1,1,1\n", "did you mean 'prefix_tokens'");
    refused("arrival_s,prompt,output,prefix_id\n0,1,1,a\n", "only make sense together");
    refused("arrival_s,prompt,output,prefix_id,prefix_tokens\n0,10,1,a,20\n", "line 2, prefix_tokens: 20");
    refused("arrival_s,prompt,output,prefix_id,prefix_tokens\n0,10,1,,5\n", "prefix_tokens: 5 tokens of no prefix");
    refused("arrival_s,prompt,output,prefix_id,prefix_tokens\n0,10,1,,-inf\n", "prefix_tokens: '-inf' is no number");
    refused("arrival_s,prompt,output,prefix_id,prefix_tokens\n0,10,1,a,5\n1,10,1,a,6\n", "line 3, prefix_tokens: 6");
    check_refused(simulate({"--trace", folder.path("none.csv")}), "none.csv");
    std::string const good = folder.file("g.csv", header + "0,10,10\n");
    check_refused(simulate({"--trace", good, "--prompt", "10"}), "--prompt: the trace says that");
    check_refused(simulate({"--trace", good, "--scheduler", "priority"}), "'priority'");
    check_refused(simulate({"--trace", good, "--scheduler", "fair"}), "'tenant'");
    check_refused(simulate({"--trace", good, "--rate", "1"}), "more than one load");
}

TEST_CASE("serve simulate: the scheduler is the engine's unless one is named") {
    auto const scheduler = [](Arguments more) {
        more.insert(more.end(), {"--rate", "2", "--count", "50"});
        return answer(simulate(more)).at("setup").at("scheduler").get<std::string>();
    };
    CHECK(scheduler({}) == "chunked");
    CHECK(scheduler({"--engine", "sglang"}) == "prefill-first");
    CHECK(scheduler({"--engine", "sglang", "--scheduler", "fcfs"}) == "fcfs");
}

TEST_CASE("serve simulate: questions that make no sense are refused") {
    check_refused(simulate({}), "no load");
    check_refused(simulate({"--rate", "0"}), "--rate");
    check_refused(simulate({"--rate", "-1"}), "--rate");
    check_refused(simulate({"--rate", "nan"}), "--rate");
    check_refused(simulate({"--rate", "1", "--concurrency", "3"}), "more than one load");
    check_refused(simulate({"--concurrency", "0"}), "--concurrency");
    check_refused(simulate({"--concurrency", "4", "--arrivals", "poisson"}), "--arrivals");
    check_refused(simulate({"--rate", "1", "--arrivals", "closed"}), "--concurrency N");
    check_refused(simulate({"--rate", "1", "--arrivals", "poison"}), "did you mean 'poisson'");
    check_refused(simulate({"--rate", "1", "--cv", "2"}), "--cv");
    check_refused(simulate({"--rate", "1", "--arrivals", "gamma", "--cv", "0"}), "--cv");
    check_refused(simulate({"--rate", "1", "--prompt", "200000"}), "--prompt");
    check_refused(simulate({"--rate", "1", "--prompt", "uniform:9-2"}), "--prompt");
    check_refused(simulate({"--rate", "1", "--prompt", "0"}), "--prompt");
    check_refused(simulate({"--rate", "1", "--prompt", "normal:3,4"}), "--prompt");
    check_refused(simulate({"--rate", "1", "--output-tokens", "lognormal:100"}), "--output-tokens");
    check_refused(simulate({"--rate", "1", "--prefixes", "3"}), "--prefix-tokens");
    check_refused(simulate({"--rate", "1", "--count", "0"}), "--count");
    check_refused(simulate({"--rate", "1", "--warmup", "1"}), "--warmup");
    check_refused(simulate({"--rate", "1", "--router", "prefix-aware"}), "--router: prefix-aware wants prefixes");
    check_refused(simulate({"--rate", "1", "--seed", "-1"}), "--seed");
    check_refused(simulate({"--rate", "1", "--replicas", "0"}), "--replicas");
    check_refused(simulate({"--rate", "1", "--watermark", "0.9"}), "--watermark");
    check_refused(simulate({"--rate", "1", "--scheduler", "fair"}), "fair");
    check_refused(simulate({"--rate", "1", "--max-batched-tokens", "100"}), "--max-batched-tokens");
    check_refused(simulate({"--rate", "1", "--speculate", "3"}), "--acceptance");
    check_refused(simulate({"--rate", "1", "--acceptance", "0.5"}), "--acceptance: nothing is guessed (--speculate");
    check_refused(simulate({"--rate", "1", "--draft-cost", "0.1"}), "--draft-cost: nothing is guessed (--speculate");
    check_refused(simulate({"--rate", "1", "--prefill-replicas", "1"}), "--decode-replicas");
    check_refused(simulate({"--rate", "1", "--prefill-replicas", "1", "--decode-replicas", "0"}), "--decode-replicas");
    check_refused(simulate({"--rate", "1", "--prefill-replicas", "1", "--decode-replicas", "1", "--replicas", "2"}),
                  "--replicas");
    check_refused(simulate({"--rate", "1", "--speculate", "3", "--acceptance", "nan"}), "--acceptance");
    check_refused(simulate({"--rate", "1", "--speculate", "-3", "--acceptance", "0.5"}), "--speculate");
    check_refused(simulate({"--rate", "1", "--slo-ttft", "5"}), "--slo-ttft");
    check_refused(simulate({"--rate", "1", "--requests", "/no/such/folder/r.csv"}), "/no/such/folder");
}

TEST_CASE("serve simulate: a model that leaves no room for a cache is an answer, not an error") {
    RunResult const result = run_sextant(simulate({"--rate", "1"}, "llama-3.1-405b"));
    CHECK(result.code == 1);
    CHECK_THAT(result.out, contains("does not fit"));
    CHECK(result.err.empty());
    RunResult const json = run_sextant(simulate({"--rate", "1", "--format", "json"}, "llama-3.1-405b"));
    CHECK(json.code == 1);
    auto const j = nlohmann::json::parse(json.out);
    CHECK(j["fits"] == false);
    CHECK(j["memory"]["needed_bytes"].get<double>() > j["memory"]["usable_bytes"].get<double>());
    CHECK(json.err == j["reason"].get<std::string>() + "\n");
    CHECK_THAT(run_sextant(simulate({"--rate", "1", "--format", "csv"}, "llama-3.1-405b")).out,
               contains("fits,false\n"));
    CHECK(run_sextant(simulate({"--rate", "-1"}, "llama-3.1-405b")).code == 2);  // a wrong question stays one
}

TEST_CASE("serve simulate: objectives, prefixes, preemption and cost show in the report") {
    Json const json = answer(
        simulate({"--concurrency",        "100",  "--count",         "1500",  "--prompt",   "500", "--prefixes", "2",
                  "--prefix-tokens",      "2000", "--slo-ttft",      "300ms", "--slo-tpot", "1s",  "--price",    "2",
                  "--memory-utilisation", "0.28", "--output-tokens", "400"}));
    CHECK(at(json, "/prefix_hit_rate") == Approx(0.8).margin(0.02));
    CHECK(at(json, "/objective/good_share") >= 0);
    CHECK(at(json, "/objective/good_share") <= 1);
    CHECK(at(json, "/preemptions") > 0);
    CHECK(at(json, "/cache_use_most") <= 1);
    CHECK(at(json, "/cache_use_most") > 0.9);
    CHECK(at(json, "/usd_per_million_output_tokens") ==
          Approx(2 / 3600.0 / at(json, "/output_tokens_per_s") * 1e6).epsilon(1e-9));
}

TEST_CASE("serve simulate: states of recurrent layers lie in the cache of every request, and prefixes are not shared") {
    Json const json = answer(simulate({"--concurrency", "20", "--count", "400", "--prompt", "600", "--output-tokens",
                                       "100", "--prefixes", "2", "--prefix-tokens", "400"},
                                      "nemotron-h-8b"));
    CHECK(at(json, "/prefix_hit_rate") == 0);
    double const state = at(json, "/setup/state_blocks");
    CHECK(state > 0);
    // A request of 1,000 to 1,100 tokens holds its state and some 65 blocks of 16 tokens.
    double const held = at(json, "/cache_use_mean") * at(json, "/setup/blocks") / at(json, "/running_mean");
    CHECK(held > state + 62);
    CHECK(held < state + 70);
    CHECK_THAT(run_sextant(simulate({"--rate", "1", "--count", "50"}, "nemotron-h-8b")).out,
               contains("recurrent layers: their kernels were not measured"));
}

TEST_CASE("serve simulate: gaps of speculation are those between steps, and TPOT is per token") {
    Arguments const load{"--concurrency", "2", "--count", "300", "--prompt", "100", "--output-tokens", "100"};
    Arguments guessing = load;
    guessing.insert(guessing.end(), {"--speculate", "4", "--acceptance", "0.8"});
    Json const with = answer(simulate(guessing));
    CHECK(at(with, "/itl/mean_s") > 2.5 * at(with, "/tpot/mean_s"));
    CHECK(at(answer(simulate(load)), "/itl/mean_s") ==
          Approx(at(answer(simulate(load)), "/tpot/mean_s")).epsilon(0.05));
    std::string const text = run_sextant(simulate(guessing)).out;
    CHECK_THAT(text, contains("between steps"));
    CHECK_THAT(text, !contains("between tokens"));
    CHECK_THAT(text, contains("per token it is TPOT"));
    CHECK_THAT(run_sextant(simulate(load)).out, contains("between tokens"));
}

TEST_CASE("serve simulate: speculation helps a small batch more than one that computes") {
    auto const gain = [](char const* concurrency) {
        Arguments const load{"--concurrency", concurrency, "--count", "1500", "--prompt", "100"};
        Arguments guessing = load;
        guessing.insert(guessing.end(), {"--speculate", "4", "--acceptance", "0.8"});
        Json const with = answer(simulate(guessing));
        CHECK(at(with, "/tokens_per_step") == Approx(3.36).epsilon(0.02));
        return at(with, "/output_tokens_per_s") / at(answer(simulate(load)), "/output_tokens_per_s");
    };
    double const small = gain("2");
    CHECK(small > 2);
    CHECK(small < 3.4);
    CHECK(gain("256") < small);
}

TEST_CASE("serve simulate: decodes that meet no prompts are even, and caches take time to move") {
    Arguments const load{"--rate", "10", "--count", "2000", "--tp", "4", "--prompt", "lognormal:2000,1"};
    Arguments together = load;
    together.insert(together.end(), {"--replicas", "4"});
    Arguments apart = load;
    apart.insert(apart.end(), {"--prefill-replicas", "2", "--decode-replicas", "2"});
    Json const one = answer(simulate(together, "llama-3.1-70b"));
    Json const two = answer(simulate(apart, "llama-3.1-70b"));
    CHECK(at(two, "/setup/gpus") == at(one, "/setup/gpus"));
    CHECK(at(two, "/tpot/p99_s") / at(two, "/tpot/p50_s") < at(one, "/tpot/p99_s") / at(one, "/tpot/p50_s"));
    // 2000 tokens at 81,920 bytes a rank over 50 GB/s at most.
    CHECK(at(two, "/transfers/mean_s") > 2000 * 81920 / 50e9);
    CHECK(at(two, "/transfers/mean_s") < 5 * 2000 * 81920 / 50e9);
}

TEST_CASE("serve simulate: replicas for prompts may be cut in their own way, and cut alike give the same figures") {
    auto const question = [](Arguments const& splits) {
        Arguments const load{"--rate", "10", "--count", "1000", "--prefill-replicas", "2", "--decode-replicas", "2"};
        return simulate(load + splits, "llama-3.1-70b");
    };
    Json const same = report(question({"--tp", "4"}));
    Json alike = report(question({"--tp", "4", "--prefill-tp", "4"}));
    CHECK_FALSE(same.at("setup").contains("prefill"));
    CHECK(alike["setup"]["prefill"]["blocks"] == same["setup"]["blocks"]);
    alike["setup"].erase("prefill");
    alike["assumptions"] = same["assumptions"];
    CHECK(alike == same);

    Arguments const wide = question({"--tp", "8", "--prefill-tp", "4"});
    Json const wider = report(wide);
    CHECK(at(wider, "/tpot/p50_s") < 0.8 * at(same, "/tpot/p50_s"));
    CHECK(at(wider, "/setup/gpus") == 2 * 4 + 2 * 8);
    CHECK(at(wider, "/setup/prefill/gpus_each") == 4);
    CHECK(at(wider, "/setup/prefill/blocks") == at(same, "/setup/blocks"));
    CHECK(at(wider, "/setup/blocks") > 1.5 * at(same, "/setup/blocks"));
    // Four links send what eight receive half of each: one rank's bytes are half, and two messages share a link.
    CHECK(at(wider, "/transfers/alone_s") == Approx(at(same, "/transfers/alone_s")).epsilon(0.05));
    double const price = at(wider, "/usd_per_million_output_tokens") * at(wider, "/output_tokens_per_s");
    double const before = at(same, "/usd_per_million_output_tokens") * at(same, "/output_tokens_per_s");
    CHECK(price / before == Approx(24.0 / 16));

    CHECK_THAT(unwrapped(run_sextant(wide).out),
               contains("2 replicas for prompts of 4 (tp 4,") && contains("2 that decode of 8 (tp 8,"));
    RunResult const full = run_sextant(question({"--tp", "4", "--prefill-tp", "1"}));
    CHECK(full.code == 1);
    CHECK_THAT(unwrapped(full.out), contains("of a replica for prompts"));

    check_refused(simulate({"--rate", "1", "--prefill-tp", "2"}), "there are no replicas for prompts alone");
    auto const refused = [&](Arguments const& more, char const* words, char const* model) {
        check_refused(
            simulate(Arguments{"--rate", "1", "--prefill-replicas", "1", "--decode-replicas", "1"} + more, model),
            words);
    };
    refused({"--prefill-tp", "3"}, "replicas for prompts: --prefill-tp: 3 does not divide", "llama-3.1-8b");
    refused({"--prefill-max-batch", "0"}, "replicas for prompts: --prefill-max-batch", "llama-3.1-8b");
    refused({"--tp", "4", "--prefill-tp", "2"}, "states of recurrent layers", "qwen3-next-80b-a3b");
}

TEST_CASE("serve simulate: experts of replicas for prompts are divided over their own ranks") {
    Json const run =
        report(simulate({"--rate", "4", "--count", "500", "--attention-dp", "8", "--ep", "8", "--prefill-attention-dp",
                         "2", "--prefill-tp", "2", "--prefill-replicas", "2", "--decode-replicas", "1"},
                        "qwen3-30b-a3b"));
    CHECK(run["setup"]["ep"] == 8);
    CHECK(run["setup"]["prefill"]["ep"] == 4);
    CHECK(at(run, "/setup/gpus") == 2 * 4 + 8);
    CHECK(at(run, "/transfers/count") > 0);
}

TEST_CASE("serve simulate: actors on SimGrid give the report of the loop, and the rows of every request") {
    ScratchFolder const folder("events");
    auto const told = [&](char const* events, Arguments more) {
        std::string const rows = folder.path(std::string(events) + ".csv");
        more.insert(more.end(), {"--count", "600", "--requests", rows, "--events", events});
        RunResult const result = run_sextant(simulate(more));
        INFO(result.err);
        REQUIRE(result.code == 0);
        return result.out + read_text_file(rows);
    };
    Arguments const open{"--rate",        "20", "--replicas", "3", "--prompt", "lognormal:800,1", "--output-tokens",
                         "uniform:20-300"};
    CHECK(told("loop", open) == told("simgrid", open));
    // Caches over the NICs of two nodes: figures of three digits are the same; 1e-9 is in tests/simulator.
    Arguments apart{"--tp", "4", "--rate", "20", "--prefill-replicas", "2", "--decode-replicas", "2", "--count", "600"};
    auto const transfers = [&](char const* events) {
        Arguments more = apart;
        more.insert(more.end(), {"--events", events});
        return report(simulate(more)).at("transfers");
    };
    Json const loop = transfers("loop");
    Json const simgrid = transfers("simgrid");
    CHECK(simgrid.at("count") == loop.at("count"));
    CHECK(simgrid.at("mean_s").get<double>() == Approx(loop.at("mean_s").get<double>()).epsilon(1e-6));
    check_refused(simulate({"--rate", "1", "--events", "heap"}),
                  "--events: 'heap' orders no events (allowed: loop, simgrid)");
}

TEST_CASE("serve simulate: every format is written, and text fits 110 columns") {
    for (std::string const format : {"csv", "markdown", "text"}) {
        RunResult const result = run_sextant(simulate({"--rate", "2", "--count", "500", "--format", format}));
        CHECK(result.code == 0);
        CHECK_THAT(result.out, contains(format == "text" ? "TTFT" : "ttft_p99_s"));
        std::size_t start = 0;
        for (std::size_t end = 0; (end = result.out.find('\n', start)) != std::string::npos; start = end + 1)
            CHECK(end - start <= 110);
    }
}

TEST_CASE("serve plan: a trace is the load, and what it says is not to be said again") {
    ScratchFolder const folder("serve_plan_trace");
    std::string text = "arrival_s,prompt,output\n";
    for (int i = 0; i < 600; ++i)
        text += fmt::format("{},{},{}\n", 0.25 * i, 200 + 100 * (i % 9), 40 + 20 * (i % 4));
    std::string const file = folder.file("t.csv", text);
    std::vector<std::string> const call{"serve",  "plan", "--model", "llama-3.1-8b", "--cluster", "h100-sxm",
                                        "--tpot", "40ms", "--trace", file,           "--pp",      "1"};
    auto const with = [&](std::vector<std::string> const& more) {
        std::vector<std::string> all = call;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    Json const report = Json::parse(run_sextant(with({"--format", "json"})).out);
    CHECK(report.at("found") == true);
    CHECK(report.at("requests_per_s").get<double>() == Approx(4));
    CHECK(report.at("arrivals") == "600 recorded in " + file);
    for (std::vector<std::string> const& more : std::vector<std::vector<std::string>>{
             {"--rate", "3"}, {"--users", "3"}, {"--prompt", "100"}, {"--output-tokens", "9"}, {"--requests", "900"}})
        check_refused(with(more), more.front() + ": the trace says that");
    auto const refused = [&](std::string const& trace, std::string const& words) {
        CHECK(folder.file("t.csv", trace) == file);
        check_refused(call, words);
    };
    refused("arrival_s,prompt,output,adapter\n0,10,10,a\n1,10,10,\n", "has adapters");
    refused("arrival_s,prompt,output\n0,10,10\n0,10,10\n", "have no rate");
}

TEST_CASE("serve simulate: prefixes that give way come back from host memory") {
    Arguments const many{
        "serve", "simulate",   "-m",  "llama-3.1-8b",    "-c",   "h100-sxm",        "--rate", "4",       "--prompt",
        "200",   "--prefixes", "100", "--prefix-tokens", "8000", "--output-tokens", "50",     "--count", "600"};
    Json const none = answer(many);
    Json const with = answer(many + Arguments{"--host-prefixes", "120GB"});
    CHECK(none.at("setup").at("host_prefixes_bytes") == 0);
    CHECK(none.at("host_prefix_tokens") == 0);
    CHECK(with.at("setup").at("host_prefixes_bytes") == 120e9);
    CHECK(with.at("host_prefix_tokens") > 0);
    CHECK(with.at("prefix_hit_rate").get<double>() > none.at("prefix_hit_rate").get<double>() + 0.1);
    CHECK_THAT(with.at("assumptions").dump(), contains("prefixes are written to host memory"));
    check_refused(many + Arguments{"--host-prefixes", "120GB", "--no-prefix-caching"}, "--host-prefixes",
                  "prefixes are not kept");
    check_refused(many + Arguments{"--host-prefixes", "120 apples"}, "--host-prefixes");
    check_refused(many + Arguments{"--host-prefixes", "100TB"}, "--host-prefixes", "on its host");
    check_refused(
        {"serve", "simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "1", "--host-prefixes", "1GB"},
        "--host-prefixes", "no prompt has one");
}

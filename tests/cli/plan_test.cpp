#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <set>
#include <thread>

namespace {

Arguments const seventy{"plan",  "-m",   "llama-2-70b",    "-c",  "a100-sxm-80gb", "-n", "64",
                        "--seq", "4096", "--global-batch", "1024"};

/// The options of `estimate` that ask for a plan of a report.
Arguments options_of(Json const& plan) {
    Arguments options;
    for (auto const& [flag, key] : {std::pair{"--tp", "tp"},
                                    {"--pp", "pp"},
                                    {"--cp", "cp"},
                                    {"--ep", "ep"},
                                    {"--dp", "dp"},
                                    {"--vpp", "vpp"},
                                    {"--micro-batch", "micro_batch"},
                                    {"--zero", "zero"},
                                    {"--recompute-layers", "recompute_layers"}}) {
        options.emplace_back(flag);
        options.push_back(plan.at(key).dump());
    }
    for (auto const& [flag, key] : {std::pair{"--schedule", "schedule"},
                                    {"--recompute", "recompute"},
                                    {"--offload", "offload"},
                                    {"--cp-mode", "cp_mode"},
                                    {"--precision", "precision"},
                                    {"--optimizer", "optimizer"}}) {
        options.emplace_back(flag);
        options.push_back(plan.at(key).get<std::string>());
    }
    for (auto const& [flag, key] :
         {std::pair{"--recompute-modules", "recompute_modules"}, {"--gradients", "gradients"}}) {
        if (!plan.contains(key)) continue;
        options.emplace_back(flag);
        options.push_back(plan.at(key).get<std::string>());
    }
    options.emplace_back(plan.at("sequence_parallel") == true ? "--sequence-parallel" : "--no-sequence-parallel");
    return options;
}

}  // namespace

TEST_CASE("plan --format json has the keys that other programs read", "[INV-26]") {
    Json const json = answer(seventy);
    CHECK(json.at("format") == "plan");
    CHECK(json.at("version") == 1);
    CHECK(json.at("interrupted") == false);
    CHECK(json.at("share_done") == 1);
    CHECK(json.at("advice").empty());
    Json const& counts = json.at("counts");
    std::int64_t rejected = 0;
    for (auto const& [kind, number] : counts.at("rejected").items()) {
        CHECK(kind.find(' ') == std::string::npos);
        rejected += number.get<std::int64_t>();
    }
    CHECK(counts.at("enumerated") == counts.at("evaluated").get<std::int64_t>() + rejected);
    CHECK(counts.at("rejected").at("memory") > 0);

    REQUIRE(json.at("candidates").size() == 10);
    double before = 0;
    for (Json const& candidate : json.at("candidates")) {
        Json const& report = candidate.at("report");
        for (char const* key :
             {"iteration_time_s", "tokens_per_s", "mfu", "memory", "fits", "breakdown", "assumptions", "graph_digest"})
            CHECK(report.contains(key));
        CHECK(report.at("fits") == true);
        CHECK(report.at("iteration_time_s") >= before);
        before = report.at("iteration_time_s").get<double>();
        Json const& p = candidate.at("plan");
        CHECK(p.at("dp").get<int>() * p.at("tp").get<int>() * p.at("pp").get<int>() * p.at("cp").get<int>() == 64);
        CHECK_FALSE(candidate.at("why").get<std::string>().empty());
    }
    Json const& misfit = json.at("fastest_rejected_for_memory");
    REQUIRE(misfit.is_object());
    CHECK(misfit.at("peak_bytes") > json.at("candidates")[0].at("report").at("memory").at("usable_bytes"));
}

TEST_CASE("plan and estimate say the same of the same plan", "[INV-12][long]") {
    for (Arguments const& question : {seventy, seventy + Arguments{"--space", "full"},
                                      Arguments{"plan", "-m", "mixtral-8x7b", "-c", "h100-sxm", "-n", "32", "--seq",
                                                "4096", "--global-batch", "256"}}) {
        Json const json = answer(question);
        for (Json const& candidate : json.at("candidates")) {
            Arguments ask(question.begin(), question.end());
            ask[0] = "estimate";
            if (ask.back() == "full") ask.resize(ask.size() - 2);
            Arguments const options = options_of(candidate.at("plan"));
            RunResult const result = run_sextant(ask + options + Arguments{"--format", "json"});
            INFO(result.err);
            REQUIRE(result.code == 0);
            Json const estimate = Json::parse(result.out);
            for (char const* key : {"iteration_time_s", "mfu", "memory", "breakdown", "graph_digest"})
                CHECK(estimate.at(key) == candidate.at("report").at(key));
        }
    }
}

TEST_CASE("plan prints the same bytes with any number of threads, and each time", "[INV-12][long]") {
    for (char const* format : {"text", "json", "csv", "markdown"}) {
        Arguments const question = seventy + Arguments{"--format", format, "--every-plan", "--top", "40"};
        std::string const alone = run_sextant(question + Arguments{"--threads", "1"}).out;
        CHECK_FALSE(alone.empty());
        CHECK(alone.find(" \n") == std::string::npos);
        for (char const* threads : {"2", "4", "0", "1"})
            CHECK(run_sextant(question + Arguments{"--threads", threads}).out == alone);
    }
}

TEST_CASE("plan: constraints are kept by every plan that is shown", "[INV-26]") {
    Json const json = answer(seventy + Arguments{"--tp", "8", "--zero", "<=1", "--pp", "2..8", "--micro-batch", "1,2",
                                                 "--recompute", "none,full", "--every-plan", "--top", "1000"});
    REQUIRE(json.at("candidates").size() > 10);
    for (Json const& candidate : json.at("candidates")) {
        Json const& p = candidate.at("plan");
        CHECK(p.at("tp") == 8);
        CHECK(p.at("zero") <= 1);
        CHECK(p.at("pp") >= 2);
        CHECK(p.at("pp") <= 8);
        CHECK(p.at("micro_batch") <= 2);
        CHECK(p.at("recompute") != "selective");
    }
    Json const tight = answer(seventy + Arguments{"--max-memory", "50%"});
    for (Json const& candidate : tight.at("candidates")) {
        Json const& m = candidate.at("report").at("memory");
        CHECK(m.at("peak_bytes").get<double>() <= 0.5 * m.at("capacity_bytes").get<double>());
    }
}

TEST_CASE("plan: --recompute-layers 0 and as many as there are both ask for all of a stage") {
    for (char const* const layers : {"0", "80"}) {
        Json const json = answer(seventy + Arguments{"--recompute", "full", "--recompute-layers", layers});
        REQUIRE_FALSE(json.at("candidates").empty());
        for (Json const& candidate : json.at("candidates")) {
            CHECK(candidate.at("plan").at("recompute") == "full");
            CHECK(candidate.at("plan").at("recompute_layers") == 0);
        }
    }
}

TEST_CASE("plan: what the framework may refuse is marked where it is named, and not found otherwise") {
    Arguments const asked{"plan",  "-m",   "llama-3.1-8b",   "-c", "h100-sxm",    "-n",  "16",
                          "--seq", "8192", "--global-batch", "64", "--framework", "fsdp"};
    Json const free = answer(asked);
    for (Json const& candidate : free.at("candidates"))
        CHECK(candidate.at("not_expressed").empty());
    CHECK_THAT(run_sextant(asked).out, !contains("may refuse this"));
    Arguments const named = asked + Arguments{"--zero", "1"};
    Json const forced = answer(named);
    for (Json const& candidate : forced.at("candidates"))
        if (candidate.at("plan").at("dp") > 1) CHECK(candidate.at("not_expressed").size() == 1);
    CHECK_THAT(run_sextant(named).out, contains("1: ! fsdp may refuse this, or run it otherwise: zero: fully_shard"));
}

TEST_CASE("plan: objectives rank by what they say, over several numbers of accelerators", "[INV-26]") {
    Arguments question{"plan",  "-m",   "llama-2-7b",     "-c", "a100-sxm-80gb", "-n", "8,16,32",
                       "--seq", "4096", "--global-batch", "512"};
    auto const best = [&](char const* objective) {
        return answer(question + Arguments{"--objective", objective}).at("candidates").at(0).at("report");
    };
    Json const time = best("time");
    Json const cost = best("cost");
    Json const memory = best("memory");
    Json const tokens = best("tokens-per-dollar");
    CHECK(time.at("gpus") == 32);
    CHECK(time.at("iteration_time_s") <= cost.at("iteration_time_s"));
    CHECK(cost.at("step_cost_usd") <= time.at("step_cost_usd"));
    CHECK(memory.at("memory").at("peak_bytes") <= time.at("memory").at("peak_bytes"));
    CHECK(memory.at("memory").at("peak_bytes") <= cost.at("memory").at("peak_bytes"));
    CHECK(tokens.at("million_tokens_cost_usd") == cost.at("million_tokens_cost_usd"));
}

TEST_CASE("plan: the full space has the standard answer or a better one", "[INV-26][long]") {
    Json const standard = answer(seventy);
    Json const full = answer(seventy + Arguments{"--space", "full"});
    CHECK(full.at("counts").at("enumerated") > standard.at("counts").at("enumerated"));
    CHECK(full.at("candidates")[0].at("report").at("iteration_time_s") <=
          standard.at("candidates")[0].at("report").at("iteration_time_s"));
}

TEST_CASE("plan: nothing on the front is beaten in time and memory at once", "[INV-26]") {
    Json const front = answer(seventy).at("pareto");
    REQUIRE(front.size() > 3);
    for (std::size_t i = 1; i < front.size(); ++i) {
        Json const& before = front[i - 1].at("report");
        Json const& after = front[i].at("report");
        CHECK(before.at("iteration_time_s") < after.at("iteration_time_s"));
        CHECK(before.at("memory").at("peak_bytes") > after.at("memory").at("peak_bytes"));
    }
}

TEST_CASE("plan: no answer is exit code 1 with advice that names a constraint", "[INV-26]") {
    RunResult const eight = run_sextant({"plan", "-m", "llama-3.1-405b", "-c", "h100-sxm", "-n", "8"});
    CHECK(eight.code == 1);
    CHECK(eight.err.empty());
    CHECK_THAT(eight.out, contains("no plan fits") && contains("nearest: ") && contains("--gpus "));
    Arguments const fixed = seventy + Arguments{"--tp", "1", "--pp", "1", "--zero", "0"};
    RunResult const bound = run_sextant(fixed);
    CHECK(bound.code == 1);
    CHECK_THAT(bound.out,
               contains("without --zero would give an answer") && contains("without --pp would give an answer"));
    Json const json = answer(fixed);
    CHECK(json.at("candidates").empty());
    CHECK(json.at("pareto").empty());
    CHECK(json.at("advice").size() >= 2);
    CHECK(json.at("smallest_rejected_for_memory").is_object());
    // The nearest plan is compared with the limit that was asked for.
    RunResult const limited = run_sextant(seventy + Arguments{"--max-memory", "5%"});
    CHECK(limited.code == 1);
    CHECK_THAT(limited.out,
               contains("more than the 4.295 GB") && contains("a memory limit of 79.03 GB would give an answer"));
}

TEST_CASE("plan: where nothing fits, CSV is a header alone and standard error says why and what would help",
          "[INV-26]") {
    Arguments const eight{"plan", "-m", "llama-3.1-405b", "-c", "h100-sxm", "-n", "8"};
    RunResult const csv = run_sextant(eight + Arguments{"--format", "csv"});
    CHECK(csv.code == 1);
    CHECK(lines_of(csv.out).size() == 1);
    CHECK_THAT(csv.err, contains("no plan fits") && contains("nearest: ") && contains("--gpus "));
    RunResult const json = run_sextant(eight + Arguments{"--format", "json"});
    CHECK(json.code == 1);
    CHECK(json.err.empty());  // its advice says so
}

TEST_CASE("plan: --only-validated without a measured plan is a report in the format asked for", "[INV-26]") {
    ScratchFolder const scratch("only_validated");
    Arguments const unmeasured{"plan", "-m", "llama-3.1-8b", "-c", "l40s-pcie", "-n", "8", "--only-validated"};
    RunResult const text = run_sextant(unmeasured);
    CHECK(text.code == 1);
    CHECK_THAT(text.out, contains("no plan stands on measurements alone"));
    RunResult const csv = run_sextant(unmeasured + Arguments{"--format", "csv"});
    CHECK(csv.code == 1);
    CHECK(lines_of(csv.out).size() == 1);
    CHECK(csv.err == text.out);
    Json const json = answer(unmeasured);
    CHECK(json.at("candidates").empty());
    CHECK(json.at("advice").size() == 2);
    RunResult const written = run_sextant(unmeasured + Arguments{"--output", scratch.path("plan.txt")});
    CHECK(written.out.empty());
    CHECK(sextant::read_text_file(scratch.path("plan.txt"), 1 << 20) == text.out);
}

TEST_CASE("plan: --only-validated answers for the numbers of accelerators that measurements support", "[INV-26]") {
    Arguments const asked{"plan",  "-m",   "llama-2-7b", "-c", "h200-sxm",
                          "--seq", "2048", "--top",      "1",  "--only-validated"};
    RunResult const alone = run_sextant(asked + Arguments{"-n", "8"});
    RunResult const both = run_sextant(asked + Arguments{"-n", "8, 32"});
    CHECK(alone.code == 0);
    CHECK(both.code == 0);
    CHECK(both.out == alone.out);
    CHECK(alone.err.empty());
    CHECK_THAT(both.err, contains("32 accelerators are left out: scale-out network"));
}

TEST_CASE("plan: a framework without pipelines is searched without them, unless they are named") {
    Arguments const asked{"plan", "-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "16", "--framework", "fsdp"};
    Json const usual = answer(asked);
    for (Json const& candidate : usual.at("candidates"))
        CHECK(candidate.at("plan").at("pp") == 1);
    CHECK(answer(asked + Arguments{"--pp", "2"}).at("candidates").at(0).at("plan").at("pp") == 2);
}

TEST_CASE("plan: tables are well formed, and --output writes what would be printed", "[INV-12]") {
    ScratchFolder const scratch("plan");
    RunResult const csv = run_sextant(seventy + Arguments{"--format", "csv"});
    CHECK(is_csv_table(csv.out));
    CHECK(lines_of(csv.out).size() == 11);
    std::string const markdown = run_sextant(seventy + Arguments{"--format", "markdown", "--top", "3"}).out;
    CHECK_THAT(markdown.substr(0, markdown.find('\n')), contains("llama-2-70b on ") && contains("global batch"));
    CHECK(is_markdown_table(markdown.substr(markdown.find("\n\n") + 2)));
    RunResult const written =
        run_sextant(seventy + Arguments{"--format", "csv", "--output", scratch.path("plans.csv")});
    CHECK(written.code == 0);
    CHECK(written.out.empty());
    CHECK(sextant::read_text_file(scratch.path("plans.csv"), 1 << 20) == csv.out);
    CHECK(scratch.count() == 1);
}

TEST_CASE("plan: an interrupt ends the search with a report that says it is a part", "[INV-26]") {
    // The whole space over many numbers of accelerators: seconds of work, of which a signal leaves a fraction.
    std::string counts;
    for (int n = 1024; n < 4096; n += 64)
        counts += (counts.empty() ? "" : ",") + std::to_string(n);
    std::signal(SIGINT, SIG_IGN);
    std::thread interrupt([] {
        struct sigaction now {};
        do {  // until the search has taken the signal over
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            sigaction(SIGINT, nullptr, &now);
        } while (now.sa_handler == SIG_IGN);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        std::raise(SIGINT);
    });
    RunResult const result = run_sextant(
        {"plan", "-m", "llama-3.1-405b", "-c", "h100-sxm", "-n", counts, "--space", "full", "--format", "json"});
    interrupt.join();
    CHECK(result.code == 130);
    Json const json = Json::parse(result.out);
    CHECK(json.at("interrupted") == true);
    CHECK(json.at("share_done") < 1);
    CHECK(json.at("counts").at("enumerated") > 0);
    CHECK(json.at("candidates").size() <= 10);
}

TEST_CASE("plan: the order shown is that of the times shown, whatever the schedules", "[INV-26]") {
    Json const json =
        answer(seventy + Arguments{"--pp", ">=2", "--schedule", "1f1b,interleaved,zb-h1,zb-v", "--top", "20"});
    double before = 0;
    std::set<std::string> schedules;
    for (Json const& candidate : json.at("candidates")) {
        double const time = candidate.at("report").at("iteration_time_s").get<double>();
        CHECK(time >= before);
        before = time;
        schedules.insert(candidate.at("plan").at("schedule").get<std::string>());
    }
    CHECK(json.at("candidates").size() == 20);
    CHECK((schedules.contains("zb-h1") || schedules.contains("zb-v")));
}

#include "core/csv.hpp"
#include "tests/cli/questions.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/fixtures.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace {

Arguments const seventy{"run-plan", "--model", "llama-2-70b", "--tokens", "2T", "--gpus", "1024", "--mfu", "0.5"};

}  // namespace

TEST_CASE("run-plan --mfu 0.5 prints the days that everybody knows, and where ours differ") {
    RunResult const h100 = run_sextant(seventy + Arguments{"-c", "h100-sxm"});
    CHECK(h100.code == 0);
    CHECK(h100.err.empty());
    CHECK_THAT(h100.out, contains("= 19.2 days"));
    CHECK_THAT(h100.out, contains("68.977 B, not 70 B"));
    CHECK_THAT(run_sextant(seventy + Arguments{"-c", "a100-sxm-80gb"}).out, contains("= 60.9 days"));

    Json const json = report(seventy + Arguments{"-c", "h100-sxm"});
    CHECK(json.at("format") == "run_plan");
    CHECK(json.at("version") == 1);
    Json const& plain = json.at("plain");
    CHECK(plain.at("days").get<double>() == Approx(19.2).epsilon(0.003));
    double sum = plain.at("wall_s").get<double>();
    for (Json const& term : plain.at("difference"))
        sum += term.at("time_s").get<double>();
    CHECK(sum == Approx(json.at("run").at("wall_s").get<double>()).epsilon(1e-12));
    CHECK(all_finite(json));
}

TEST_CASE("run-plan's figures hang together: steps, time, hours, dollars, tokens") {
    Json const json = report({"run-plan", "--flops", "1e22", "-c", "h100-sxm", "-n", "64", "--price", "2"});
    Json const& run = json.at("run");
    double const wall = run.at("wall_s").get<double>();
    CHECK(run.at("steps").get<double>() * run.at("iteration_time_s").get<double>() ==
          Approx(wall * run.at("effective_training_time_ratio").get<double>()));
    CHECK(run.at("gpu_hours").get<double>() == Approx(64 * wall / 3600));
    CHECK(run.at("dollars").get<double>() == Approx(2 * run.at("gpu_hours").get<double>()));
    CHECK(run.at("tokens_per_s").get<double>() == Approx(json.at("tokens").get<double>() / wall));
    CHECK(run.at("wall_low_s") < run.at("wall_s"));
    CHECK(run.at("wall_s") < run.at("wall_high_s"));
    CHECK(6 * json.at("tokens").get<double>() * json.at("model").at("parameters_active").get<double>() == Approx(1e22));
    CHECK(json.at("curve").is_null());
    CHECK(json.at("deadline").is_null());
    CHECK(json.at("interrupted") == false);
}

TEST_CASE("run-plan's csv has the intervals of the time, the hours and the money as the json has") {
    Arguments const asked{"run-plan", "--flops", "1e22", "-c", "h100-sxm", "-n", "64", "--price", "2"};
    Json const run = report(asked).at("run");
    sextant::CsvTable const csv = sextant::parse_csv(run_sextant(asked + Arguments{"--format", "csv"}).out, "csv");
    for (std::string const name : {"gpu_hours", "dollars"})
        for (char const* end : {"", "_low", "_high"}) {
            auto const row = std::find_if(csv.records.begin(), csv.records.end(),
                                          [&](auto const& record) { return record.cells.at(0) == name + end; });
            CAPTURE(name, end);
            REQUIRE(row != csv.records.end());
            CHECK(std::stod(row->cells.at(1)) == Approx(run.at(name + end).get<double>()));
        }
}

TEST_CASE("run-plan with --failures none has no term of failures and ends earlier") {
    Arguments const base{"run-plan", "-m", "llama-2-7b", "--tokens", "1e12", "-c", "a100-sxm-80gb", "-n", "512"};
    Json const failing = report(base);
    Json const calm = report(base + Arguments{"--failures", "none"});
    CHECK(calm.at("run").at("wall_s") < failing.at("run").at("wall_s"));
    CHECK(calm.at("run").at("goodput").is_null());
    CHECK(calm.at("run").at("effective_training_time_ratio") == 1);
    CHECK(failing.at("run").at("goodput").at("shares").at("useful") < 1);
    CHECK(report(base + Arguments{"--failures", "meta-rsc1"}).at("run").at("wall_s") != failing.at("run").at("wall_s"));
}

TEST_CASE("run-plan with a deadline gives the fewest GPUs and a scaling curve") {
    Json const json = report({"run-plan", "-m", "llama-2-7b", "--tokens", "1T", "--deadline", "30d", "-c", "h100-sxm"});
    CHECK(json.at("run").at("days") <= 30);
    CHECK(json.at("deadline").at("largest_that_misses").at("wall_s") > 30 * 86400);
    Json const& points = json.at("curve").at("points");
    REQUIRE(points.size() == 10);
    CHECK(points[0].at("gpus") == 1);
    CHECK(points[9].at("gpus") == 16384);
    bool first = true;
    for (Json const& point : points) {
        if (point.at("fits") == false) {
            CHECK_FALSE(point.at("reason").get<std::string>().empty());
            continue;
        }
        if (first) CHECK(point.at("efficiency") == 1);
        first = false;
        CHECK(point.at("days") > 0);
    }
    CHECK_FALSE(first);

    RunResult const csv = run_sextant({"run-plan", "-m", "llama-2-7b", "--tokens", "1T", "--deadline", "30d", "-c",
                                       "h100-sxm", "--curve", "64,8,64", "--format", "csv"});
    CHECK(csv.code == 0);
    CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 3);
    CHECK(csv.out.starts_with("model,cluster,framework,seq,global_batch,gpus,plan,step_time_s,"));
}

TEST_CASE("run-plan's csv and markdown have the answer also where there is a scaling curve") {
    Arguments const asked{"run-plan", "-m", "llama-2-7b", "--tokens", "1T", "--deadline", "30d", "-c", "h100-sxm"};
    Json const json = report(asked);
    std::string const gpus = std::to_string(json.at("run").at("gpus").get<std::int64_t>());
    std::string const csv = run_sextant(asked + Arguments{"--format", "csv"}).out;
    CHECK(is_csv_table(csv));
    for (std::string const& line :
         {std::string("model,llama-2-7b"), std::string("tokens,1000000000000"), std::string("cluster,h100-sxm"),
          "gpus," + gpus, "fewest_gpus," + gpus, std::string("deadline_s,2592000"), std::string("deadline_met,true")})
        CHECK_THAT(csv, contains("\n" + line + "\n"));
    std::string const markdown = run_sextant(asked + Arguments{"--format", "markdown"}).out;
    std::size_t const answer = markdown.find("| deadline_met | true |");
    std::size_t const curve = markdown.find("| gpus | plan |");
    REQUIRE(answer != std::string::npos);
    REQUIRE(curve != std::string::npos);
    CHECK(answer < curve);
}

TEST_CASE("run-plan --plot writes the curve as a picture") {
    ScratchFolder const scratch("run_plan_plot");
    std::string const file = scratch.path("curve.svg");
    RunResult const result = run_sextant({"run-plan", "-m", "llama-2-7b", "--tokens", "1T", "-n", "64", "-c",
                                          "h100-sxm", "--curve", "8,64,512", "--plot", file});
    CHECK(result.code == 0);
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    CHECK(text.str().starts_with("<svg"));
    CHECK(text.str().ends_with("</svg>\n"));
    std::size_t circles = 0;
    std::string const svg = text.str();
    for (auto at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
        ++circles;
    CHECK(circles == 3);
}

TEST_CASE("run-plan --write-model writes a configuration that is the same model to every command") {
    ScratchFolder const scratch("run_plan_model");
    std::string const file = scratch.path("config.json");
    for (char const* size : {"3e8", "2e9", "7e10"}) {
        Json const json = report(
            {"run-plan", "--params", size, "--tokens", "1e10", "-c", "h100-sxm", "-n", "64", "--write-model", file});
        Json const model = Json::parse(run_sextant({"models", "show", file, "--format", "json"}).out);
        CHECK(model.at("parameters_total") == json.at("model").at("parameters_total"));
        Json const again = report({"run-plan", "--model", file, "--tokens", "1e10", "-c", "h100-sxm", "-n", "64"});
        CHECK(again.at("run").at("wall_s") == json.at("run").at("wall_s"));
    }
    CHECK(run_sextant({"run-plan", "-m", "gpt2", "-c", "l4-pcie", "--write-model", file}).code == 2);
}

TEST_CASE("run-plan says no with exit code 1 when nothing fits or no size is fast enough") {
    RunResult const large =
        run_sextant({"run-plan", "-m", "llama-3.1-405b", "--tokens", "1T", "-n", "8", "-c", "h100-sxm"});
    CHECK(large.code == 1);
    CHECK_THAT(large.out, contains("no plan: memory"));
    Arguments const rushed{"run-plan",   "-m", "llama-2-7b", "--tokens", "10T",
                           "--deadline", "1h", "-c",         "h100-sxm", "--no-curve"};
    CHECK(run_sextant(rushed).code == 1);
    Json const late = answer(rushed);
    CHECK(late.at("run").is_null());
    CHECK(late.at("deadline").at("met") == false);
    CHECK_THAT(late.at("reason").get<std::string>(), contains("take"));
}

TEST_CASE("run-plan says what would fit where nothing does: clusters with the memory, the option in the way, GPUs") {
    Arguments const few{"run-plan", "-m", "llama-3.1-70b", "--tokens", "1T", "-c", "l40s-pcie", "-n", "8"};
    Json const no = answer(few);
    CHECK(no["run"].is_null());
    std::string all;
    for (Json const& line : no["advice"])
        all += line.get<std::string>() + "\n";
    CHECK_THAT(
        all, contains("more of memory on each of 8 accelerators would give an answer") && contains("; so much have "));
    std::size_t const at = all.find("--gpus ");
    REQUIRE(at != std::string::npos);
    std::string const count = std::to_string(std::stoi(all.substr(at + 7)));
    // What it says is true, and the next smaller size that it tried is not an answer.
    Arguments enough = few;
    enough.back() = count;
    CHECK(run_sextant(enough).code == 0);
    RunResult const text = run_sextant(few);
    CHECK(text.code == 1);
    CHECK_THAT(text.out, contains("no plan: ") && contains("- --gpus " + count + " would give an answer"));
    CHECK_THAT(run_sextant(few + Arguments{"--format", "csv"}).out, contains("advice,"));

    Json const narrow = answer({"run-plan", "-m", "llama-3.1-70b", "--tokens", "1T", "-c", "h100-sxm", "-n", "64",
                                "--tp", "1", "--pp", "1", "--zero", "0"});
    CHECK(narrow["run"].is_null());
    CHECK_THAT(narrow["advice"].dump(), contains("without --"));
    CHECK(answer({"run-plan", "-m", "llama-3.1-8b", "--tokens", "1T", "-c", "h100-sxm", "-n", "64"})["advice"].empty());

    Json const late =
        answer({"run-plan", "-m", "llama-3.1-8b", "--tokens", "1T", "-c", "dgx-spark", "--deadline", "1d"});
    if (late["run"].is_null() && !late["deadline"]["fastest"].is_null())
        CHECK_THAT(late["advice"].dump(), contains("--deadline ") && contains("would give an answer"));
}

TEST_CASE("run-plan's advice is true: a number of GPUs, a batch or a size that it names gives a plan", "[long]") {
    auto const value_after = [](std::string const& text, std::string const& flag) {
        std::size_t const at = text.find(flag + " ");
        REQUIRE(at != std::string::npos);
        std::size_t const begin = at + flag.size() + 1;
        return text.substr(begin, text.find(' ', begin) - begin);
    };
    Arguments const odd{"run-plan", "-m", "llama-3.1-8b", "--tokens", "1T", "-c", "h100-sxm"};
    std::string const advice = answer(odd + Arguments{"-n", "100000"})["advice"].dump();
    INFO(advice);
    CHECK(run_sextant(odd + Arguments{"-n", value_after(advice, "--gpus")}).code == 0);
    CHECK(run_sextant(odd + Arguments{"-n", "100000", "--global-batch", value_after(advice, "--global-batch")}).code ==
          0);

    Arguments const much{"run-plan", "--flops", "1e27", "-c", "h100-sxm", "-n", "64"};
    std::string const smaller = answer(much)["advice"].dump();
    INFO(smaller);
    CHECK(run_sextant(much + Arguments{"--params", value_after(smaller, "--params")}).code == 0);

    Json const late = answer({"run-plan", "--flops", "1e25", "-c", "dgx-spark", "--deadline", "1d", "--no-curve"});
    CHECK_THAT(late["advice"].dump(), contains("a smaller --flops") && !contains("--tokens"));
}

TEST_CASE("run-plan names clusters only where a search finds a plan on them") {
    Arguments const question{"run-plan", "--flops", "1e24", "-n", "16", "--global-batch", "512", "-c"};
    Json const no = answer(question + Arguments{"a100-sxm-80gb"});
    std::string const line = no.at("advice").at(0);
    INFO(line);
    CHECK_THAT(line, !contains("dgx-spark"));  // which has the memory, but one accelerator a domain
    std::string const so_much = "; so much have ";
    std::size_t at = line.find(so_much);
    REQUIRE(at != std::string::npos);
    for (at += so_much.size(); at < line.size(); at = std::min(line.find(", ", at), line.size() - 2) + 2)
        CHECK(run_sextant(question + Arguments{line.substr(at, line.find(' ', at) - at)}).code == 0);
}

TEST_CASE("run-plan's advice promises no answer where the deadline is missed all the same") {
    Arguments const question{"run-plan", "--flops", "1e24",       "-c",         "h100-sxm",
                             "--zero",   "3",       "--no-curve", "--deadline", "5d"};
    std::string const advice = answer(question + Arguments{"--global-batch", "100"}).at("advice").dump();
    INFO(advice);
    CHECK_THAT(advice, contains("--global-batch 2048 would fit, but take ") && !contains("would give an answer"));
    Json const followed = answer(question + Arguments{"--global-batch", "2048"});
    CHECK(followed.at("run").is_null());
    CHECK_THAT(advice, contains(" days on 8,192 accelerators"));
    std::string const days = advice.substr(advice.find("take "), 7);  // "take 5.4"
    CHECK_THAT(followed.at("reason").get<std::string>(), contains("8,192 " + days));
}

TEST_CASE("run-plan's advice where degrees leave nothing to search is to free them together, not memory") {
    Json const degrees = answer({"run-plan", "-c", "b200-sxm", "-m", "llama-3.1-405b", "--tokens", "10B", "-n", "40",
                                 "--tp", "8", "--pp", "2"});
    CHECK_THAT(degrees.at("advice").dump(), contains("without --tp, --pp ") && !contains("larger memory"));
    Json const wide = answer({"run-plan", "-c", "h100-sxm", "--flops", "1e25", "-n", "8", "--tp", "16", "--zero", "0",
                              "--global-batch", "64"});
    CHECK_THAT(wide.at("advice").dump(), contains("--tp, --zero") && !contains("larger memory"));
}

TEST_CASE("run-plan has GPU-hours below one, and no 6 N D of adapters") {
    RunResult const tiny = run_sextant({"run-plan", "-m", "gpt2", "--tokens", "1e6", "-c", "h100-sxm", "-n", "1"});
    CHECK_THAT(tiny.out, !contains("GPU-hours    0 "));
    RunResult const adapters = run_sextant(
        {"run-plan", "-m", "llama-3.1-8b", "--tokens", "1e8", "--lora-rank", "16", "-c", "h100-sxm", "-n", "8"});
    CHECK(adapters.code == 0);
    CHECK_THAT(adapters.out, !contains("6 N D"));
}

TEST_CASE("run-plan says whether so many GPUs end in time, with exit code 1 where not, in every format") {
    Arguments const asked{"run-plan", "-m", "llama-2-7b", "--tokens", "1T", "-c", "h100-sxm", "-n", "64"};
    for (auto const& [days, code] : {std::pair{"60d", 0}, std::pair{"5d", 1}}) {
        Arguments const question = asked + Arguments{"--deadline", days};
        RunResult const text = run_sextant(question);
        CHECK(text.code == code);
        CHECK_THAT(text.out, contains(code == 0 ? "met, " : "MISSED: 64 accelerators take"));
        CHECK_THAT(text.out, contains("fewest GPUs that end it in time: "));
        Json const json = answer(question);
        CHECK(json.at("deadline").at("met") == (code == 0));
        CHECK((json.at("deadline").at("fewest").at("gpus") <= 64) == (code == 0));
        CHECK(json.at("reason").get<std::string>().empty() == (code == 0));
        CHECK(json.at("run").at("gpus") == 64);
        CHECK(json.at("curve").is_null());
        RunResult const csv = run_sextant(question + Arguments{"--format", "csv"});
        CHECK_THAT(csv.out, contains(code == 0 ? "deadline_met,true" : "deadline_met,false"));
    }
}

TEST_CASE("run-plan refuses questions that are wrong, with a sentence and exit code 2") {
    Arguments const machine{"run-plan", "-c", "h100-sxm"};
    struct Case {
        Arguments arguments;
        char const* message;
    };
    for (Case const& c : {
             Case{{}, "neither a budget nor a model"},
             Case{{"--flops", "1e24", "--dollars", "1e6"}, "--dollars: --flops is a budget already"},
             Case{{"--days", "30"}, "--gpus"},
             Case{{"--flops", "nan"}, "--flops"},
             Case{{"--flops", "inf"}, "--flops"},
             Case{{"--flops", "-1e24"}, "--flops"},
             Case{{"--flops", "0"}, "--flops"},
             Case{{"--flops", "1e24x"}, "not a number"},
             Case{{"--flops", ""}, "--flops: the value is empty"},
             Case{{"--flops", "1e9"}, "--law"},
             Case{{"--model", "gpt2", "--tokens", "1e40"}, "tokens"},
             Case{{"--model", "gpt2", "--flops", "1"}, "tokens"},
             Case{{"--flops", "1e22", "--law", "kaplan"}, "--law"},
             Case{{"--dollars", "1e6", "--price", "0"}, "--price"},
             Case{{"--flops", "1e24", "--gpus", "8,16"}, "is a list"},
             Case{{"--flops", "1e24", "--gpus", "0"}, "--gpus"},
             Case{{"--flops", "1e24", "--law", "chinchila-huber"}, "chinchilla-huber"},
             Case{{"--flops", "1e24", "--law", "/no/such/file.json"}, "/no/such/file.json"},
             Case{{"--model", "llama-2-70b", "--tokens", "1T", "--flops", "1e24"}, "one too many"},
             Case{{"--model", "llama-2-70b", "--params", "7B"}, "--params"},
             Case{{"--model", "llama-2-70b", "--tokens", "nan"}, "--tokens"},
             Case{{"--days", "30", "--gpus", "8", "--deadline", "30d"}, "--deadline: --days says"},
             Case{{"--model", "llama-2-70b", "--deadline", "-3d"}, "--deadline"},
             Case{{"--model", "llama-2-70b", "--deadline", "soon"}, "--deadline"},
             Case{{"--model", "llama-2-70b", "--mfu", "1.5", "--gpus", "64"}, "--mfu"},
             Case{{"--model", "llama-2-70b", "--mfu", "0", "--gpus", "64"}, "--mfu"},
             Case{{"--model", "llama-2-70b", "--mfu", "120%", "--gpus", "64"}, "--mfu"},
             Case{{"--model", "llama-2-70b", "--failures", "lama3"}, "llama3"},
             Case{{"--model", "llama-2-70b", "--curve", "8,,64"}, "--curve"},
             Case{{"--model", "llama-2-70b", "--curve", "8,-1"}, "--curve"},
             Case{{"--model", "llama-2-70b", "--gpus", "64", "--plot", "x.svg"}, "--plot"},
             Case{{"--model", "llama-2-70b", "--pue", "0.5"}, "--pue"},
             Case{{"--model", "llama-2-70b", "--idle-share", "nan"}, "--idle-share"},
             Case{{"--params", "7", "--tokens", "1T"}, "--params"},
             Case{{"--flops", "1e22", "--vocab", "0"}, "--vocab"},
             Case{{"--model", "llama-2-70b", "--global-batch", "0"}, "--global-batch"},
             Case{{"--model", "gpt2", "--seq", "4096"}, "--seq"},
         }) {
        std::string shown;
        for (std::string const& a : c.arguments)
            shown += " " + a;
        INFO("run-plan" << shown);
        RunResult const result = run_sextant(machine + c.arguments);
        INFO(result.out);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        CHECK_THAT(result.err, contains(c.message));
    }
    RunResult const too_many =
        run_sextant({"run-plan", "-m", "llama-2-7b", "-c", "dgx-1-v100", "--gpus", "1000000000"});
    CHECK(too_many.code == 2);
    CHECK_THAT(too_many.err, contains("--gpus"));
}

TEST_CASE("random questions to run-plan end in an answer, a no, or one sentence of refusal", "[INV-11]") {
    std::mt19937_64 random(sextant::fixtures::seeded(42));
    using sextant::fixtures::pick;
    for (int i = 0; i < sextant::fixtures::cases(120, 40); ++i) {
        Arguments arguments{"run-plan", "-c",
                            pick<char const*>(random, {"h100-sxm", "l4-pcie", "tpu-v5p", "v100-16gb", "gb200-nvl72"})};
        auto const maybe = [&](char const* flag, std::initializer_list<char const*> values) {
            if (random() % 3 != 0) return;
            arguments.emplace_back(flag);
            arguments.emplace_back(pick(random, values));
        };
        maybe("--model", {"gpt2", "llama-2-7b", "mixtral-8x7b", "deepseek-v3"});
        maybe("--flops", {"1e18", "1e22", "1e26", "1e30"});
        maybe("--dollars", {"1", "1e4", "1e9"});
        maybe("--days", {"0.001", "30", "1e5"});
        maybe("--tokens", {"1", "1e9", "3T", "1e30"});
        maybe("--params", {"1e7", "7B", "3T"});
        maybe("--gpus", {"1", "8", "12", "256"});
        maybe("--deadline", {"1 h", "7d", "1000"});
        maybe("--mfu", {"0.4", "100%"});
        maybe("--seq", {"512", "2048"});
        maybe("--global-batch", {"1", "96", "1024"});
        maybe("--failures", {"none", "opt-175b"});
        arguments.insert(arguments.end(), {"--curve", pick<char const*>(random, {"8", "1,64,7"}), "--format",
                                           pick<char const*>(random, {"text", "json", "csv", "markdown"})});
        std::string shown;
        for (std::string const& a : arguments)
            shown += " " + a;
        INFO("sextant" << shown);
        RunResult const result = run_sextant(arguments);
        INFO(result.out << result.err);
        REQUIRE(result.code >= 0);
        REQUIRE(result.code <= 2);
        REQUIRE(result.out.empty() == (result.code == 2));
        REQUIRE(result.err.empty() == (result.code != 2));
        if (result.out.starts_with("{")) REQUIRE(all_finite(Json::parse(result.out)));
        for (char const* word : {"nan", "inf"})
            REQUIRE_FALSE(has_word(result.out, word));
    }
}

TEST_CASE("run-plan: an interrupt ends with a report that says it is a part, and exit code 130", "[INV-26]") {
    std::string counts;
    for (int n = 1024; n < 1024 + 200 * 128; n += 128)
        counts += (counts.empty() ? "" : ",") + std::to_string(n);
    std::signal(SIGINT, SIG_IGN);
    std::thread interrupt([] {
        struct sigaction now {};
        do {  // until the searches have taken the signal over
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            sigaction(SIGINT, nullptr, &now);
        } while (now.sa_handler == SIG_IGN);
        std::raise(SIGINT);
    });
    RunResult const result = run_sextant({"run-plan", "-m", "llama-3.1-405b", "--tokens", "15T", "-c", "h100-sxm", "-n",
                                          "1024", "--curve", counts, "--threads", "1", "--format", "json"});
    interrupt.join();
    CHECK(result.code == 130);
    Json const json = Json::parse(result.out);
    CHECK(json.at("interrupted") == true);
    if (!json.at("curve").is_null()) CHECK(json.at("curve").at("points").size() < 200);
}

TEST_CASE("run-plan gives the same bytes for any number of threads", "[long]") {
    Arguments const base{"run-plan", "--dollars", "1e5", "-c", "h100-sxm", "--curve", "8,64"};
    CHECK(run_sextant(base + Arguments{"--threads", "1"}).out == run_sextant(base + Arguments{"--threads", "4"}).out);
}

#include "core/csv.hpp"
#include "tests/cli/questions.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace {

Arguments const budget{"trials", "budget", "--runs", "20"};
Arguments const schedule{"trials", "schedule", "--tokens", "1B", "--lr", "3e-4", "--batch", "1M"};

}  // namespace

TEST_CASE("trials budget: tables of the papers, costs that follow from them, times that fit on the workers") {
    Json const json =
        report(budget + Arguments{"--parameters", "1B", "--tokens", "20B", "--cluster", "h100-sxm", "--gpus", "64",
                                  "--gpus-per-trial", "8", "--mfu", "0.4", "--grid", "3x3x3"});
    CHECK(json.at("format") == "trials-budget");
    CHECK(json.at("version") == 1);
    CHECK(json.at("workers") == 8);
    CHECK(json.at("trial_flops").get<double>() == Approx(1.2e20));
    REQUIRE(json.at("methods").size() == 6);
    for (Json const& method : json.at("methods")) {
        std::string const name = method.at("method");
        CAPTURE(name);
        double const trials = method.at("units").get<double>() / 81;
        CHECK(method.at("flops").get<double>() == Approx(1.2e20 * trials));
        double const gpu_s = method.at("gpu_s").get<double>();
        double const slowdown = 1.02 * std::exp(0.05 * 0.05 / 2);  // 2 % of the pieces twice as slow, jitter
        CHECK(gpu_s == Approx(slowdown * 1.2e20 * trials / (0.4 * 989.5e12)).epsilon(0.002));
        CHECK(method.at("usd").get<double>() == Approx(gpu_s / 3600 * json.at("usd_per_gpu_hour").get<double>()));
        Json const& simulation = method.at("simulation");
        // All the work, on all the workers, takes at least this long.
        if (name != "asha") CHECK(simulation.at("wall_s").get<double>() > 0.9 * gpu_s / 64);
        CHECK(simulation.at("wall_p5_s") <= simulation.at("wall_p95_s"));
        if (name == "sha") {
            CHECK(method.at("units") == 297.0);
            CHECK(method.at("brackets")[0].at("units") == 405.0);
        }
        if (name == "grid") CHECK(method.at("started") == 27);
        if (name == "hyperband") {
            double const expected[] = {405, 363, 351, 378, 405};
            for (std::size_t i = 0; i < 5; ++i)
                CHECK(method.at("brackets")[i].at("units") == expected[i]);
        }
    }
}

TEST_CASE("trials budget: starts of pieces are paid for, idle workers are not, and the last trial is whole") {
    Arguments const priced = budget + Arguments{"--trial-time", "1h", "--gpus-per-trial", "8", "--price", "2"};
    Json const quick = report(priced);
    Json const slow = report(priced + Arguments{"--start-time", "60s"});
    for (std::size_t i = 0; i < quick.at("methods").size(); ++i) {
        Json const& method = slow.at("methods")[i];
        double pieces = 0;
        for (Json const& bracket : method.at("brackets"))
            for (Json const& rung : bracket.at("rungs"))
                pieces += rung.at("trials").get<double>();
        double const gpu_s = method.at("gpu_s").get<double>();
        CHECK(gpu_s == Approx(quick.at("methods")[i].at("gpu_s").get<double>() + pieces * 60 * 8));
        CHECK(method.at("usd").get<double>() == Approx(gpu_s / 3600 * 2));
    }
    CHECK_THAT(slow.at("assumptions").dump(), contains("start a piece; idle workers are not billed"));
    Arguments const two{"trials", "budget", "--runs", "5", "--method", "asha", "--trials", "2"};
    Json const few = report(two).at("methods")[0];
    CHECK(few.at("finished") == 1);
    CHECK(few.at("simulation").at("first_whole_units").get<double>() > 0);
}

TEST_CASE("trials budget prints the same whatever the threads; csv has a row per method") {
    CHECK(run_sextant(budget + Arguments{"--threads", "1"}).out ==
          run_sextant(budget + Arguments{"--threads", "4"}).out);
    RunResult const csv = run_sextant(budget + Arguments{"--method", "asha,random", "--format", "csv"});
    REQUIRE(csv.code == 0);
    CHECK(sextant::parse_csv(csv.out, "csv").records.size() == 2);
    CHECK(run_sextant({"trials", "budget", "--runs", "0"}).code == 0);
}

TEST_CASE("trials budget: csv and json have the mean and the worst cost that the text has") {
    Arguments const asked = budget + Arguments{"--method", "asha", "--trial-time", "10min", "--price", "2"};
    sextant::CsvTable const csv = sextant::parse_csv(run_sextant(asked + Arguments{"--format", "csv"}).out, "csv");
    auto const cell = [&](char const* name) { return std::stod(csv.records.at(0).cells.at(csv.find(name).value())); };
    CHECK(cell("mean_gpu_s") == Approx(cell("gpu_s") / cell("units") * cell("simulated_units")).epsilon(0.03));
    CHECK(cell("worst_gpu_s") == Approx(cell("gpu_s") / cell("units") * cell("worst_units")));
    CHECK(cell("mean_usd") == Approx(2 * cell("mean_gpu_s") / 3600));
    CHECK(cell("worst_usd") == Approx(2 * cell("worst_gpu_s") / 3600));
    Json const method = report(asked).at("methods").at(0);
    for (char const* name : {"gpu_s", "mean_gpu_s", "worst_gpu_s", "usd", "mean_usd", "worst_usd"})
        CHECK(method.at(name).get<double>() == Approx(cell(name)));
}

TEST_CASE("trials budget: stragglers are paid for, as long as their workers are busy") {
    Arguments const slow =
        budget + Arguments{"--method",           "random", "--trial-time",       "6h", "--price", "2",
                           "--straggler-chance", "0.5",    "--straggler-factor", "10"};
    Json const method = report(slow).at("methods").at(0);
    Json const& simulation = method.at("simulation");
    double const busy = simulation.at("wall_s").get<double>() * 8 * (1 - simulation.at("idle_share").get<double>());
    CHECK(method.at("mean_gpu_s").get<double>() == Approx(busy).epsilon(1e-9));
    CHECK(method.at("gpu_s").get<double>() == Approx(busy).epsilon(0.05));
    CHECK(method.at("gpu_s").get<double>() == Approx(81 * 6 * 3600 * 5.5 * std::exp(0.05 * 0.05 / 2)));
}

TEST_CASE("trials budget: a trial that its accelerators cannot hold is warned of") {
    Arguments const large = budget + Arguments{"--parameters", "70B", "--tokens", "1.4T", "--cluster", "h100-sxm"};
    CHECK_THAT(report(large).at("assumptions").dump(),
               contains("a trial does not fit") && contains("--gpus-per-trial 14"));
    CHECK_THAT(report(large + Arguments{"--gpus-per-trial", "16"}).at("assumptions").dump(), !contains("does not fit"));
}

TEST_CASE("trials schedule: the csv is a calendar whose tokens are the sum of its batches") {
    RunResult const csv = run_sextant(schedule + Arguments{"--batch", "1M,2M@500M", "--warmup-steps", "10", "--shape",
                                                           "wsd", "--samples", "100000", "--format", "csv"});
    // --batch twice is refused; the calendar below gives it once.
    CHECK(csv.code == 2);
    RunResult const result =
        run_sextant({"trials", "schedule", "--tokens", "1B", "--lr", "3e-4", "--batch", "1M,2M@500M", "--warmup-steps",
                     "10", "--shape", "wsd", "--samples", "100000", "--format", "csv"});
    REQUIRE(result.code == 0);
    sextant::CsvTable const table = sextant::parse_csv(result.out, "csv");
    REQUIRE(table.records.size() == 750);
    double sum = 0;
    for (sextant::CsvRecord const& record : table.records) {
        sum += std::stod(record.cells[2]);
        CHECK(std::stod(record.cells[1]) == Approx(sum));
    }
    CHECK(std::stod(table.records[9].cells[3]) == Approx(3e-4));
    CHECK(std::stod(table.records.back().cells[3]) == Approx(3e-5));
}

TEST_CASE("trials schedule and transfer write every format") {
    for (std::string const format : {"text", "json", "csv", "markdown"}) {
        CHECK(run_sextant(schedule + Arguments{"--format", format}).code == 0);
        CHECK(run_sextant({"trials", "transfer", "--parameters", "70B", "--tokens", "15T", "--format", format}).code ==
              0);
        CHECK(run_sextant(budget + Arguments{"--format", format}).code == 0);
    }
    CHECK(report({"trials", "transfer", "--parameters", "70B", "--tokens", "15T"}).at("ladder").size() == 10);
    CHECK(report(schedule).at("steps") == 1000);
    CHECK(report(schedule).at("decay_tokens") == 1e9);
    CHECK(report(schedule + Arguments{"--decay-steps", "1200"}).at("decay_tokens") == 1.2e9);
}

TEST_CASE("trials refuses what it cannot use in one sentence") {
    check_refused({"trials"}, "subcommand");
    check_refused(budget + Arguments{"--method", "hyperbound"}, "hyperband");
    check_refused(budget + Arguments{"--method", "asha,random,asha"}, "asha twice");
    check_refused(budget + Arguments{"--method", "asha,"}, "--method");
    check_refused(budget + Arguments{"--seed", "-1"}, "--seed: -1 is negative");
    check_refused(budget + Arguments{"--method", "grid"}, "--grid");
    check_refused(budget + Arguments{"--grid", "3x0"}, "--grid");
    check_refused(budget + Arguments{"--trials", "0"}, "--trials");
    check_refused(budget + Arguments{"--eta", "1"}, "eta");
    check_refused(budget + Arguments{"--least", "0"}, "shortest");
    check_refused(budget + Arguments{"--least", "nan"}, "shortest");
    check_refused(budget + Arguments{"--full", "-1"}, "full length");
    check_refused(budget + Arguments{"--least", "100"}, "shortest");
    check_refused(budget + Arguments{"--parameters", "1B"}, "--tokens");
    check_refused(budget + Arguments{"--cluster", "h100-sxm"}, "--cluster");
    check_refused(budget + Arguments{"--mfu", "0.4"}, "--mfu");
    check_refused(budget + Arguments{"--flops", "1e20", "--cluster", "h100-sxm", "--mfu", "2"}, "--mfu");
    check_refused(budget + Arguments{"--gpus", "4", "--gpus-per-trial", "8"}, "--gpus");
    check_refused(budget + Arguments{"--gpus", "4", "--workers", "8"}, "--workers");
    check_refused(budget + Arguments{"--workers", "0"}, "--workers");
    check_refused(budget + Arguments{"--start-time", "1min"}, "--start-time");
    check_refused(budget + Arguments{"--straggler-factor", "0.1"}, "--straggler-factor: 0.1");
    check_refused(budget + Arguments{"--jitter", "nan"}, "--jitter: nan");
    check_refused(budget + Arguments{"--runs", "-1"}, "--runs");
    check_refused({"trials", "schedule", "--lr", "3e-4"}, "--tokens");
    check_refused({"trials", "schedule", "--tokens", "1B", "--lr", "nan"}, "--lr");
    check_refused({"trials", "schedule", "--tokens", "-1", "--lr", "1"}, "--tokens");
    check_refused({"trials", "schedule", "--tokens", "1B", "--lr", "1", "--batch", "8M@1B,4M"}, "--batch");
    check_refused({"trials", "schedule", "--tokens", "1B", "--lr", "1", "--batch", "4M,8M"}, "--batch");
    check_refused({"trials", "schedule", "--tokens", "1B", "--lr", "1", "--batch", "2B"}, "of the run");
    check_refused({"trials", "schedule", "--tokens", "1B", "--lr", "1", "--batch-ramp", "1M:2M"}, "--batch-ramp");
    check_refused(schedule + Arguments{"--shape", "cosin"}, "cosine");
    check_refused(schedule + Arguments{"--decay-share", "0.2"}, "--decay-share");
    check_refused(schedule + Arguments{"--decay", "sqrt"}, "--decay: only wsd");
    check_refused(schedule + Arguments{"--shape", "constant", "--final-share", "0.5"}, "--final-share: a constant");
    check_refused(schedule + Arguments{"--final-share", "1.5"}, "--final-share: 1.5");
    check_refused(schedule + Arguments{"--warmup-tokens", "2T"}, "--warmup-tokens: 2T are more than");
    check_refused({"trials", "schedule", "--tokens", "1T", "--lr", "1", "--batch-ramp", "3.2M:32K:12B"},
                  "--batch-ramp: '3.2M:32K:12B' ends with a smaller batch");
    check_refused({"trials", "schedule", "--tokens", "1T", "--lr", "1", "--batch-ramp", "32K:3.2M:12T"},
                  "--batch-ramp: '32K:3.2M:12T' takes");
    check_refused(budget + Arguments{"--price", "2"}, "--price: how long a trial takes is not said");
    check_refused(schedule + Arguments{"--warmup-steps", "2000"}, "--warmup-steps");
    check_refused(schedule + Arguments{"--warmup-steps", "5", "--warmup-tokens", "1M"}, "twice");
    check_refused(schedule + Arguments{"--samples", "0"}, "--samples");
    check_refused(schedule + Arguments{"--decay-steps", "5", "--decay-tokens", "1M"}, "twice");
    check_refused(schedule + Arguments{"--decay-steps", "0"}, "--decay-steps: 0");
    check_refused(schedule + Arguments{"--decay-tokens", "5M", "--warmup-steps", "10"}, "within the warm-up");
    check_refused(schedule + Arguments{"--shape", "constant", "--decay-steps", "5"}, "does not decay");
    check_refused(budget + Arguments{"--trial-time", "6h", "--mfu", "0.9", "--cluster", "h100-sxm"}, "--mfu");
    check_refused({"trials", "transfer", "--tokens", "1B"}, "--parameters");
}

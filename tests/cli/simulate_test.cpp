#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace {

RunResult simulate(std::vector<std::string> const& more) {
    std::vector<std::string> words{"simulate",      "--model",        "llama-2-7b", "--cluster",
                                   "a100-sxm-80gb", "--gpus",         "16",         "--seq",
                                   "2048",          "--global-batch", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return run_sextant(words);
}

std::vector<std::string> const pipeline{"--tp", "2", "--pp", "4"};

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> const& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// Grows when a process that this one started has ended and was waited for.
long work_of_children() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_minflt;
}

}  // namespace

TEST_CASE("simulate: the report says step time, bubble, overlap, critical path and memory, the same each time") {
    RunResult const first = simulate(pipeline);
    REQUIRE(first.code == 0);
    for (char const* word :
         {"step time", "closed form", "bubble", "overlap", "critical path", "memory", "stands for 4"})
        CHECK(first.out.find(word) != std::string::npos);
    CHECK(simulate(pipeline).out == first.out);
}

TEST_CASE("simulate: a plan fits where estimate says so, and the exit code is the same") {
    // Between what is allocated and what is reserved lies the limit that tells them apart.
    RunResult const whole = simulate(with(pipeline, {"--format", "json"}));
    REQUIRE(whole.code == 0);
    auto const report = nlohmann::json::parse(whole.out);
    double const reserved = report["peak_reserved_bytes"];
    double allocated = 0;
    for (auto const& rank : report["memory"])
        allocated = std::max(allocated, rank["peak_bytes"].get<double>());
    REQUIRE(allocated < 0.99 * reserved);
    std::string const between = fmt::format("{} B", (allocated + reserved) / 2);
    RunResult const tight = simulate(with(pipeline, {"--max-memory", between}));
    CHECK(tight.code == 1);
    CHECK(tight.out.find("DOES NOT FIT") != std::string::npos);
    CHECK(simulate(with(pipeline, {"--max-memory", fmt::format("{} B", 1.01 * reserved)})).code == 0);
}

TEST_CASE("simulate: layers that are recomputed are dealt out over the chunks of a stage") {
    // Two layers a chunk: a share of one in four of each would round to none.
    auto const time = [](std::vector<std::string> const& more) {
        RunResult const run = simulate(with(
            {"--tp", "2", "--pp", "4", "--vpp", "4", "--network", "ideal", "--dp", "2", "--format", "json"}, more));
        REQUIRE(run.code == 0);
        return nlohmann::json::parse(run.out)["iteration_time_s"].get<double>();
    };
    double const none = time({"--recompute", "none"});
    double const all = time({"--recompute", "full"});
    for (auto const& [layers, share] : {std::pair{"2", 0.25}, std::pair{"4", 0.5}, std::pair{"6", 0.75}}) {
        CAPTURE(layers);
        double const some = time({"--recompute", "full", "--recompute-layers", layers});
        CHECK((some - none) / (all - none) == Approx(share).margin(0.12));
    }
}

TEST_CASE("simulate: on an ideal network JSON agrees with the closed form, and links only slow it down") {
    auto const json = [](std::vector<std::string> const& more) {
        RunResult const outcome = simulate(with(pipeline, with(more, {"--format", "json"})));
        REQUIRE(outcome.code == 0);
        return nlohmann::json::parse(outcome.out);
    };
    auto const ideal = json({"--network", "ideal"});
    auto const fair = json({});
    CHECK(ideal.at("format") == "simulation");
    double const time = ideal.at("iteration_time_s");
    CHECK(time == Approx(ideal.at("closed_form_time_s").get<double>()).epsilon(0.02));
    CHECK(fair.at("iteration_time_s").get<double>() >= time * (1 - 1e-9));
    CHECK(fair.at("links").size() > 0);
    auto const slow = json({"--straggler", "5:1.5x"});
    CHECK(slow.at("iteration_time_s").get<double>() > 1.2 * time);
    CHECK(slow.at("ranks").size() == 16);
    auto const busy = json({"--other-traffic", "0.5"});
    CHECK(busy.at("iteration_time_s").get<double>() >= fair.at("iteration_time_s").get<double>());
    auto const noisy = json({"--jitter", "0.02", "--repeat", "3", "--granularity", "stage"});
    CHECK(noisy.at("iteration_time_s").get<double>() > time);
}

TEST_CASE("simulate: trace, picture and schedule are whole files that others read") {
    ScratchFolder const folder("simulate");
    RunResult const outcome =
        simulate(with(pipeline, {"--trace", folder.path("t.json"), "--svg", folder.path("t.svg"), "--write-schedule",
                                 folder.path("s.csv"), "--tune-micro-batch"}));
    REQUIRE(outcome.code == 0);
    CHECK(outcome.out.find("micro-batch") != std::string::npos);
    auto const trace = nlohmann::json::parse(sextant::read_text_file(folder.path("t.json")));
    CHECK(trace.at("traceEvents").size() > 100);
    CHECK(sextant::read_text_file(folder.path("t.svg")).find("</svg>") != std::string::npos);
    RunResult const again = simulate(with(pipeline, {"--schedule-file", folder.path("s.csv"), "--format", "json"}));
    REQUIRE(again.code == 0);
    RunResult const named = simulate(with(pipeline, {"--format", "json"}));
    for (char const* key : {"iteration_time_s", "peak_reserved_bytes", "memory", "plan"})
        CHECK(nlohmann::json::parse(again.out).at(key) == nlohmann::json::parse(named.out).at(key));
    CHECK(folder.count() == 3);  // no temporary file is left
}

TEST_CASE("simulate: forward-only has no backward; a schedule file brings its stages along, in any placement") {
    RunResult const forward = simulate(with(pipeline, {"--schedule", "forward-only"}));
    REQUIRE(forward.code == 0);
    CHECK(forward.out.find("backward,") != std::string::npos);  // the note, and no slot in the timeline
    CHECK(forward.out.find("B0= backward") == std::string::npos);
    ScratchFolder const folder("simulate_schedules");
    for (std::string const schedule : {"zb-v", "dualpipe", "breadth-first", "zb-h2", "gpipe", "interleaved"}) {
        std::string const file = folder.path(schedule + ".csv");
        std::vector<std::string> const plan{"--tp", "2", "--dp", "2", "--format", "json"};
        RunResult const named =
            simulate(with(schedule == "interleaved" || schedule == "breadth-first" ? with(plan, {"--vpp", "2"}) : plan,
                          {"--pp", "4", "--schedule", schedule, "--write-schedule", file, "--with-transfers"}));
        RunResult const read = simulate(with(plan, {"--schedule-file", file}));
        CAPTURE(schedule, named.err, read.err);
        CHECK(named.code == read.code);
        for (char const* key : {"iteration_time_s", "iteration_time_low_s", "peak_reserved_bytes", "memory", "plan"})
            CHECK(nlohmann::json::parse(named.out).at(key) == nlohmann::json::parse(read.out).at(key));
    }
}

TEST_CASE("simulate: of more ranks than a table has, the slow ones are apart") {
    std::vector<std::string> const plan{
        "simulate", "--model",       "llama-2-7b",     "--cluster",    "a100-sxm-80gb", "--gpus", "64",
        "--seq",    "2048",          "--global-batch", "32",           "--tp",          "4",      "--pp",
        "2",        "--granularity", "stage",          "--no-timeline"};
    RunResult const one = run_sextant(with(plan, {"--straggler", "63:1.5x"}));
    CHECK(one.out.find("32 of them      0") != std::string::npos);
    CHECK(one.out.find("31 of them      1") != std::string::npos);
    CHECK(one.out.find("        63      1") != std::string::npos);
    RunResult const node = run_sextant(with(plan, {"--slow-node", "0:1.5x"}));
    CHECK(node.out.find("24 of them      0") != std::string::npos);
    CHECK(node.out.find("  8 slower      0") != std::string::npos);
}

TEST_CASE("simulate --schedule-file: an order of its own is named in the plan, and its memory is that of the order") {
    ScratchFolder const folder("own_schedule");
    auto const peak = [&](std::string const& rank0, std::string const& rank1) {
        std::string const file = folder.path("own.csv");
        sextant::write_text_file(file, rank0 + "\n" + rank1 + "\n");
        RunResult const read =
            simulate({"--tp", "4", "--dp", "2", "--micro-batch", "4", "--schedule-file", file, "--format", "json"});
        CAPTURE(read.err);
        auto const json = nlohmann::json::parse(read.out);
        CHECK(json.at("plan").at("schedule") == file);
        return json.at("peak_reserved_bytes").get<double>();
    };
    // 1F1B but for the last two microbatches, and GPipe but for one: no plan names either.
    double const few = peak("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3", "1F0,1B0,1F1,1B1,1F2,1F3,1B2,1B3");
    double const many = peak("0F0,0F1,0F2,0F3,0B0,0B2,0B1,0B3", "1F0,1F1,1F2,1F3,1B0,1B2,1B1,1B3");
    CHECK(many > 1.2 * few);
}

TEST_CASE("simulate: a failed link says what is stuck and ends with exit code 1") {
    RunResult const outcome =
        simulate(with(pipeline, {"--granularity", "layer", "--fail-link", "node0.gpu0.nvlink.out@0.01s"}));
    CHECK(outcome.code == 1);
    CHECK(outcome.err.find("node0.gpu0.nvlink.out") != std::string::npos);
    CHECK(outcome.out.empty());
    RunResult const in_json = simulate(
        with(pipeline, {"--granularity", "layer", "--fail-link", "node0.gpu0.nvlink.out@0.01s", "--format", "json"}));
    CHECK(in_json.code == 1);
    auto const json = nlohmann::json::parse(in_json.out);
    CHECK(json.at("format") == "simulation");
    CHECK(json.at("state") == "stuck");
    CHECK(json.at("message").get<std::string>().find("node0.gpu0.nvlink.out") != std::string::npos);
    CHECK(json.at("plan").at("pp") == 4);
    CHECK_FALSE(json.contains("iteration_time_s"));
}

TEST_CASE("simulate --repeat: an interrupt ends with the seeds that were simulated by then, and exit code 130") {
    std::vector<std::string> const question{"--tp",      "1",     "--pp",     "4",    "--granularity", "stage",
                                            "--network", "ideal", "--jitter", "0.02", "--format",      "json"};
    auto const times = [](RunResult const& result) {
        nlohmann::json const json = nlohmann::json::parse(result.out);
        return json.at("repetitions").at("iteration_time_s").get<std::vector<double>>();
    };
    long const before = work_of_children();
    std::thread interrupt([before] {
        while (work_of_children() == before)  // until the first simulation has ended: there is something to say
            std::this_thread::yield();
        std::raise(SIGINT);
    });
    RunResult const part = simulate(with(question, {"--repeat", "10000"}));
    interrupt.join();
    CHECK(part.code == 130);
    CHECK(part.err.empty());
    std::vector<double> const some = times(part);
    REQUIRE(some.size() >= 1);
    REQUIRE(some.size() < 10'000);

    std::string const as_many = std::to_string(std::max<std::size_t>(some.size(), 2));
    RunResult const whole = simulate(with(question, {"--repeat", as_many}));
    CHECK(whole.code == 0);
    std::vector<double> all = times(whole);
    all.resize(some.size());
    CHECK(some == all);
}

TEST_CASE("simulate: bad input is refused with the option and the reason") {
    ScratchFolder const folder("simulate_bad");
    std::string const bad_schedule = folder.file("bad.csv", "0F0,0F1\n1F0,1X1\n");
    std::string const deadlock = folder.file("stuck.csv", "0F0,0B0\n1B0,1F0\n");
    std::string const small = folder.file("small.csv", "0F0,,,0B0\n,1F0,1B0,\n");
    struct Bad {
        std::vector<std::string> words;
        char const* says;
    };
    for (Bad const& bad :
         std::vector<Bad>{{{"--network", "fast"}, "--network"},
                          {{"--granularity", "atom"}, "--granularity"},
                          {{"--straggler", "16:2"}, "--straggler"},
                          {{"--straggler", "3"}, "--straggler"},
                          {{"--straggler", "3:nan"}, "--straggler"},
                          {{"--slow-node", "7:2"}, "--slow-node"},
                          {{"--degrade-link", "node0.gpu0.nvlnk.out:0.5"}, "nvlink"},
                          {{"--degrade-link", "node0.*:0"}, "--degrade-link"},
                          {{"--degrade-link", "node0.*:0.5", "--fold"}, "--fold"},
                          {{"--fail-link", "node0.gpu0.nic.out@soon"}, "--fail-link"},
                          {{"--jitter", "-1"}, "--jitter"},
                          {{"--jitter", "0.1", "--fold"}, "fold"},
                          {{"--repeat", "3"}, "--jitter"},
                          {{"--repeat", "0", "--jitter", "0.1"}, "--repeat"},
                          {{"--other-traffic", "1"}, "--other-traffic"},
                          {{"--other-traffic", "0.2", "--network", "ideal"}, "ideal"},
                          {{"--steps", "0"}, "--steps"},
                          {{"--prefetch", "-1"}, "--prefetch"},
                          {{"--prefetch", "2"}, "only ZeRO 3"},
                          {{"--time-limit", "3 GB"}, "--time-limit"},
                          {{"--width", "3"}, "--width"},
                          {{"--fold", "--unfold"}, "--unfold"},
                          {{"--schedule-file", folder.path("absent.csv")}, "absent.csv"},
                          {{"--schedule-file", bad_schedule}, "1X1"},
                          {{"--schedule-file", deadlock}, "stuck.csv"},
                          {{"--schedule-file", small}, "microbatches"},
                          {{"--schedule-file", small, "--schedule", "gpipe"}, "--schedule"},
                          {{"--trace", folder.path("no"), "--svg", "/nowhere/at/all.svg"}, "/nowhere"}}) {
        std::vector<std::string> words = with({"--tp", "2", "--pp", "2"}, bad.words);
        RunResult const outcome = simulate(words);
        CAPTURE(bad.words.front(), bad.words.size() > 1 ? bad.words[1] : "", outcome.err);
        CHECK(outcome.code == 2);
        CHECK(outcome.err.find(bad.says) != std::string::npos);
        CHECK(outcome.out.empty());
    }
}

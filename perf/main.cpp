// Prints one line per speed goal: what, measured, goal (with --csv as CSV, for scripts/history). Exit code 0 whatever
// the figures are.
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "perf/goal.hpp"
#include "planner/search.hpp"
#include "simulator/schedule_walk.hpp"
#include "simulator/schedules/catalog.hpp"

#include <fmt/format.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace sextant;
using perf::Clock;
using perf::print;
using perf::seconds_since;

/// Plans a second of the closed form alone on one core: memory and time of every leaf of assembled pipelines, none
/// rejected.
double closed_form_rate() {
    ModelSpec const model = find_model("llama-3.1-70b");
    ClusterSpec const cluster = find_cluster("h100-sxm", "perf");
    FrameworkProfile const framework = find_framework("megatron", "perf");
    Workload const workload{.sequence = 8192, .global_batch = 512};
    ClosedForm form(model, workload, cluster, framework, Precision::bf16);
    struct Case {
        ParallelPlan plan;
        PipelineCost pipeline;
    };
    std::vector<Case> cases;
    for (std::int64_t const tp : {1, 2, 4, 8})
        for (std::int64_t const pp : {1, 2, 4, 8, 16}) {
            ParallelPlan plan;
            plan.tp = tp;
            plan.pp = pp;
            plan.dp = 512 / (tp * pp);
            plan.zero = 1;
            plan.sequence_parallel = tp > 1 ? Switch::on : Switch::off;
            cases.push_back({plan, form.assemble(form.price_shape(plan), plan)});
        }
    Seconds total;  // keeps the work from being optimised away
    std::int64_t count = 0;
    auto const start = Clock::now();
    while (seconds_since(start) < 1.0)
        for (int repeat = 0; repeat < 100; ++repeat)
            for (Case& c : cases)
                for (int zero = 0; zero <= 1; ++zero) {
                    c.plan.zero = zero;
                    total += form.finish(c.pipeline, c.plan).time;
                    ++count;
                }
    double const elapsed = seconds_since(start);
    if (total <= Seconds{}) std::abort();
    return static_cast<double>(count) / elapsed;
}

/// Slots a second of the schedule walk on one core, of the slowest of several schedules of 0.1 to 0.5 million slots.
double schedule_walk_rate() {
    struct Case {
        char const* name;
        ScheduleShape shape;
    };
    Case const cases[] = {{"1f1b", {.ranks = 64, .microbatches = 1024, .chunks = 1}},
                          {"interleaved", {.ranks = 16, .microbatches = 2048, .chunks = 8}},
                          {"breadth-first", {.ranks = 64, .microbatches = 1024, .chunks = 4}},
                          {"zb-v", {.ranks = 16, .microbatches = 1024, .chunks = 2}},
                          {"dualpipe-v", {.ranks = 16, .microbatches = 4096, .chunks = 2}}};
    double slowest = 1e300;
    for (Case const& c : cases) {
        PipelineSchedule const schedule = build_schedule(find_schedule(c.name, "perf"), c.shape, "perf");
        WalkCosts costs = uniform_costs(schedule.stages, {1 * units::ms, 1 * units::ms, 1 * units::ms, 3 * units::ms});
        costs.transfers.assign(costs.stages.size() - 1, 100 * units::us);
        std::size_t slots = 0;
        for (auto const& rank : schedule.ranks)
            slots += rank.size();
        Seconds total;  // keeps the work from being optimised away
        double count = 0;
        auto const start = Clock::now();
        while (seconds_since(start) < 0.2) {
            total += walk_schedule(schedule, costs).makespan;
            count += static_cast<double>(slots);
        }
        slowest = std::min(slowest, count / seconds_since(start));
        if (total <= Seconds{}) std::abort();
    }
    return slowest;
}

/// Wall time of a program run, best of `runs`; peak resident memory in bytes of the last.
double program_seconds(std::vector<std::string> const& arguments, int runs, double& peak_bytes) {
    double best = 1e9;
    for (int i = 0; i < runs; ++i) {
        std::fflush(stdout);
        auto const start = Clock::now();
        pid_t const child = fork();
        if (child == 0) {
            std::vector<char*> argv;
            std::string program = SEXTANT_PROGRAM;
            argv.push_back(program.data());
            std::vector<std::string> copies = arguments;
            for (std::string& a : copies)
                argv.push_back(a.data());
            argv.push_back(nullptr);
            if (freopen("/dev/null", "w", stdout) == nullptr) _exit(127);
            execv(program.c_str(), argv.data());
            _exit(127);
        }
        int status = 0;
        rusage usage{};
        wait4(child, &status, 0, &usage);
        best = std::min(best, seconds_since(start));
        peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
            fmt::print(stderr, "perf: {} failed\n", arguments.front());
            std::exit(1);
        }
    }
    return best;
}

void program_goal(char const* what, std::vector<std::string> const& arguments, double goal_seconds) {
    double peak = 0;
    double const time = program_seconds(arguments, 3, peak);
    print(what, 1e3 * time, "ms", 1e3 * goal_seconds, "<=");
    print("  its peak memory", peak / 1e6, "MB", 200, "<=");
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments != std::vector<std::string>{"--csv"}) {
        fmt::print(stderr, "sextant_perf: unknown option '{}' (allowed: --csv)\n", arguments.front());
        return 2;
    }
    if (!arguments.empty()) {
        perf::set_format(perf::Format::csv);
        fmt::print("target,value,unit,relation,goal,reference_s\n");
    }
    print("closed form, one core", closed_form_rate(), "plans/s", 1e6, ">=");
    print("schedule walk, one core, slowest schedule", schedule_walk_rate(), "slots/s", 10e6, ">=");
    perf::simulator_goals();
    perf::collective_goals();
    perf::scaling_goals();
    perf::serving_goals();
    perf::sweep_goals();
    program_goal("sextant --help", {"--help"}, 0.010);
    program_goal("plan llama-3.1-70b on 512 H100, cold", {"plan", "-m", "llama-3.1-70b", "-c", "h100-sxm", "-n", "512"},
                 0.3);
    program_goal("plan llama-3.1-405b on 16384 H100, cold",
                 {"plan", "-m", "llama-3.1-405b", "-c", "h100-sxm", "-n", "16384", "--global-batch", "2048"}, 2);
    program_goal(
        "plan deepseek-v3 on 2048 H100, cold",
        {"plan", "-m", "deepseek-v3", "-c", "h100-sxm", "-n", "2048", "--seq", "4096", "--global-batch", "15360"}, 2);
    program_goal("plan deepseek-v3 on 2048 H100, schedules that are walked, cold",
                 {"plan", "-m", "deepseek-v3", "-c", "h100-sxm", "-n", "2048", "--seq", "4096", "--global-batch",
                  "15360", "--schedule", "breadth-first,zb-h1,zb-h2,zb-v,dualpipe,dualpipe-v"},
                 2);
    program_goal("plan gpt3-175b on 64 A100, whole space, one thread",
                 {"plan", "-m", "gpt3-175b", "-c", "a100-sxm-80gb", "-n", "64", "--seq", "2048", "--global-batch",
                  "1536", "--space", "full", "--threads", "1"},
                 5);
    program_goal(
        "serve simulate llama-3.1-70b, 8 replicas, 10,000 requests, cold",
        {"serve", "simulate", "-m", "llama-3.1-70b", "-c", "h100-sxm", "--tp", "4", "--replicas", "8", "--rate", "60"},
        1);
    double peak = 0;
    double const million = program_seconds(
        {"serve", "simulate", "-m", "llama-3.1-70b", "-c", "h100-sxm", "--tp", "4", "--replicas", "8", "--rate", "60",
         "--count", "1000000", "--prompt", "lognormal:800,1", "--output-tokens", "lognormal:250,0.8"},
        1, peak);
    print("the same, 1,000,000 requests of mixed lengths", million, "s", 60, "<=");
    print("  its peak memory", peak / 1e6, "MB", 1000, "<=");
}

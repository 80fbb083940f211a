#include "kernels/harness/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kernels/harness/begun_problems.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/world.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

Problem problem_of(char const* kernel) {
    Problem problem;
    problem.kernel = kernel;
    problem.dtype = "fp32";
    problem.flops = 4e9;
    problem.bytes = 2e9;
    problem.variants = hot_and_cold();
    return problem;
}

std::vector<Problem> four_problems(Scope const&) {
    return {problem_of("right"), problem_of("wrong"), problem_of("nan"), problem_of("throws")};
}

/// Takes 2 ms; what comes out depends on the kernel's name.
Prepared prepare(Problem const& problem, Scope const&) {
    Prepared prepared;
    prepared.tolerance = 0.1;
    prepared.max_rel_error = problem.kernel == "wrong" ? 0.5 : problem.kernel == "nan" ? std::nan("") : 0.01;
    prepared.note = "a note";
    prepared.measure = [throws = problem.kernel == "throws"](Variant variant, StopRule const&) {
        if (throws && variant.cache == Cache::cold) throw std::runtime_error("the kernel died");
        Timing timing;
        timing.seconds = {.median = 2e-3, .p10 = 1e-3, .p90 = 3e-3, .repeats = 9};
        timing.throttle = "none";
        return timing;
    };
    return prepared;
}

constinit Bench const test_bench{"test", "for tests", four_problems, prepare};

std::vector<Problem> no_hardware(Scope const&) { throw Unavailable("built without it"); }
constinit Bench const missing_bench{"missing", "never there", no_hardware, prepare};

std::vector<Problem> two_problems(Scope const&) { return {problem_of("refused"), problem_of("right")}; }
Prepared prepare_or_refuse(Problem const& problem, Scope const& scope) {
    if (problem.kernel == "refused") throw Unavailable("no algorithm for it");
    return prepare(problem, scope);
}
constinit Bench const refusing_bench{"refusing", "for tests", two_problems, prepare_or_refuse};

Machine const machine{"host", "a machine", "a system"};

struct Session {
    std::vector<Row> rows;
    std::vector<std::string> messages;
    double time = 0;
    SessionSettings settings;

    Session() {
        settings.machine = machine;
        settings.write = [this](Row const& row) { rows.push_back(row); };
        settings.progress = [this](std::string const& text) { messages.push_back(text); };
        settings.now = [this] { return time += 10; };
    }
};

}  // namespace

TEST_CASE("session: one row per variant; wrong and failing kernels are rows without times, and the run goes on",
          "[session]") {
    Session session;
    int recoveries = 0;
    session.settings.recover = [&] { ++recoveries; };
    Plan const plan = plan_of({&test_bench}, {}, machine, {});
    CHECK(plan.rows() == 8);
    Outcome const outcome = run_plan(plan, session.settings);
    CHECK(outcome.rows == 8);
    CHECK(outcome.failures == 5);  // wrong and nan in both variants, throws in the second
    CHECK(recoveries == 1);
    REQUIRE(session.rows.size() == 8);
    Row const& right = session.rows[0];
    CHECK(right.median_us == Approx(2000));
    CHECK(right.p10_us == Approx(1000));
    CHECK(right.p90_us == Approx(3000));
    CHECK(right.repeats == 9);
    CHECK(right.tflops == Approx(2));
    CHECK(right.gbps == Approx(1000));
    CHECK(right.note == "a note");
    CHECK(right.cache == "hot");
    CHECK(session.rows[1].cache == "cold");
    CHECK(right.device == "a machine");
    for (std::size_t i : {2, 3, 4, 5, 7}) {
        CHECK(failed(session.rows[i]));
        CHECK(std::isnan(session.rows[i].median_us));
    }
    CHECK(session.rows[2].max_rel_error == Approx(0.5));
    CHECK_FALSE(failed(session.rows[6]));
    CHECK_THAT(session.rows[7].note, contains("the kernel died"));
}

TEST_CASE("session: with other processes, a measurement that fails ends the run after its row, a wrong one does not",
          "[session]") {
    struct Two : World {
        int size() const override { return 2; }
    } two;
    World& before = world();
    set_world(two);
    Session session;
    CHECK_THROWS_AS(run_plan(plan_of({&test_bench}, {}, machine, {}), session.settings), LeavesOthers);
    set_world(before);
    REQUIRE(session.rows.size() == 8);  // the wrong ones of the problems before it too
    CHECK_THAT(session.rows[7].note, contains("the kernel died"));
}

TEST_CASE("session: where nothing recovers from a failure the run ends after its row, which counts as failed",
          "[session]") {
    Session session;
    session.settings.recover = [] { throw std::runtime_error("the device is lost"); };
    CHECK_THROWS_WITH(run_plan(plan_of({&refusing_bench}, {}, machine, {}), session.settings), "the device is lost");
    REQUIRE(session.rows.size() == 2);  // both variants of the first problem
    for (Row const& row : session.rows)
        CHECK(row.note == "FAILED: no algorithm for it");  // though it said that it is not supported
}

TEST_CASE("session: what failed before is measured last", "[session]") {
    Plan plan = plan_of({&test_bench}, {}, machine, {});
    Row row = blank_row(machine, test_bench, problem_of("wrong"), {Cache::cold, Launch::stream});
    failures_last(plan, machine, {resume_key(row)});
    std::vector<std::string> kernels;
    for (Task const& task : plan.tasks)
        kernels.push_back(task.problem.kernel);
    CHECK(kernels == std::vector<std::string>{"right", "nan", "throws", "wrong"});
    CHECK(plan.rows() == 8);
}

TEST_CASE("session: a problem is begun and ended by the keys of its rows, and one that ends the run stays begun",
          "[session]") {
    std::string const rows =
        (std::filesystem::temp_directory_path() / ("sextant_bench_begun_" + std::to_string(getpid()) + ".csv"))
            .string();
    Session session;
    session.settings.recover = [] { throw std::runtime_error("the device is lost"); };
    BegunProblems begun(rows);
    session.settings.begin = [&](std::set<std::string> const& keys) { begun.begin(keys); };
    session.settings.end = [&](std::set<std::string> const& keys) { begun.end(keys); };
    Plan plan = plan_of({&test_bench}, {}, machine, {});
    CHECK_THROWS_WITH(run_plan(plan, session.settings), "the device is lost");
    CHECK(BegunProblems(rows).keys() == keys_of(plan.tasks[3], machine));  // "throws", of which a row is there
    CHECK(BegunProblems("-").keys().empty());
    failures_last(plan, machine, BegunProblems(rows).keys());
    CHECK(plan.tasks[3].problem.kernel == "throws");
    BegunProblems(rows).clear();
    CHECK_FALSE(std::filesystem::exists(rows + ".begun"));
    BegunProblems again(rows);
    again.begin({"a", "b"});
    again.begin({"c"});
    again.end({"a", "b"});
    CHECK(BegunProblems(rows).keys() == std::set<std::string>{"c"});
    again.end({"c"});
    CHECK_FALSE(std::filesystem::exists(rows + ".begun"));
    CHECK_THROWS_AS(BegunProblems("/no/such/folder/rows.csv").begin({"a"}), CannotWrite);
}

TEST_CASE("session: what has been measured is not measured again", "[session]") {
    Session session;
    Plan const all = plan_of({&test_bench}, {}, machine, {});
    run_plan(all, session.settings);
    std::set<std::string> have;
    for (Row const& row : session.rows)
        if (!failed(row)) have.insert(resume_key(row));
    CHECK(plan_of({&test_bench}, {}, machine, have).rows() == 5);  // the failures are tried again
    Machine other = machine;
    other.device = "another machine";
    CHECK(plan_of({&test_bench}, {}, other, have).rows() == 8);
}

TEST_CASE("session: what is not supported is a row that is no failure and is not tried again", "[session]") {
    Session session;
    int recoveries = 0;
    session.settings.recover = [&] { ++recoveries; };
    Outcome const outcome = run_plan(plan_of({&refusing_bench}, {}, machine, {}), session.settings);
    CHECK(outcome.rows == 4);
    CHECK(outcome.failures == 0);
    CHECK(outcome.unsupported == 2);
    CHECK(recoveries == 1);
    REQUIRE(session.rows.size() == 4);
    CHECK(session.rows[0].note == "unsupported: no algorithm for it");
    CHECK(std::isnan(session.rows[0].median_us));
    std::set<std::string> have;
    for (Row const& row : session.rows)
        if (!failed(row)) have.insert(resume_key(row));
    CHECK(plan_of({&refusing_bench}, {}, machine, have).rows() == 0);
}

TEST_CASE("session: time that is up leaves rows and says how many", "[session]") {
    Session session;
    session.settings.max_seconds = 25;  // the clock of this test adds 10 s at each look
    Outcome const outcome = run_plan(plan_of({&test_bench}, {}, machine, {}), session.settings);
    CHECK(outcome.rows == 4);
    CHECK(outcome.left == 4);
    CHECK_THAT(session.messages.back(), contains("4 rows left"));
}

TEST_CASE("session: a mixed plan has the same problems in an order that nothing but their names decides", "[session]") {
    auto const kernels_of = [](Plan const& plan) {
        std::vector<std::string> names;
        for (Task const& task : plan.tasks)
            names.push_back(task.problem.kernel);
        return names;
    };
    Plan plan = plan_of({&test_bench, &refusing_bench}, {}, machine, {});
    Plan other = plan_of({&refusing_bench, &test_bench}, {}, machine, {});
    std::size_t const rows = plan.rows();
    mix(plan);
    mix(other);
    CHECK(plan.rows() == rows);
    std::vector<std::string> const names = kernels_of(plan);
    CHECK(names == kernels_of(other));
    CHECK(std::is_permutation(names.begin(), names.end(),
                              std::vector<std::string>{"right", "wrong", "nan", "throws", "refused", "right"}.begin()));
    CHECK(plan.tasks[0].todo.size() == 2);
}

TEST_CASE("session: a benchmark whose hardware is missing is named, and the others run", "[session]") {
    Plan const plan = plan_of({&missing_bench, &test_bench}, {}, machine, {});
    REQUIRE(plan.unavailable.size() == 1);
    CHECK(plan.unavailable[0] == "missing: built without it");
    CHECK(plan.rows() == 8);
}

TEST_CASE("session: estimates grow with the kernel's time and with the rows to do", "[session]") {
    Plan const plan = plan_of({&test_bench}, {}, machine, {});
    Task task = plan.tasks[0];
    double const small = estimated_seconds(task, full_rule());
    task.problem.expected_s = 1;
    double const large = estimated_seconds(task, full_rule());
    CHECK(large > 10 * small);
    task.todo.pop_back();
    CHECK(estimated_seconds(task, full_rule()) < large);
}

TEST_CASE("duration_text: hours, minutes, seconds", "[session]") {
    CHECK(duration_text(0.4) == "0s");
    CHECK(duration_text(59.4) == "59s");
    CHECK(duration_text(200) == "3m20s");
    CHECK(duration_text(3720) == "1h02m");
    CHECK(duration_text(-5) == "0s");
}

}  // namespace sextant::bench

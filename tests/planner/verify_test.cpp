#include "planner/verify.hpp"

#include "planner/microbatch_table.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <limits>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Subject {
    ModelSpec model = llama(1024, 8, 8, 4, 2816);
    Workload workload{.sequence = 512, .global_batch = 16};
    ClusterSpec machine = cluster();
    FrameworkProfile framework = neutral_framework();

    [[nodiscard]] std::vector<Verification> verified(std::vector<ParallelPlan> const& plans,
                                                     VerifyOptions options = {}) const {
        options.simulation.graph.granularity = Granularity::stage;
        options.threads = 1;
        return verify(model, workload, machine, framework, plans, options);
    }
};

ParallelPlan pipeline(std::int64_t pp, std::int64_t micro_batch = 1) {
    ParallelPlan plan;
    plan.pp = pp;
    plan.micro_batch = micro_batch;
    return plan;
}

}  // namespace

TEST_CASE("verify: a plan that cannot be is one without a time, and says why; the others have theirs, in order") {
    Subject const s;
    std::size_t done = 0;
    std::vector<Verification> const v =
        s.verified({pipeline(2), pipeline(3, 7), pipeline(1)}, {.progress = [&](std::size_t n) { done = n; }});
    REQUIRE(v.size() == 3);
    CHECK(done == 3);
    CHECK(v[0].finished());
    CHECK_FALSE(v[1].finished());
    CHECK(v[1].time == Seconds{});
    CHECK_THAT(v[1].message, contains("micro"));
    REQUIRE(v[2].finished());
    CHECK(v[0].time < v[2].time);  // two stages share the layers
    CHECK(order_by_objective(v, std::vector<Candidate>(3), Objective::time, 1) == std::vector<std::size_t>{0, 2, 1});
}

TEST_CASE("verify: after an interrupt every plan that was not simulated is reported as interrupted") {
    std::atomic<bool> const stop{true};
    for (Verification const& v : Subject{}.verified({pipeline(1), pipeline(2)}, {.stop = &stop})) {
        CHECK(v.state == Simulation::State::interrupted);
        CHECK(v.message == "interrupted");
    }
}

TEST_CASE("order_by_objective: what has no time comes last, as it was; the objective counts, not the time alone") {
    auto const of = [](double seconds) {
        return seconds > 0 ? Verification{.state = Simulation::State::finished, .time = seconds * units::s}
                           : Verification{.state = Simulation::State::crashed, .time = {}};
    };
    CHECK(order_by_objective({of(0), of(3), of(0), of(1), of(3)}, std::vector<Candidate>(5), Objective::time, 1) ==
          std::vector<std::size_t>{3, 1, 4, 0, 2});
    CHECK(order_by_objective({}, {}, Objective::time, 1).empty());
    // Four times the accelerators in half the time cost twice as much; of equal peaks the shorter step is first.
    Candidate few;
    few.plan.dp = 16;
    Candidate many = few;
    many.plan.dp = 64;
    std::vector<Verification> const v{of(1), of(2)};
    CHECK(order_by_objective(v, {many, few}, Objective::time, 3) == std::vector<std::size_t>{0, 1});
    CHECK(order_by_objective(v, {many, few}, Objective::cost, 3) == std::vector<std::size_t>{1, 0});
    CHECK(order_by_objective(v, {many, few}, Objective::tokens_per_dollar, 3) == std::vector<std::size_t>{1, 0});
    CHECK(order_by_objective(v, {many, few}, Objective::memory, 3) == std::vector<std::size_t>{0, 1});
    many.estimate.memory.weights = 1 * units::GB;
    CHECK(order_by_objective(v, {many, few}, Objective::memory, 3) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("microbatch_table: powers of two and the plan's own, more bytes and fewer microbatches down the rows") {
    Subject const s;
    ClosedForm form(s.model, s.workload, s.machine, s.framework, Precision::bf16);
    MemoryLimit const limit{.capacity = 80 * units::GB, .usable = 76 * units::GB, .host = 256 * units::GB};
    std::vector<MicrobatchRow> const rows = microbatch_table(form, pipeline(2, 4), limit);
    REQUIRE(rows.size() == 5);
    std::int64_t size = 1;
    for (MicrobatchRow const& row : rows) {
        CHECK(row.micro_batch == size);
        CHECK(row.micro_batch * row.microbatches == 16);
        CHECK(row.time > Seconds{});
        CHECK(row.fits);
        if (size > 1) {
            CHECK(row.bubble > rows[0].bubble);
            CHECK(row.peak > rows[0].peak);
        }
        size *= 2;
    }
    CHECK(microbatch_table(form, pipeline(2, 4), limit, 3).size() == 3);
    MemoryLimit const tight{.capacity = 80 * units::GB, .usable = rows[2].peak, .host = 256 * units::GB};
    std::vector<MicrobatchRow> const limited = microbatch_table(form, pipeline(2, 4), tight);
    CHECK(limited[2].fits);
    CHECK_FALSE(limited[4].fits);
}

#include "planner/rl/rl_overheads.hpp"

#include "core/spec/parameters.hpp"
#include "planner/rl/rl_rows.hpp"
#include "tests/catch.hpp"
#include "tests/planner/rl/rl_case.hpp"

#include <cmath>

using namespace sextant;

namespace {

RlStep step_of(RlQuestion const& question, RlMode mode, std::int64_t engines = 4) {
    RlPlanner planner(question);
    RlStep const step = planner.step(mode, engines, 1);
    INFO(step.reason);
    REQUIRE(step.possible());
    return step;
}

}  // namespace

TEST_CASE("rl_overheads: each factor lengthens its own phase by itself, and the sum is still the step", "[overheads]") {
    RlQuestion q = small_question();
    q.offload = StateOffload::never;
    RlStep const bare = step_of(q, RlMode::colocated);
    q.overheads = {.generation = 1.5,
                   .training = 2,
                   .scoring = 1.25,
                   .controller = 3 * units::s,
                   .sync = 4 * units::s,
                   .sync_per_byte = 1e-9 * units::s};
    RlStep const s = step_of(q, RlMode::colocated);
    CHECK(s.phases.generation / bare.phases.generation == Approx(1.5));
    CHECK(s.phases.policy_training / bare.phases.policy_training == Approx(2));
    CHECK(s.phases.policy_scores / bare.phases.policy_scores == Approx(1.25));
    CHECK(s.phases.controller == 3 * units::s);
    double const bytes = 2 * static_cast<double>(count_parameters(q.policy).total);
    CHECK((s.phases.sync - bare.phases.sync).base() == Approx(4 + 1e-9 * bytes));
    CHECK(s.step / (s.phases.generation + s.phases.on_trainer() + s.phases.sync + s.phases.offload) == Approx(1));
    CHECK(s.generation.tokens == bare.generation.tokens);
    CHECK(s.update / bare.update == Approx(2));
    // Engines of their own are not put to sleep.
    CHECK(step_of(q, RlMode::split).sync.software == Seconds{});
}

TEST_CASE("rl_overheads: mixtures of experts have factors of their own", "[overheads]") {
    RlOverheads const fitted = fitted_rl_overheads();
    CHECK(fitted.training_of(find_model("llama-3.1-8b")) == fitted.training);
    CHECK(fitted.training_of(find_model("mixtral-8x7b")) == fitted.expert_training);
    CHECK(fitted.scoring_of(find_model("mixtral-8x7b")) == fitted.expert_scoring);
    for (double const factor : {fitted.generation, fitted.training, fitted.scoring, fitted.expert_training})
        CHECK(factor >= 1);
}

TEST_CASE("rl_overheads: the range is even in the logarithm and holds the prediction", "[overheads]") {
    RlInterval const range = rl_interval(fitted_rl_overheads(), 100 * units::s);
    CHECK(range.low < 100 * units::s);
    CHECK(range.high > 100 * units::s);
    CHECK(range.low.base() * range.high.base() == Approx(1e4));
    CHECK(std::log(range.high.base() / 100) == Approx(1.2816 * fitted_rl_overheads().log_error));
}

TEST_CASE("rl_overheads: the steps they were fitted to come back, and kernels alone are too fast", "[overheads]") {
    CsvTable const table = read_csv(std::string(SEXTANT_SOURCE_DIR) + "/hardware_profiles/measurements/rl_steps.csv");
    std::vector<RlRow> const fitted = predict_rl_rows(table, 0.6, fitted_rl_overheads());
    std::vector<RlRow> const bare = predict_rl_rows(table, 0.6, {});
    REQUIRE(fitted.size() == 5);
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        INFO(fitted[i].model << " " << fitted[i].skip_reason);
        REQUIRE(fitted[i].scored());
        CHECK(std::abs(fitted[i].error()) < 0.12);
        CHECK(bare[i].error() < -0.25);
    }
}

TEST_CASE("rl: following every asynchronous engine says about what following eight says", "[overheads]") {
    RlQuestion q = small_question();
    q.accelerators = 24;
    q.prompts = 96;
    RlStep const some = step_of(q, RlMode::asynchronous, 16);
    q.followed_replicas = 64;
    RlStep const all = step_of(q, RlMode::asynchronous, 16);
    CHECK(some.followed == 8);
    CHECK(all.followed == 16);
    CHECK(all.step / some.step == Approx(1).epsilon(0.1));
}

TEST_CASE("rl: the best asynchronous division is that with all of its engines followed", "[overheads]") {
    RlQuestion q = small_question();
    q.accelerators = 24;
    q.prompts = 96;
    RlPlanner planner(q);
    RlAnswer const answer =
        search_rl(planner, {.modes = {RlMode::asynchronous}, .rollout_accelerators = 16, .stop = {}});
    RlStep const* const best = answer.best(RlMode::asynchronous);
    REQUIRE(best != nullptr);
    CHECK(best->followed == best->replicas);
    CHECK(planner.question().followed_replicas == 8);
}

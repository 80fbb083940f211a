#include "planner/run_plan/plain_arithmetic.hpp"

#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/planner/run_plan/run_fixture.hpp"
#include "tests/seeds.hpp"

using namespace sextant;

namespace {

PlainArithmetic seventy(char const* cluster, double mfu = 0.5) {
    return {.parameters = named_parameters(find_model("llama-2-70b")),
            .tokens = 2e12,
            .mfu = mfu,
            .peak = find_cluster(cluster, "test").accelerator.peak_of(Precision::bf16).value,
            .accelerators = 1024};
}

Seconds sum(std::vector<TimeTerm> const& terms) {
    Seconds total;
    for (TimeTerm const& term : terms)
        total += term.time;
    return total;
}

}  // namespace

TEST_CASE("Llama-2-70B on 2 T tokens and 1,024 GPUs at half of peak is 19.2 days on H100 and 60.9 on A100") {
    CHECK(fmt::format("{:.1f}", seventy("h100-sxm").time().in(units::day)) == "19.2");
    CHECK(fmt::format("{:.1f}", seventy("a100-sxm-80gb").time().in(units::day)) == "60.9");
    // With the parameters counted exactly it would be 18.9 and 60.0: the arithmetic uses the name.
    PlainArithmetic exact = seventy("h100-sxm");
    exact.parameters = static_cast<double>(count_parameters(find_model("llama-2-70b")).total);
    CHECK(fmt::format("{:.1f}", exact.time().in(units::day)) == "18.9");
}

TEST_CASE("the size in a model's name counts only where it is near the active parameters") {
    CHECK(named_parameters(find_model("llama-2-70b")) == 70e9);
    CHECK(named_parameters(find_model("llama-3.1-8b")) == 8e9);
    CHECK(named_parameters(find_model("gpt3-125m")) == 125e6);
    CHECK(named_parameters(find_model("qwen3-30b-a3b")) ==
          static_cast<double>(count_parameters(find_model("qwen3-30b-a3b")).active));
    CHECK(named_parameters(find_model("mixtral-8x7b")) ==
          static_cast<double>(count_parameters(find_model("mixtral-8x7b")).active));
    ModelSpec renamed = find_model("llama-2-7b");
    for (char const* name : {"", "seven", "7x", "x7b", "700b", "7bb", "0b", "-b"}) {
        renamed.name = name;
        INFO(name);
        CHECK(named_parameters(renamed) == static_cast<double>(count_parameters(renamed).active));
    }
}

TEST_CASE("the terms from the plain arithmetic to a run add up to the difference") {
    std::mt19937_64 random(fixtures::seeded(11));
    for (int i = 0; i < 12; ++i) {
        RunSetting const setting = i % 2 == 0 ? run_fixture::failing_setting() : run_fixture::setting("a100-sxm-80gb");
        ModelSpec const model =
            find_model(fixtures::pick<char const*>(random, {"llama-2-70b", "gpt3-13b", "mixtral-8x7b", "gemma-2-9b"}));
        Workload const workload = run_workload(setting, model, 1e12);
        auto const count = fixtures::pick<std::int64_t>(random, {64, 128, 512});
        PlannedStep const planned = plan_step(setting, model, workload, count);
        INFO(model.name << " on " << count << ": " << planned.reason);
        REQUIRE(planned.report);
        TrainingRun const run = training_run(setting, planned, fixtures::uniform(random, 1e10, 1e13));
        PlainArithmetic const plain{.parameters = named_parameters(model),
                                    .tokens = run.tokens,
                                    .mfu = fixtures::uniform(random, 0.05, 1),
                                    .peak = setting.cluster.accelerator.peak_of(Precision::bf16).value,
                                    .accelerators = static_cast<double>(count)};
        auto const terms = explain_difference(plain, model, run);
        double const difference = (run.wall - plain.time()).base();
        CHECK(std::abs(sum(terms).base() - difference) <= 1e-9 * (run.wall + plain.time()).base());
        CHECK((plain.time() * plain.mfu / plain_mfu_of(plain, run.wall)).base() == Approx(run.wall.base()));
    }
}

TEST_CASE("without recompute there is no term of it, without failures none of them") {
    RunSetting setting = run_fixture::setting();
    setting.constraints.recompute = {Recompute::none};
    ModelSpec const model = find_model("llama-2-7b");
    PlannedStep const planned = plan_step(setting, model, run_workload(setting, model, 1e12), 64);
    REQUIRE(planned.report);
    TrainingRun const run = training_run(setting, planned, 1e12);
    PlainArithmetic plain = seventy("h100-sxm");
    plain.tokens = run.tokens;
    plain.accelerators = 64;
    for (TimeTerm const& term : explain_difference(plain, model, run)) {
        CHECK(term.name != "recompute");
        CHECK(term.name != "restarts");
    }
}

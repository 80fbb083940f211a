#include "planner/run_plan/run_plan.hpp"

#include "core/error.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/scaling_answer.hpp"
#include "planner/run_plan/global_batch.hpp"
#include "tests/catch.hpp"
#include "tests/planner/run_plan/run_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

using namespace sextant;
using Kind = Budget::Kind;

TEST_CASE("a budget of FLOPs is used up to the unit, by a model of the law's size") {
    for (double const flops : {1e20, 1e22, 1e24}) {
        RunAnswer const answer = answer_run(run_fixture::setting(), run_fixture::budget(Kind::flops, flops, 256));
        INFO(flops << ": " << answer.reason);
        REQUIRE(answer.run);
        CHECK(6 * answer.parameters * answer.tokens == Approx(flops).epsilon(1e-12));
        CHECK(answer.parameters == static_cast<double>(count_parameters(answer.model).total));
        CHECK(answer.law.parameters.value == Approx(answer.parameters).epsilon(0.02));
        CHECK(answer.law.flops == Approx(flops));
        CHECK(answer.law.loss.low < answer.law.loss.value);
        CHECK(answer.law.loss.high > answer.law.loss.value);
        CHECK(answer.law.run_loss.value >= answer.law.loss.value);
        CHECK(answer.law.twenty_tokens == Approx(20 * answer.law.twenty_parameters));
        CHECK(answer.convergence == Convergence::not_needed);
        CHECK(answer.run->steps * static_cast<double>(answer.workload.tokens()) >= answer.tokens * (1 - 1e-9));
    }
}

TEST_CASE("a budget of days on so many accelerators is a run of these days, and the rounds agree on the compute") {
    for (auto const& setting : {run_fixture::setting(), run_fixture::failing_setting("a100-sxm-80gb")})
        for (double const days : {3.0, 30.0, 100.0}) {
            RunAnswer const answer = answer_run(setting, run_fixture::budget(Kind::days, days, 512));
            INFO(setting.cluster.name << " " << days << " " << name_of(answer.convergence));
            REQUIRE(answer.run);
            CHECK(answer.run->wall.in(units::day) <= days * (1 + 1e-9));
            CHECK(answer.run->wall.in(units::day) > days - 2 * answer.run->step.estimate.time.in(units::day));
            CHECK(answer.convergence != Convergence::open);
            CHECK(answer.law.run_loss.value == Approx(answer.law.loss.value).epsilon(1e-3));
        }
}

TEST_CASE("a shape that differs by its output matrix alone is another shape") {
    // At 40 % MFU the law's size is just below 4e9, where embeddings are tied; at what the plan reaches, just above.
    RunAnswer const answer =
        answer_run(run_fixture::failing_setting("tpu-v5p"), run_fixture::budget(Kind::days, 1.905, 64));
    REQUIRE(answer.run);
    CHECK(answer.law.parameters.value == Approx(answer.parameters).epsilon(0.02));
}

TEST_CASE("dollars, GPU-hours and days that are the same machine time give the same run") {
    RunSetting const setting = run_fixture::failing_setting();
    double const price = setting.cluster.accelerator.price_usd_per_hour->value;
    RunAnswer const days = answer_run(setting, run_fixture::budget(Kind::days, 20, 256));
    RunAnswer const hours = answer_run(setting, run_fixture::budget(Kind::accelerator_hours, 20.0 * 24 * 256, 256));
    RunAnswer const dollars = answer_run(setting, run_fixture::budget(Kind::dollars, 20.0 * 24 * 256 * price, 256));
    REQUIRE(days.run);
    REQUIRE(hours.run);
    REQUIRE(dollars.run);
    CHECK(hours.parameters == days.parameters);
    CHECK(dollars.parameters == days.parameters);
    CHECK(hours.tokens == Approx(days.tokens).epsilon(1e-5));
    CHECK(dollars.tokens == Approx(days.tokens).epsilon(1e-5));
    CHECK(dollars.run->cost->base() <= 20.0 * 24 * 256 * price * (1 + 1e-9));
}

TEST_CASE("more money never buys less N D", "[long]") {
    RunSetting const setting = run_fixture::failing_setting();
    double before = 0;
    for (double dollars = 2e3; dollars < 1e8; dollars *= 2) {
        RunAnswer const answer = answer_run(setting, run_fixture::budget(Kind::dollars, dollars, {}));
        INFO(dollars << ": " << answer.model.name << " " << answer.reason);
        REQUIRE(answer.run);
        CHECK(answer.parameters * answer.tokens > before);
        before = answer.parameters * answer.tokens;
    }
}

TEST_CASE("a budget of time or money takes the best of its rounds, whether they settle or not") {
    RunSetting const setting = run_fixture::failing_setting("b200-hgx");
    std::size_t earlier = 0;
    for (double const dollars : {5606.31, 7000.0, 20000.0, 1e5})
        for (char const* law : {default_scaling_law, "porian-tuned"}) {  // the latter gives no loss
            RunQuestion q = run_fixture::budget(Kind::dollars, dollars, 1024);
            q.law = find_scaling_law(law, "test");
            RunAnswer const answer = answer_run(setting, q);
            INFO(dollars << " by " << law << ": " << answer.reason);
            REQUIRE(answer.run);
            BudgetRound const& taken = answer.rounds.at(answer.taken);
            CHECK(taken.parameters == answer.parameters);
            CHECK(taken.tokens == answer.tokens);
            CHECK(taken.loss == Approx(answer.law.run_loss.value));
            if (!predicts_a_loss(q.law)) {
                CHECK(answer.law.parameters.value == Approx(answer.parameters).epsilon(0.05));
                continue;
            }
            for (BudgetRound const& r : answer.rounds)
                CHECK(taken.loss <= r.loss);
            if (answer.taken + 1 < answer.rounds.size()) ++earlier;
        }
    CHECK(earlier > 0);
}

TEST_CASE("a round without a plan does not take away the answer of the rounds before it") {
    RunSetting const setting = run_fixture::failing_setting("h200-sxm");
    double before = 10;
    for (double const dollars : {5320.0, 8000.0, 12000.0}) {  // few shapes divide by 100 accelerators
        RunAnswer const answer = answer_run(setting, run_fixture::budget(Kind::dollars, dollars, 100));
        INFO(dollars << ": " << answer.reason);
        REQUIRE(answer.run);
        CHECK(answer.reason.empty());
        CHECK(answer.law.run_loss.value < before);
        before = answer.law.run_loss.value;
        if (answer.convergence == Convergence::open)
            CHECK_THAT(answer.choices.front(), contains("model: of the shapes tried") && contains("has no plan there"));
    }
}

TEST_CASE("tokens given with money or time are trained exactly, by the largest model that sees them in the time") {
    RunSetting const setting = run_fixture::failing_setting();
    for (double const dollars : {2e4, 1e5, 3e5})
        for (double const tokens : {1e11, 1e12}) {
            RunQuestion q = run_fixture::budget(Kind::dollars, dollars, 64);
            q.tokens = tokens;
            RunAnswer const answer = answer_run(setting, q);
            INFO(dollars << " " << tokens << ": " << answer.reason);
            REQUIRE(answer.run);
            CHECK(answer.tokens == tokens);
            CHECK(answer.run->tokens == tokens);
            CHECK(answer.run->cost->base() <= dollars * (1 + 1e-9));
            for (BudgetRound const& r : answer.rounds)
                if (r.tokens >= tokens) CHECK(answer.parameters >= r.parameters);
            bool const bounded = std::any_of(answer.rounds.begin(), answer.rounds.end(), [&](BudgetRound const& r) {
                return r.parameters > answer.parameters && r.parameters < 1.03 * answer.parameters;
            });
            CHECK((bounded || answer.run->cost->base() > 0.97 * dollars));
        }
}

TEST_CASE("tokens that no shape sees in the time are not passed over") {
    RunQuestion q = run_fixture::budget(Kind::accelerator_hours, 200, 64);
    q.tokens = 1e12;
    RunAnswer const answer = answer_run(run_fixture::setting(), q);
    REQUIRE(answer.run);
    CHECK(answer.tokens < 1e12);
    CHECK_THAT(answer.law.warnings.back(), contains("of the 1.00 T tokens asked"));
}

TEST_CASE("no shape within 3 % of the chosen size has a lower loss, so that a little more money buys no higher one") {
    RunSetting const setting = run_fixture::failing_setting("a100-sxm-80gb");
    double before = 10;
    for (double const dollars : {7894.35, 8131.18, 8400.0}) {
        RunAnswer const answer = answer_run(setting, run_fixture::budget(Kind::dollars, dollars, 512));
        REQUIRE(answer.run);
        INFO(dollars << ": " << answer.model.name);
        CHECK(answer.law.run_loss.value <= before);
        before = answer.law.run_loss.value;
        for (double const factor : {1 / 1.03, 1.03}) {
            RunQuestion q = run_fixture::budget(Kind::dollars, dollars, 512);
            q.parameters = factor * answer.parameters;
            CHECK(answer_run(setting, q).law.run_loss.value >= answer.law.run_loss.value);
        }
    }
}

TEST_CASE("a later deadline is no worse: larger numbers of accelerators are looked at while they are better") {
    RunSetting const setting = run_fixture::failing_setting("b200-hgx");
    RunQuestion q = run_fixture::budget(Kind::dollars, 40510, {});
    double before = 10;
    for (double const days : {10.0, 30.0, 90.0}) {
        q.deadline = days * units::day;
        RunAnswer const answer = answer_run(setting, q);
        INFO(days << ": " << answer.reason);
        REQUIRE(answer.run);
        CHECK(answer.law.run_loss.value <= before);
        before = answer.law.run_loss.value;
    }
}

TEST_CASE("a budget that all accelerators cannot use up by the deadline is an answer with a reason", "[long]") {
    RunSetting setting = run_fixture::setting();
    setting.cluster.max_accelerators = 64;
    for (double const days : {5.0, 9.0, 11.0, 40.0}) {  // of all 64, by a deadline of ten
        RunQuestion q = run_fixture::budget(Kind::accelerator_hours, days * 24 * 64, {});
        RunAnswer const by_default = answer_run(setting, q);
        CHECK(by_default.run.has_value() == (days <= 30));
        if (by_default.run) {
            CHECK(by_default.run->wall.in(units::day) <= 30);
            CHECK_THAT(by_default.choices.front(), contains("up within 30 days"));
        } else {
            CHECK_THAT(by_default.reason, contains("more than 30 days of all 64") && contains("take 40"));
        }
        q.deadline = 10 * units::day;
        RunAnswer const answer = answer_run(setting, q);
        INFO(days << ": " << answer.reason);
        CHECK(answer.run.has_value() == (days <= 10));
        if (answer.run)
            CHECK(answer.run->wall <= *q.deadline);
        else
            CHECK_THAT(answer.reason, contains("more than 10 days of all 64"));
    }
}

TEST_CASE("accelerators and a deadline: the run is the one without it, and ends in time if the fewest are no more") {
    RunSetting const setting = run_fixture::failing_setting();
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-2-7b");
    q.tokens = 1e12;
    for (std::int64_t const accelerators : {1, 64, 128, 256, 512}) {  // on one it does not fit
        q.accelerators = accelerators;
        q.deadline.reset();
        RunAnswer const plain = answer_run(setting, q);
        for (double const days : {1e-3, 4.0, 12.0, 30.0}) {
            q.deadline = days * units::day;
            RunAnswer const answer = answer_run(setting, q);
            INFO(accelerators << " by " << days << ": " << answer.reason);
            REQUIRE(answer.run.has_value() == plain.run.has_value());
            if (answer.run) CHECK(answer.run->wall == plain.run->wall);
            bool const in_time = plain.run && plain.run->wall.in(units::day) <= days;
            CHECK(ends_in_time(q, answer) == in_time);
            CHECK(answer.reason.empty() == in_time);
            REQUIRE(answer.deadline);
            if (in_time) CHECK(answer.deadline->run->step.accelerators <= accelerators);
            if (!in_time && answer.deadline->run)
                CHECK_THAT(answer.reason, contains(fmt::format("--gpus {}", answer.deadline->run->step.accelerators)));
        }
    }
}

TEST_CASE("a budget on given accelerators that lasts beyond the deadline names how many use it up in time") {
    RunSetting const setting = run_fixture::setting();
    RunQuestion q = run_fixture::budget(Kind::accelerator_hours, 64 * 24 * 12.0, 64);  // twelve days
    q.deadline = 13 * units::day;
    CHECK(ends_in_time(q, answer_run(setting, q)));
    q.deadline = 5 * units::day;  // 154 of a ladder with 128 and 160
    RunAnswer const late = answer_run(setting, q);
    REQUIRE(late.run);
    CHECK_FALSE(ends_in_time(q, late));
    CHECK_THAT(late.reason, contains("--gpus 160"));
    q.accelerators = 160;
    CHECK(ends_in_time(q, answer_run(setting, q)));
}

TEST_CASE("a budget that no accelerators use up by the deadline does not name a number that would") {
    RunSetting setting = run_fixture::setting();
    setting.cluster.max_accelerators = 64;
    for (std::int64_t const accelerators : {32, 64}) {
        RunQuestion q = run_fixture::budget(Kind::accelerator_hours, 64 * 24 * 40.0, accelerators);
        q.deadline = 20 * units::day;
        RunAnswer const answer = answer_run(setting, q);
        REQUIRE(answer.run);
        CHECK_FALSE(ends_in_time(q, answer));
        CHECK_THAT(answer.reason, contains("more than 20 days of all 64") && !contains("in time"));
    }
}

TEST_CASE("money goes to the rung that makes the most of it: none up to the next power of two has a lower loss",
          "[long]") {
    RunSetting const setting = run_fixture::failing_setting();
    for (double const dollars : {5.992e5, 9e5}) {
        RunAnswer const chosen = answer_run(setting, run_fixture::budget(Kind::dollars, dollars, {}));
        REQUIRE(chosen.run);
        for (std::int64_t const count : {320, 384, 448, 512}) {
            RunQuestion q = run_fixture::budget(Kind::dollars, dollars, count);
            q.deadline = usual_deadline;
            RunAnswer const other = answer_run(setting, q);
            INFO(dollars << " on " << count << ", not " << chosen.run->step.accelerators);
            if (ends_in_time(q, other)) CHECK(other.law.run_loss.value >= chosen.law.run_loss.value);
        }
        CHECK_THAT(chosen.choices.front(), contains("the lowest loss of "));
    }
    RunQuestion q = run_fixture::budget(Kind::dollars, 1000, {});  // on one accelerator for 14 days it does not fit
    q.model = find_model("llama-3.1-70b");
    RunAnswer const fits = answer_run(setting, q);
    REQUIRE(fits.run);
    CHECK_THAT(fits.choices.front(), contains("the most tokens of "));
}

TEST_CASE("a number of accelerators on which no size has a shape does not spoil those on which one has") {
    RunQuestion q = run_fixture::budget(Kind::accelerator_hours, 5731.77, {});
    q.tokens = 1e12;
    RunAnswer const answer = answer_run(run_fixture::failing_setting("dgx-spark"), q);
    CHECK(answer.run);
}

TEST_CASE("the batch of a budget belongs to the tokens that the budget delivers") {
    for (double const dollars : {50.0, 109.62, 300.0, 900.0}) {
        RunQuestion q = run_fixture::budget(Kind::dollars, dollars, 1);
        q.model = find_model("gpt2");
        RunAnswer const answer = answer_run(run_fixture::failing_setting(), q);
        REQUIRE(answer.run);
        INFO(dollars);
        std::int64_t const usual = usual_global_batch(answer.tokens, answer.workload.sequence);
        CHECK(answer.workload.global_batch <= usual);
        CHECK(2 * answer.workload.global_batch >= usual);
        CHECK(answer.run->step.workload.global_batch == answer.workload.global_batch);
    }
}

TEST_CASE("more machine time never makes an answer a no: where the law's optimum does not fit, a smaller model does") {
    RunSetting const setting = run_fixture::setting();
    double before = 10;
    for (double const days : {30.0, 365.0, 3650.0}) {
        RunAnswer const answer = answer_run(setting, run_fixture::budget(Kind::days, days, 8));
        INFO(days << ": " << answer.reason);
        REQUIRE(answer.run);
        CHECK(answer.law.run_loss.value < before);
        before = answer.law.run_loss.value;
        bool const smaller = std::any_of(answer.choices.begin(), answer.choices.end(), [](std::string const& choice) {
            return choice.starts_with("model: of the shapes tried");
        });
        CHECK(smaller == (days > 3000));
        CHECK(answer.convergence != Convergence::open);
        CHECK_FALSE(answer.rounds.empty());
    }
}

TEST_CASE("a budget without a plan has no rounds that are open") {
    RunQuestion q = run_fixture::budget(Kind::days, 30, 8);
    q.model = find_model("llama-3.1-405b");
    RunAnswer const answer = answer_run(run_fixture::setting(), q);
    CHECK_FALSE(answer.run);
    CHECK(answer.rounds.empty());
    CHECK(answer.convergence == Convergence::not_needed);
}

TEST_CASE("without a run nothing says that accelerators were chosen") {
    RunSetting setting = run_fixture::setting();
    setting.cluster.max_accelerators = 8;
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-3.1-405b");
    q.tokens = 1e12;
    RunAnswer const answer = answer_run(setting, q);
    CHECK_FALSE(answer.run);
    for (std::string const& choice : answer.choices)
        CHECK_THAT(choice, !contains("accelerators: "));
}

TEST_CASE("a run's checkpoints hold the prediction modules that it trains") {
    RunSetting const setting = run_fixture::failing_setting();
    ModelSpec model = find_model("deepseek-v3");
    ParameterCounts const counts = count_parameters(model);
    REQUIRE(counts.mtp > 0);
    PlannedStep const planned = plan_step(setting, model, run_workload(setting, model, 1e12), 2048);
    REQUIRE(planned.goodput);
    double const per_parameter = planned.goodput->checkpoint.base() / static_cast<double>(counts.total + counts.mtp);
    CHECK(per_parameter == Approx(14));
}

TEST_CASE("a model that sees fewer tokens than it has parameters is not one that a law was fitted to") {
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-2-7b");
    q.accelerators = 64;
    auto const warned = [&](double tokens) {
        q.tokens = tokens;
        auto const warnings = answer_run(run_fixture::setting(), q).law.warnings;
        return std::any_of(warnings.begin(), warnings.end(),
                           [](std::string const& w) { return w.find("training from nothing") != std::string::npos; });
    };
    CHECK(warned(1e9));
    CHECK_FALSE(warned(1e10));
}

TEST_CASE("every published law that divides a budget plans a run of its size", "[long]") {
    for (PublishedLaw const& published : published_laws()) {
        INFO(published.name);
        RunQuestion q = run_fixture::budget(Kind::days, 3, 64);
        q.law = published.law;
        if (!divides_a_budget(published.law)) {
            CHECK_THROWS_AS(answer_run(run_fixture::setting(), q), InputError);
            continue;
        }
        RunAnswer const answer = answer_run(run_fixture::setting(), q);
        REQUIRE(answer.run);
        CHECK(answer.law.run_loss.known() == predicts_a_loss(published.law));
        if (answer.law.run_loss.known())
            CHECK(answer.law.run_loss.value == Approx(answer.law.loss.value).epsilon(1e-3));
        else
            CHECK(answer.law.parameters.value == Approx(answer.parameters).epsilon(0.05));
    }
}

TEST_CASE("a model that is given keeps its shape, its tokens come from the budget or the rule of 20") {
    RunSetting const setting = run_fixture::setting();
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-2-7b");
    q.accelerators = 64;
    RunAnswer const twenty = answer_run(setting, q);
    REQUIRE(twenty.run);
    CHECK(twenty.tokens == 20 * static_cast<double>(count_parameters(*q.model).total));
    q.tokens = 1e12;
    CHECK(answer_run(setting, q).tokens == 1e12);
    q.tokens.reset();
    q.budget = Budget{Kind::days, 10};
    RunAnswer const days = answer_run(setting, q);
    REQUIRE(days.run);
    CHECK(days.model.name == "llama-2-7b");
    CHECK(days.run->wall.in(units::day) == Approx(10).epsilon(1e-3));
    q.budget = Budget{Kind::flops, 1e22};
    CHECK(answer_run(setting, q).tokens == Approx(1e22 / 6 / twenty.parameters));
}

TEST_CASE("failures make a run longer, and more so on more accelerators") {
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-2-7b");
    q.tokens = 1e12;
    double before = 1;
    for (std::int64_t const count : {8, 64, 512}) {
        q.accelerators = count;
        RunAnswer const calm = answer_run(run_fixture::setting(), q);
        RunAnswer const failing = answer_run(run_fixture::failing_setting(), q);
        REQUIRE(failing.run);
        CHECK(calm.run->effective_share() == 1);
        CHECK(failing.run->productive == calm.run->productive);
        CHECK(failing.run->effective_share() < before);
        CHECK(failing.run->effective_share() > 0.9);
        before = failing.run->effective_share();
    }
}

TEST_CASE("a model that fits nowhere is an answer with a reason, not an error") {
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-3.1-405b");
    q.accelerators = 8;
    RunAnswer const answer = answer_run(run_fixture::setting(), q);
    CHECK_FALSE(answer.run);
    CHECK_THAT(answer.reason, contains("memory"));
    q.budget = Budget{Kind::days, 30};
    CHECK_THAT(answer_run(run_fixture::setting(), q).reason, contains("memory"));
}

TEST_CASE("questions that do not determine a run are refused") {
    RunSetting const setting = run_fixture::setting();
    RunQuestion q = run_fixture::question();
    CHECK_THROWS_AS(answer_run(setting, q), InputError);
    q.model = find_model("gpt2");
    q.tokens = 1e9;
    q.budget = Budget{Kind::flops, 1e18};
    CHECK_THROWS_AS(answer_run(setting, q), InputError);
    q = run_fixture::budget(Kind::days, 3, 8);
    q.deadline = 1 * units::day;
    CHECK_THROWS_AS(answer_run(setting, q), InputError);
    CHECK_THROWS_AS(answer_run(setting, run_fixture::budget(Kind::days, 3, {})), InputError);
    CHECK_THROWS_AS(answer_run(setting, run_fixture::budget(Kind::flops, 1e9, 8)), InputError);
    RunSetting free = setting;
    free.cluster.accelerator.price_usd_per_hour.reset();
    CHECK_THROWS_AS(answer_run(free, run_fixture::budget(Kind::dollars, 1e6, 8)), InputError);
}

TEST_CASE("a question that is stopped says so, whatever was asked") {
    std::atomic<bool> const stop{true};
    RunSetting setting = run_fixture::setting();
    setting.stop = &stop;
    RunQuestion deadline = run_fixture::question();
    deadline.model = find_model("llama-2-7b");
    deadline.tokens = 1e12;
    deadline.deadline = 30 * units::day;
    CHECK(answer_run(setting, deadline).interrupted);
    CHECK(answer_run(setting, run_fixture::budget(Kind::days, 30, 64)).interrupted);
    CHECK(answer_run(setting, run_fixture::budget(Kind::flops, 1e22, 64)).interrupted);
}

TEST_CASE("the usual batch stays within the critical batch of the tokens and is a power of two of sequences") {
    double before = 0;
    for (double const tokens : {1e9, 1e11, 2e12, 15e12}) {
        std::int64_t const batch = usual_global_batch(tokens, 4096);
        double const critical = critical_batch_tokens(tokens);
        CHECK((batch & (batch - 1)) == 0);
        CHECK(static_cast<double>(batch) * 4096 <= critical);
        CHECK(static_cast<double>(batch) * 8192 > critical);
        CHECK(critical > before);
        before = critical;
    }
    CHECK(usual_global_batch(1, 1 << 20) == 1);
    // Zhang et al.: B* = 93.2 N^0.47 sequences of 512 tokens at D = 20 N, N in millions.
    CHECK(critical_batch_tokens(2e10) == Approx(512 * 93.196784 * std::pow(1000.0, 0.46827828)));
}

TEST_CASE("run plan: adapters take a budget of time or money, or tokens, and no compute of 6 N D") {
    RunSetting adapters = run_fixture::setting();
    adapters.constraints.base.adapters.rank = 16;
    for (Kind const kind : {Kind::dollars, Kind::accelerator_hours, Kind::flops}) {
        RunQuestion q = run_fixture::budget(kind, kind == Kind::flops ? 1e20 : 100, 8);
        q.model = find_model("llama-3.1-8b");
        if (kind == Kind::flops)
            CHECK_THROWS_WITH(answer_run(adapters, q), contains("not of adapters"));
        else
            CHECK_NOTHROW(answer_run(adapters, q));
    }
    RunQuestion q = run_fixture::question();
    q.model = find_model("llama-3.1-8b");
    q.accelerators = 8;
    CHECK_THROWS_WITH(answer_run(adapters, q), contains("--tokens"));
    q.tokens = 1e8;
    CHECK_NOTHROW(answer_run(adapters, q));
}

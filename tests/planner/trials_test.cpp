#include "core/error.hpp"
#include "planner/trials/learning_rate.hpp"
#include "planner/trials/rung_table.hpp"
#include "planner/trials/search_simulation.hpp"
#include "planner/trials/transfer_advice.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

using namespace sextant;

namespace {

SearchMachine quiet_machine(std::int64_t workers) {
    SearchMachine machine;
    machine.workers = workers;
    return machine;
}

SearchMachine rough_machine(std::int64_t workers) {
    return {.workers = workers,
            .unit_s = 60,
            .start_s = 30,
            .jitter = 0.1,
            .straggler_chance = 0.05,
            .straggler_factor = 4,
            .rank_noise = 0.1};
}

constexpr SearchMethod all_methods[] = {SearchMethod::random,    SearchMethod::grid, SearchMethod::successive_halving,
                                        SearchMethod::hyperband, SearchMethod::asha, SearchMethod::pbt};

CalendarSpec plain_calendar() {
    CalendarSpec spec;
    spec.tokens = 1e9;
    spec.peak_rate = 3e-4;
    spec.warmup_tokens = 1e7;
    spec.batches = {{0, 1e6}};
    return spec;
}

}  // namespace

TEST_CASE("successive halving of 81 trials costs 405 units, 297 when trials go on from their checkpoints") {
    Bracket const bracket = successive_halving(81, 1, 3, 81);
    CHECK(bracket.units() == 405);
    CHECK(bracket.units_resumed() == 297);
    REQUIRE(bracket.rungs.size() == 5);
    std::int64_t const trials[] = {81, 27, 9, 3, 1};
    double const units[] = {1, 3, 9, 27, 81};
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(bracket.rungs[i].trials == trials[i]);
        CHECK(bracket.rungs[i].units == units[i]);
    }
    // Too few trials for halving to the end, of which the last goes on alone; a length that is no power; one trial.
    Bracket const few = successive_halving(5, 1, 3, 81);
    CHECK(few.units_resumed() == 5 + 80);
    CHECK(few.finished() == 1);
    Bracket const beyond = successive_halving(81, 1, 3, 100);
    CHECK(beyond.units_resumed() == 297 + 19);
    CHECK(beyond.rungs.back().units == 100);
    CHECK(successive_halving(100, 1, 3, 50).rungs.back().units == 50);
    CHECK(successive_halving(1, 4, 2, 4).units() == 4);
}

TEST_CASE("Hyperband's brackets for R = 81 cost 405, 363, 351, 378 and 405 units") {
    std::vector<Bracket> const brackets = hyperband(1, 3, 81);
    REQUIRE(brackets.size() == 5);
    double const expected[] = {405, 363, 351, 378, 405};
    std::int64_t const started[] = {81, 34, 15, 8, 5};
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(brackets[i].units() == expected[i]);
        CHECK(brackets[i].started() == started[i]);
        CHECK(brackets[i].rungs.back().units == 81);
        CHECK(brackets[i].early == 4 - static_cast<int>(i));
    }
    // R eta^-s must not lose a bracket to rounding.
    CHECK(hyperband(1, 10, 1000).size() == 4);
    CHECK(hyperband(0.1, 3, 0.1 * 243).size() == 6);
    CHECK(hyperband(1, 2, 1).size() == 1);
}

TEST_CASE("rungs never grow, and no search costs more than every trial to the end") {
    for (std::int64_t const n : {1, 2, 7, 50, 1000})
        for (std::int64_t const eta : {2, 3, 4})
            for (double const R : {1.0, 10.0, 81.0, 1000.0}) {
                Bracket const bracket = successive_halving(n, 1, eta, R);
                Bracket const worst = asha_worst_case(n, 1, eta, R);
                CHECK(bracket.units_resumed() <= bracket.units());
                CHECK(bracket.units_resumed() <= static_cast<double>(n) * R);
                CHECK(bracket.units_resumed() <= worst.units_resumed());
                CHECK(worst.units_resumed() <= static_cast<double>(n) * R);
                CHECK(bracket.rungs.back().units == R);
                CHECK(bracket.finished() >= 1);
                for (std::size_t i = 1; i < bracket.rungs.size(); ++i)
                    CHECK(bracket.rungs[i].trials <= std::max<std::int64_t>(1, bracket.rungs[i - 1].trials / eta));
            }
}

TEST_CASE("a synchronous search costs what its table says, on any number of workers and with any stragglers") {
    for (SearchMethod const method : all_methods)
        for (std::int64_t const workers : {1, 3, 16, 200}) {
            SearchPlan plan;
            plan.method = method;
            SearchCost const cost = search_cost(plan);
            SearchMachine const machine = rough_machine(workers);
            SearchOutcome const outcome = simulate_search(plan, machine, 1, 7);
            CAPTURE(name_of(method), workers);
            if (method == SearchMethod::asha) {
                CHECK(outcome.units <= cost.worst_units);
                CHECK(outcome.units >= 81);
                CHECK(static_cast<double>(outcome.pieces) <= cost.worst_pieces);
            } else {
                CHECK(outcome.units == Approx(cost.units).epsilon(1e-12));
                CHECK(static_cast<double>(outcome.pieces) == cost.pieces);
            }
            // Conservation: nobody works more than the wall clock, nothing is trained that was not begun.
            CHECK(outcome.busy_s <= outcome.wall_s * static_cast<double>(workers) * (1 + 1e-12));
            CHECK(outcome.wall_s >= outcome.busy_s / static_cast<double>(workers) * (1 - 1e-12));
            CHECK(std::accumulate(outcome.by_rung.begin(), outcome.by_rung.end(), std::int64_t{0}) == outcome.pieces);
            CHECK(outcome.winner_rank >= 1);
            CHECK(outcome.winner_rank <= static_cast<double>(cost.started));
            if (workers == 1) CHECK(outcome.wall_s == Approx(outcome.busy_s).epsilon(1e-12));
        }
}

TEST_CASE("wall clock by hand: 9 trials in 3 rungs on 9 workers, and on one") {
    SearchPlan plan;
    plan.method = SearchMethod::successive_halving;
    plan.trials = 9;
    plan.full = 9;
    CHECK(simulate_search(plan, quiet_machine(9), 1, 0).wall_s == Approx(1 + 2 + 6));
    CHECK(simulate_search(plan, quiet_machine(1), 1, 0).wall_s == Approx(9 + 3 * 2 + 6));
    plan.resume = SearchPlan::Resume::from_start;
    CHECK(simulate_search(plan, quiet_machine(9), 1, 0).wall_s == Approx(1 + 3 + 9));
    plan.method = SearchMethod::random;
    CHECK(simulate_search(plan, quiet_machine(4), 1, 0).wall_s == Approx(3 * 9));
    plan.method = SearchMethod::pbt;
    CHECK(simulate_search(plan, quiet_machine(3), 1, 0).wall_s == Approx(27));
}

TEST_CASE("ASHA promotes all but eta - 1 of a rung when every trial beats those before it, and no more ever") {
    // The bound of asha_worst_case, against the rule itself on every order of a small rung.
    std::vector<int> order(7);
    std::iota(order.begin(), order.end(), 0);
    std::int64_t const eta = 3;
    std::size_t most = 0;
    do {
        std::vector<int> seen;
        std::vector<bool> promoted(order.size());
        std::size_t count = 0;
        for (int const value : order) {
            seen.insert(std::upper_bound(seen.begin(), seen.end(), value), value);
            for (std::size_t i = 0; i < seen.size() / eta; ++i)
                if (!promoted[static_cast<std::size_t>(seen[i])]) {
                    promoted[static_cast<std::size_t>(seen[i])] = true;
                    ++count;
                }
        }
        most = std::max(most, count);
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(most == 5);
    CHECK(asha_worst_case(7, 1, 3, 9).rungs[1].trials == 5);
}

TEST_CASE("ASHA: one worker and many train about as much, many are faster and lose little; it keeps workers busy") {
    SearchPlan plan;
    plan.method = SearchMethod::asha;
    SearchStudy const one = study_search(plan, rough_machine(1), 60, 1, 2);
    SearchStudy const many = study_search(plan, rough_machine(27), 60, 1, 2);
    CHECK(many.wall_s < one.wall_s / 4);
    CHECK(one.idle_share == Approx(0).margin(1e-12));
    CHECK(many.units == Approx(one.units).epsilon(0.3));
    CHECK(one.by_rung[0] == 81);
    CHECK(many.by_rung[0] == 81);
    plan.method = SearchMethod::successive_halving;
    SearchStudy const waits = study_search(plan, rough_machine(27), 60, 1, 2);
    CHECK(many.idle_share < waits.idle_share);
    REQUIRE(many.first_full_s);
    REQUIRE(waits.first_full_s);
    CHECK(*many.first_full_s < *waits.first_full_s * 1.5);
    plan.trials = 2;  // nobody is ever a third of the first rung: the better of the two goes on when both have ended it
    for (SearchMethod const method : {SearchMethod::asha, SearchMethod::successive_halving}) {
        plan.method = method;
        SearchStudy const few = study_search(plan, rough_machine(2), 5, 1, 2);
        CHECK(few.units == 2 + 80);
        CHECK(few.by_rung == std::vector<double>{2, 1, 1, 1, 1});
        CHECK(few.first_full_s);
    }
    plan.full = 100;  // no power of three
    plan.trials = 81;
    for (SearchMethod const method : {SearchMethod::asha, SearchMethod::successive_halving}) {
        plan.method = method;
        CHECK(search_cost(plan).finished == 1);
        CHECK(study_search(plan, rough_machine(9), 20, 1, 2).by_rung.back() >= 1);
    }
}

TEST_CASE("with rungs that are always right, halving finds the best of those started") {
    SearchPlan plan;
    plan.method = SearchMethod::successive_halving;
    SearchMachine machine = quiet_machine(9);
    machine.rank_noise = 0;
    CHECK(study_search(plan, machine, 20, 3, 1).winner_rank == 1);
    machine.rank_noise = 0.5;
    CHECK(study_search(plan, machine, 20, 3, 1).winner_rank > 1);
}

TEST_CASE("a study of a search does not depend on threads, and depends on the seed") {
    SearchPlan const plan;
    SearchStudy const one = study_search(plan, rough_machine(8), 30, 1, 1);
    SearchStudy const four = study_search(plan, rough_machine(8), 30, 1, 4);
    CHECK(one.wall_s == four.wall_s);
    CHECK(one.units == four.units);
    CHECK(study_search(plan, rough_machine(8), 30, 2, 1).wall_s != one.wall_s);
}

TEST_CASE("searches out of range are refused") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(successive_halving(0, 1, 3, 81), InputError);
    CHECK_THROWS_AS(successive_halving(81, 0, 3, 81), InputError);
    CHECK_THROWS_AS(successive_halving(81, nan, 3, 81), InputError);
    CHECK_THROWS_AS(successive_halving(81, 1, 1, 81), InputError);
    CHECK_THROWS_AS(successive_halving(81, 100, 3, 81), InputError);
    CHECK_THROWS_AS(hyperband(1, 3, std::numeric_limits<double>::infinity()), InputError);
    CHECK_THROWS_AS(simulate_search({}, quiet_machine(0), 1, 0), InputError);
    SearchMachine machine = quiet_machine(1);
    machine.straggler_factor = 0.5;
    CHECK_THROWS_AS(simulate_search({}, machine, 1, 0), InputError);
    SearchPlan many;
    many.trials = 10000000;
    CHECK_THROWS_AS(simulate_search(many, quiet_machine(1), 1, 0), InputError);
    CHECK_THROWS_WITH(search_method_from("hyperbound", "--method"), contains("hyperband"));
}

TEST_CASE("the warm-up ends at the first step that has its tokens, however the batch grows") {
    std::mt19937_64 random(fixtures::seeded(23));
    std::uniform_real_distribution<double> share(0.001, 1);
    for (int i = 0; i < 200; ++i) {
        CalendarSpec spec = plain_calendar();
        double const first = 1e5 * std::ceil(10 * share(random));
        spec.batches = linear_batch_ramp(first, first * (1 + 20 * share(random)), spec.tokens * share(random));
        spec.warmup_tokens = spec.tokens * share(random);
        TrainingCalendar const calendar(spec);
        CAPTURE(first, spec.warmup_tokens);
        double tokens = 0;
        std::int64_t step = 0;
        while (tokens < spec.warmup_tokens * (1 - 1e-9))
            tokens += calendar.row(++step).batch_tokens;
        CHECK(calendar.row(step).tokens == Approx(tokens).epsilon(1e-9));
        std::vector<CalendarRow> const rows = calendar.rows(10);
        auto const end = std::find_if(rows.begin(), rows.end(), [](CalendarRow const& row) {
            return row.event.find("warm-up ends") != std::string::npos;
        });
        REQUIRE(end != rows.end());
        CHECK(end->step == step);
    }
}

TEST_CASE("learning rates: warm-up reaches the peak, every shape ends where it should and never rises after") {
    for (RateShape const shape : {RateShape::cosine, RateShape::wsd, RateShape::linear, RateShape::constant})
        for (DecayShape const decay : {DecayShape::linear, DecayShape::cosine, DecayShape::sqrt}) {
            CalendarSpec spec = plain_calendar();
            spec.shape = shape;
            spec.decay = decay;
            TrainingCalendar const calendar(spec);
            CAPTURE(name_of(shape), name_of(decay));
            CHECK(calendar.steps() == 1000);
            CHECK(calendar.tokens() == 1e9);
            CHECK(calendar.row(10).rate == Approx(3e-4));
            CHECK(calendar.row(5).rate == Approx(1.5e-4));
            CHECK(calendar.row(1000).rate == Approx(shape == RateShape::constant ? 3e-4 : 3e-5));
            for (std::int64_t step = 11; step <= 1000; ++step)
                CHECK(calendar.row(step).rate <= calendar.row(step - 1).rate * (1 + 1e-12));
            if (shape == RateShape::wsd) CHECK(calendar.row(900).rate == Approx(3e-4));
            double sum = 0;
            for (std::int64_t step = 1; step <= 1000; ++step)
                sum += calendar.row(step).rate;
            CHECK(calendar.rate_area() == Approx(sum).epsilon(1e-9));
        }
    CalendarSpec spec = plain_calendar();  // half way down the cosine the rate is the mean of its ends
    spec.warmup_tokens = 0;
    CHECK(TrainingCalendar(spec).row(500).rate == Approx(0.55 * 3e-4));
}

TEST_CASE("a decay may end before or after the run: the rate stays at the final share, or does not come down to it") {
    // GPT-3 (arXiv:2005.14165, appendix B): a cosine over 260 B tokens, then 10 % to 300 B.
    CalendarSpec spec;
    spec.tokens = 300e9;
    spec.peak_rate = 6e-5;
    spec.warmup_tokens = 375e6;
    spec.batches = linear_batch_ramp(32e3, 3.2e6, 12e9);
    spec.decay_tokens = 260e9;
    TrainingCalendar const gpt3(spec);
    double const x = (206e9 - 375e6) / (260e9 - 375e6);
    CHECK(gpt3.rate_at(206e9) == Approx(6e-5 * (0.1 + 0.9 * (1 + std::cos(std::numbers::pi * x)) / 2)).epsilon(1e-12));
    CHECK(gpt3.rate_at(206e9) == Approx(1.156e-5).epsilon(1e-3));
    CHECK(gpt3.rate_at(260e9) == Approx(6e-6));
    CHECK(gpt3.rate_at(300e9) == Approx(6e-6));
    std::vector<CalendarRow> const rows = gpt3.rows(1);
    auto const ends = std::find_if(rows.begin(), rows.end(), [](auto const& row) { return row.event == "decay ends"; });
    REQUIRE(ends != rows.end());
    CHECK(ends->tokens == Approx(260e9).epsilon(1e-4));
    for (RateShape const shape : {RateShape::cosine, RateShape::linear, RateShape::wsd}) {
        CalendarSpec longer = plain_calendar();
        longer.shape = shape;
        longer.decay_tokens = 1.05e9;
        TrainingCalendar const calendar(longer);
        CAPTURE(name_of(shape));
        CHECK(calendar.steps() == 1000);
        CHECK(calendar.row(1000).rate > 1.01 * 3e-5);
        // The same steps as in a run that is as long as the decay.
        longer.tokens = 1.05e9;
        longer.decay_tokens.reset();
        CHECK(calendar.row(960).rate == Approx(TrainingCalendar(longer).row(960).rate).epsilon(1e-12));
    }
    CHECK(TrainingCalendar(plain_calendar()).tokens_after(1200) == Approx(1.2e9));
    spec.decay_tokens = 1e8;
    CHECK_THROWS_WITH(TrainingCalendar(spec), contains("warm-up"));
}

TEST_CASE("the busy time of a search has jitter and stragglers in it, on the mean as `mean_slowdown` says") {
    SearchPlan const plan{.method = SearchMethod::random, .trials = 81, .least = 1, .full = 81};
    SearchMachine machine = quiet_machine(8);
    CHECK(mean_slowdown(machine) == 1);
    CHECK(study_search(plan, machine, 3, 1, 1).busy_s == Approx(81 * 81));
    machine.straggler_chance = 0.5;
    machine.straggler_factor = 10;
    machine.jitter = 0.3;
    CHECK(mean_slowdown(machine) == Approx(5.5 * std::exp(0.045)));
    CHECK(study_search(plan, machine, 200, 1, 1).busy_s == Approx(81 * 81 * mean_slowdown(machine)).epsilon(0.03));
}

TEST_CASE("a warm-up as long as the run ends at the peak, and a batch that becomes smaller shrinks") {
    for (RateShape const shape : {RateShape::cosine, RateShape::linear, RateShape::constant}) {
        TrainingCalendar const calendar(
            {.tokens = 1e9, .peak_rate = 3e-4, .shape = shape, .warmup_tokens = 1e9, .batches = {{0, 1e6}}});
        CHECK(calendar.row(calendar.steps()).rate == Approx(3e-4));
    }
    TrainingCalendar const calendar({.tokens = 1e9, .peak_rate = 3e-4, .batches = {{0, 1e6}, {2e8, 4e6}, {6e8, 2e6}}});
    std::vector<std::string> changes;
    for (CalendarRow const& row : calendar.rows(1))
        if (row.event.starts_with("batch")) changes.push_back(row.event);
    CHECK(changes == std::vector<std::string>{"batch grows", "batch shrinks"});
}

TEST_CASE("Llama 3 405B's batches over 15.6 T tokens are some 1.15 M steps; its schedule was laid out for 1.2 M") {
    // arXiv:2407.21783 section 3.4.1: 4 M tokens, 8 M after 252 M, 16 M after 2.87 T; 8,000 steps of warm-up.
    CalendarSpec spec;
    spec.tokens = 15.6e12;
    spec.peak_rate = 8e-5;
    spec.final_share = 0.01;
    spec.warmup_tokens = 8000 * 8e6;
    spec.batches = {{0, 4e6}, {252e6, 8e6}, {2.87e12, 16e6}};
    TrainingCalendar const calendar(spec);
    CHECK(calendar.steps() == 63 + 358719 + 795625);
    CHECK(calendar.steps() < 1200000);
    CHECK(calendar.tokens() >= spec.tokens);
    CHECK(calendar.tokens() < spec.tokens + 16e6);
    std::vector<CalendarRow> const rows = calendar.rows(20);
    double tokens = 0;
    std::int64_t step = 0;
    int changes = 0;
    for (CalendarRow const& row : rows) {
        CHECK(row.step > step);
        CHECK(row.tokens > tokens);
        step = row.step;
        tokens = row.tokens;
        if (row.event.find("batch grows") != std::string::npos) ++changes;
    }
    CHECK(changes == 2);
    CHECK(rows.front().step == 1);
    CHECK(rows.back().step == calendar.steps());
}

TEST_CASE("a linear batch ramp takes its tokens in equal parts, and steps and tokens add up phase by phase") {
    std::vector<BatchPhase> const ramp = linear_batch_ramp(1e6, 4e6, 3e8);
    REQUIRE(ramp.size() == 4);
    CHECK(ramp[1].from_tokens == 1e8);
    CHECK(ramp[1].batch_tokens == 2e6);
    CHECK(ramp.back().batch_tokens == 4e6);
    CalendarSpec spec = plain_calendar();
    spec.batches = ramp;
    TrainingCalendar const calendar(spec);
    CHECK(calendar.steps() == 100 + 50 + 34 + 175);
    double sum = 0;
    for (std::int64_t step = 1; step <= calendar.steps(); ++step) {
        sum += calendar.row(step).batch_tokens;
        CHECK(calendar.row(step).tokens == Approx(sum));
    }
    CHECK(linear_batch_ramp(2e6, 2e6, 1e9).back().batch_tokens == 2e6);
}

TEST_CASE("shapes of learning rates have names that read back, and others are refused with the nearest") {
    for (RateShape const shape : {RateShape::cosine, RateShape::wsd, RateShape::linear, RateShape::constant})
        CHECK(rate_shape_from(name_of(shape), "--shape") == shape);
    for (DecayShape const shape : {DecayShape::linear, DecayShape::cosine, DecayShape::sqrt})
        CHECK(decay_shape_from(name_of(shape), "--decay") == shape);
    CHECK_THROWS_WITH(rate_shape_from("cosin", "--shape"), contains("--shape: ") && contains("mean 'cosine'"));
    CHECK_THROWS_WITH(decay_shape_from("sqr", "--decay"), contains("--decay: ") && contains("mean 'sqrt'"));
}

TEST_CASE("calendars out of range are refused") {
    auto const refused = [](auto change, std::string const& part) {
        CalendarSpec spec = plain_calendar();
        change(spec);
        CHECK_THROWS_WITH(TrainingCalendar(spec), contains(part));
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    refused([&](auto& s) { s.tokens = nan; }, "tokens");
    refused([](auto& s) { s.tokens = 0; }, "tokens");
    refused([&](auto& s) { s.peak_rate = nan; }, "learning rate");
    refused([](auto& s) { s.warmup_tokens = 2e9; }, "warm-up");
    refused([](auto& s) { s.final_share = 1.5; }, "final share");
    refused([](auto& s) { s.batches.clear(); }, "batch");
    refused([](auto& s) { s.batches[0].batch_tokens = 0; }, "tokens per step");
    refused([](auto& s) { s.batches.push_back({0, 2e6}); }, "batch");
    refused([](auto& s) { s.batches.push_back({2e9, 2e6}); }, "after the end");
    refused([](auto& s) { s.shape = RateShape::wsd, s.decay_share = 0.995; }, "reach into the decay");
    refused([](auto& s) { s.tokens = 1e18, s.batches[0].batch_tokens = 1; }, "too many steps");
    refused(
        [](auto& s) {
            s.shape = RateShape::wsd;
            s.decay_share = 0.995;
        },
        "decay");
    CHECK_THROWS_AS(linear_batch_ramp(1, 1e9, 1e9), InputError);
    CHECK_THROWS_AS(linear_batch_ramp(4e6, 1e6, 1e9), InputError);
}

TEST_CASE("every rule of transfer has a basis and a source, and the ladder of proxies gets dearer") {
    for (TransferRule const& rule : transfer_rules()) {
        std::string const basis = rule.basis;
        CHECK((basis == "published" || basis == "assumed"));
        CHECK_FALSE(std::string(rule.source).empty());
    }
    double before = 0;
    for (Proxy const& proxy : proxy_ladder(70e9, 15e12)) {
        CHECK(proxy.flops > before);
        CHECK(proxy.share_of_target < 0.01);
        before = proxy.flops;
    }
    // Sizes but the largest see half, once and twice the tokens: runs at one ratio tell no law over N and D.
    std::vector<Proxy> const ladder = proxy_ladder(70e9, 15e12);
    REQUIRE(ladder.size() == 10);
    for (std::size_t i = 0; i < ladder.size(); ++i)
        CHECK(ladder[i].tokens == Approx(20 * (i == 9 ? 1 : 0.5 * std::pow(2, i % 3)) * ladder[i].parameters));
    CHECK(proxy_ladder(1e9, 20e9).back().share_of_target == Approx(1.0 / 16));
    CHECK_THROWS_AS(proxy_ladder(0, 1e9), InputError);
}

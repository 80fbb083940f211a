#include "tests/calibrate/scaling/reference.hpp"

#include "calibrate/scaling/law_study.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

using namespace sextant;
using namespace sextant::test;

namespace {

constexpr double truth[] = {477.8, 2143.4, 1.8172, 0.3473, 0.3672};

/// A grid of sizes and tokens with normal noise of the logarithm.
LawProblem synthetic(int side, double noise, std::mt19937_64& random, std::string const& objective = "huber:1e-3") {
    LawProblem problem = law_problem(find_law_form("chinchilla", "test"), fit_objective_from(objective, "test"));
    std::normal_distribution<double> normal;
    for (int i = 0; i < side; ++i)
        for (int k = 0; k < side; ++k) {
            double const n = 4e7 * std::pow(500, i / (side - 1.0));
            double const d = 4e8 * std::pow(2500, k / (side - 1.0));
            problem.inputs.columns[0].push_back(std::log(n));
            problem.inputs.columns[1].push_back(std::log(d));
            problem.measured.push_back(law_value(*problem.form, truth, std::vector<double>{n, d}) *
                                       std::exp(noise * normal(random)));
        }
    problem.inputs.rows = problem.measured.size();
    return problem;
}

LawProblem n240() {
    return problem_over(rows_of("chinchilla_digitised.csv",
                                {{"parameters", "params"}, {"tokens", "tokens"}, {"loss", "loss"}}, {"in_n240=1"}),
                        "chinchilla", "huber:1e-3");
}

bool mentions(std::vector<std::string> const& texts, std::string const& part) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](std::string const& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("bootstrap: the spread of the Chinchilla refit is the published one, the same for any number of threads") {
    LawProblem const problem = n240();
    LawFit const fit = fitted(problem);
    Bootstrap const one = bootstrap_law(problem, fit, {.resamples = 1500, .seed = 4, .threads = 1});
    Bootstrap const two = bootstrap_law(problem, fit, {.resamples = 200, .seed = 4, .threads = 2});
    REQUIRE(one.values.size() == 1500);
    for (std::size_t i = 0; i < two.values.size(); ++i)
        CHECK(two.values[i] == one.values[i]);
    Json const& j = expected()["chinchilla/n240/bootstrap"]["params"];
    char const* const names[] = {"A", "B", "E", "alpha", "beta"};
    for (std::size_t k = 0; k < 5; ++k) {
        CAPTURE(names[k]);
        std::vector<double> values;
        for (auto const& v : one.values)
            values.push_back(v[k]);
        // Quantiles of 4000 resamples with other random numbers: a tenth of the interval's width is three of its
        // errors.
        ResampleInterval const ours = resample_interval(values, 0.8);
        double const low = j[names[k]]["p10"];
        double const high = j[names[k]]["p90"];
        CHECK(std::abs(ours.low - low) < 0.1 * (high - low));
        CHECK(std::abs(ours.high - high) < 0.1 * (high - low));
    }
}

TEST_CASE("bootstrap: Huber's objective whose threshold no residual exceeds spreads as least squares do") {
    std::mt19937_64 random(fixtures::seeded(11));
    LawProblem squares = synthetic(5, 0.01, random, "lsq-log");
    LawProblem wide = squares;
    wide.objective = fit_objective_from("huber:10", "test");
    auto const spread_of_alpha = [](LawProblem const& problem) {
        LawFit const fit = fitted(problem);
        Bootstrap const resamples = bootstrap_law(problem, fit, {.resamples = 200, .seed = 4, .threads = 1});
        std::vector<double> values;
        for (auto const& v : resamples.values)
            values.push_back(v[3]);
        ResampleInterval const interval = resample_interval(values, 0.8);
        return interval.high - interval.low;
    };
    CHECK(spread_of_alpha(wide) == Approx(spread_of_alpha(squares)).epsilon(0.01));
}

TEST_CASE("80 % intervals hold the truth in about 80 % of synthetic tables") {
    std::mt19937_64 random(fixtures::seeded(20));
    int held = 0;
    int asked = 0;
    for (int set = 0; set < 50; ++set) {
        LawStudyOptions options;
        options.bootstrap = {.resamples = 100, .seed = static_cast<std::uint64_t>(set), .threads = 1};
        options.fit.starts = 2;
        options.profile = false;
        options.diagnostics = false;
        options.flops = 1e24;
        LawStudy const study = study_law(synthetic(7, 0.005, random), options, "test");
        REQUIRE(study.fit.converged);
        for (std::size_t k = 0; k < 5; ++k) {
            held += study.parameters[k].at_80->low <= truth[k] && truth[k] <= study.parameters[k].at_80->high ? 1 : 0;
            ++asked;
        }
        double const ratio = law_quantities(study.problem, 1e24).front().value(std::span<double const>(truth));
        held += study.quantities[0].at_80->low <= ratio && ratio <= study.quantities[0].at_80->high ? 1 : 0;
        ++asked;
    }
    // Fifty tables whose six answers go together: one standard error is about 4 %.
    double const coverage = static_cast<double>(held) / asked;
    INFO(coverage);
    CHECK(coverage > 0.70);
    CHECK(coverage < 0.90);
}

TEST_CASE("a study shows what the objective, single rows and the largest runs do to the answer") {
    LawStudyOptions options;
    options.bootstrap.resamples = 50;
    options.flops = 5.76e23;
    options.cuts = {1e21};
    LawStudy const study = study_law(n240(), options, "test");
    REQUIRE(study.objectives.size() == 5);
    // Tokens per parameter at 5.76e23 FLOPs, research notes: Huber 17.9, LAD 18.3, Huber 1e-2 16.9, log 14.3, raw 10.4.
    double const theirs[] = {17.921, 18.337, 16.940, 14.267, 10.367};
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(study.objectives[i].quantity == Approx(theirs[i]).epsilon(1e-4));
    REQUIRE(study.back_tests.size() == 1);
    CHECK(study.back_tests[0].fitted == 217);
    CHECK(study.back_tests[0].quantity == Approx(8.58683).epsilon(1e-4));
    CHECK(study.influence.size() == 5);
    for (std::size_t k = 0; k < 5; ++k) {
        REQUIRE(study.parameters[k].profile);
        CHECK(study.parameters[k].profile->low < study.fit.values[k]);
        CHECK(study.parameters[k].profile->high > study.fit.values[k]);
    }
    CHECK(mentions(study.warnings, "the choice of objective alone moves tokens_per_parameter from 10.4 to 18.3"));
}

/// The losses of the truth at tokens that `tokens` gives the i-th size, with a wobble.
LawProblem along(double (*tokens)(double size, std::size_t i), double wobble = 1e-3) {
    std::mt19937_64 random(fixtures::seeded(2));
    LawProblem problem = synthetic(6, 0.003, random);
    for (std::size_t i = 0; i < problem.rows(); ++i) {
        double const size = std::exp(problem.inputs.columns[0][i]);
        double const seen = tokens(size, i);
        problem.inputs.columns[1][i] = std::log(seen);
        problem.measured[i] = loss_of({truth[0], truth[1], truth[2], truth[3], truth[4]}, size, seen) *
                              (1 + wobble * static_cast<double>(i % 7));
    }
    return problem;
}

TEST_CASE("runs along one ratio are refused: no law over N and D can be told from them, nor by a tie") {
    for (char const* law : {"chinchilla", "overtraining"}) {
        LawProblem ladder = along([](double size, std::size_t i) { return (20 + static_cast<double>(i % 3)) * size; });
        LawProblem problem = law_problem(find_law_form(law, "test"), ladder.objective);
        problem.inputs = ladder.inputs;
        problem.measured = ladder.measured;
        CHECK_THROWS_WITH(fitted(problem), contains("median D/N 21") && contains("--law compute"));
    }
    LawProblem ladder = along([](double size, std::size_t) { return 20 * size; });
    ladder.equals[4] = 3;
    CHECK_THROWS_WITH(fitted(ladder), contains("tokens follow from parameters"));
    ladder = along([](double size, std::size_t) { return 500 * std::sqrt(size * 1e9); });
    CHECK_THROWS_WITH(fitted(ladder), contains("tokens follow from parameters"));
    // With one of the terms held the rows tell the other.
    ladder = along([](double size, std::size_t) { return 20 * size; }, 0);
    ladder.fixed[0] = truth[0];
    ladder.fixed[3] = truth[3];
    LawFit const held = fitted(ladder);
    CHECK(held.values[4] == Approx(truth[4]).epsilon(1e-3));
    // A ladder that varies D at the same N gives back the law.
    LawProblem const varied =
        along([](double size, std::size_t i) { return 20 * size * std::pow(2, static_cast<double>(i % 3) - 1); }, 0);
    LawFit const fit = fitted(varied);
    for (std::size_t k = 0; k < 5; ++k)
        CHECK(fit.values[k] == Approx(truth[k]).epsilon(1e-3));
}

TEST_CASE("law_warnings: N and D that move together or against each other, and a law far away is far away") {
    LawProblem problem = along([](double size, std::size_t i) { return (20 + 2 * static_cast<double>(i % 6)) * size; });
    LawStudyOptions options;
    options.bootstrap.resamples = 0;
    options.diagnostics = false;
    options.profile = false;
    options.flops = 1e27;
    LawStudy const study = study_law(problem, options, "test");
    CHECK(mentions(study.warnings, "move together"));
    CHECK(mentions(study.warnings, "times the largest run"));
    LawStudy const slice =
        study_law(along([](double size, std::size_t) { return 1e20 / (6 * size); }), options, "test");
    CHECK(mentions(slice.warnings, "one compute level"));
}

TEST_CASE("profile: an end that no refit tells is open, not the estimate") {
    // One compute level: the exponents of N and D can hardly be told apart.
    std::mt19937_64 random(fixtures::seeded(7));
    std::normal_distribution<double> normal;
    for (int table = 0; table < 4; ++table) {
        LawProblem problem = law_problem(find_law_form("chinchilla", "test"), fit_objective_from("huber:1e-3", "test"));
        for (int i = 0; i < 12; ++i) {
            double const n = 2.9e8 * std::pow(100, i / 11.0), d = 1e20 / (6 * n);
            problem.inputs.columns[0].push_back(std::log(n));
            problem.inputs.columns[1].push_back(std::log(d));
            problem.measured.push_back(law_value(*problem.form, truth, std::vector<double>{n, d}) *
                                       std::exp(0.003 * normal(random)));
        }
        problem.inputs.rows = problem.measured.size();
        LawFit const fit = fitted(problem);
        for (std::size_t k = 0; k < 5; ++k) {
            CAPTURE(table, k, fit.values[k]);
            ProfileInterval const p = profile_interval(problem, fit, k, 0.95);
            CHECK((p.open_below || p.low < fit.values[k] * (1 - 1e-4)));
            CHECK((p.open_above || p.high > fit.values[k] * (1 + 1e-4)));
        }
    }
}

TEST_CASE("bootstrap: few rows have no intervals where resamples are lost, and the report says why") {
    std::mt19937_64 random(fixtures::seeded(3));
    LawProblem problem = synthetic(3, 0.003, random);
    LawStudyOptions options;
    options.bootstrap = {.resamples = 200, .seed = 1, .threads = 1};
    options.diagnostics = false;
    options.profile = false;
    LawStudy const nine = study_law(problem, options, "test");
    CHECK(nine.bootstrap.enough());
    CHECK(nine.parameters[0].at_80.has_value());
    std::vector<int> const kept{1, 1, 0, 1, 1, 0, 1, 0, 1};
    LawStudy const six = study_law(resampled(problem, kept), options, "test");
    // At least five of six different rows come in a quarter of the draws.
    CHECK(six.bootstrap.drawn() == 200);
    CHECK(six.bootstrap.too_few > 120);
    CHECK_FALSE(six.bootstrap.enough());
    for (ParameterInterval const& p : six.parameters)
        CHECK_FALSE(p.at_80.has_value());
    CHECK(mentions(six.warnings, "drew fewer different rows than there are parameters"));
    CHECK(mentions(six.warnings, "no bootstrap intervals"));
}

TEST_CASE("law_warnings: other minima are said with how much higher they are, resamples that failed with all of them") {
    std::mt19937_64 random(fixtures::seeded(4));
    LawStudyOptions options;
    options.bootstrap = {.resamples = 9, .seed = 1, .threads = 1};
    options.diagnostics = false;
    options.profile = false;
    LawStudy study = study_law(synthetic(6, 0.003, random), options, "test");
    CHECK_FALSE(mentions(law_warnings(study), "another minimum"));
    study.fit.others = {{.values = study.fit.values, .objective = 1.25 * study.fit.objective, .starts = 1}};
    CHECK(mentions(law_warnings(study), "another minimum is 25 % higher"));
    auto const solved = static_cast<int>(study.bootstrap.values.size());
    study.bootstrap.failed = 3;
    CHECK(mentions(law_warnings(study), fmt::format("3 of {} resamples had no solution", solved + 3)));
}

TEST_CASE("study_law refuses a law whose floor lies above many rows") {
    std::mt19937_64 random(fixtures::seeded(2));
    LawProblem problem = synthetic(6, 0.003, random);
    problem.fixed[2] = 2.9;
    CHECK_THROWS_WITH(study_law(problem, {}, "test"), contains("loss below the given E"));
}

TEST_CASE("outliers move a robust fit less than least squares") {
    std::mt19937_64 random(fixtures::seeded(8));
    LawProblem problem = synthetic(10, 0.003, random);
    for (std::size_t i = 0; i < problem.rows(); i += 17)
        problem.measured[i] *= 1.3;
    auto const mean_error = [&](LawFit const& fit) {
        double sum = 0;
        for (std::size_t i = 0; i < problem.rows(); ++i) {
            std::vector<double> const at{std::exp(problem.inputs.columns[0][i]),
                                         std::exp(problem.inputs.columns[1][i])};
            sum += std::abs(std::log(law_value(*problem.form, fit.values, at) / law_value(*problem.form, truth, at)));
        }
        return sum / static_cast<double>(problem.rows());
    };
    LawFit const robust = fitted(problem);
    problem.objective = fit_objective_from("lsq-log", "test");
    LawFit const squares = fitted(problem);
    CHECK(std::abs(robust.values[3] - truth[3]) < 0.02);
    CHECK(std::abs(robust.values[3] - truth[3]) < std::abs(squares.values[3] - truth[3]));
    CHECK(mean_error(robust) < 0.003);
    CHECK(mean_error(squares) > 3 * mean_error(robust));
}

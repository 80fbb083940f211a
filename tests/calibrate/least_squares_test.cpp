#include "calibrate/least_squares.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace sextant;

namespace {

struct Point {
    double x, y;
};

/// y = a x^b with a few per cent of noise, and some rows that are wrong by far.
std::vector<Point> power_law(double a, double b, int rows, int outliers) {
    std::mt19937_64 random(fixtures::seeded(7));
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<Point> points;
    for (int i = 1; i <= rows; ++i)
        points.push_back(
            {double(i), a * std::pow(i, b) * std::exp(noise(random)) * (i % 15 == 7 && i / 15 < outliers ? 10 : 1)});
    return points;
}

FitProblem power_problem(std::vector<Point> const& points) {
    return {.parameters = {{.name = "a", .start = 1, .low = 1e-3, .high = 1e3, .scale = FitScale::logarithmic},
                           {.name = "b", .start = 1, .low = -3, .high = 3}},
            .rows = points.size(),
            .residual =
                [&points](std::size_t i, std::span<double const> v) {
                    return std::log(v[0] * std::pow(points[i].x, v[1]) / points[i].y);
                },
            .weights = {}};
}

}  // namespace

TEST_CASE("fit_least_squares: a power law is found in spite of wrong rows") {
    auto const points = power_law(3.5, 0.7, 60, GENERATE(0, 4));
    FitResult const fit = fit_least_squares(power_problem(points), {.threads = 1});
    REQUIRE(fit.converged);
    CHECK(fit.values()[0] == Approx(3.5).epsilon(0.05));
    CHECK(fit.values()[1] == Approx(0.7).epsilon(0.02));
    REQUIRE(fit.parameters[1].spread);
    CHECK(*fit.parameters[1].spread < 0.05);
    CHECK_FALSE(fit.parameters[0].at_bound);
}

TEST_CASE("fit_least_squares: the spread shrinks with the square root of the rows") {
    auto const few = power_law(2, 1, 50, 0);
    auto const many = power_law(2, 1, 800, 0);
    // Of the exponent, whose factor is the scatter of log x, nearly the same for both: 4 for 16 times as many rows.
    double const a = *fit_least_squares(power_problem(few), {.threads = 1}).parameters[1].spread;
    double const b = *fit_least_squares(power_problem(many), {.threads = 1}).parameters[1].spread;
    CHECK(a / b > 2.8);
    CHECK(a / b < 7);
}

TEST_CASE("fit_least_squares: a parameter that no row depends on stays at its prior and is reported as such") {
    std::vector<double> const y{2, 2.01, 1.99};
    FitProblem problem{.parameters = {{.name = "level", .start = 1, .low = 0.1, .high = 10},
                                      {.name = "idle", .start = 0.5, .low = 0, .high = 1},
                                      {.name = "held", .start = 0.5, .low = 0, .high = 1, .prior = FitPrior{0.3, 0.1}}},
                       .rows = y.size(),
                       .residual = [&y](std::size_t i, std::span<double const> v) { return v[0] - y[i]; }};
    FitResult const fit = fit_least_squares(problem, {.starts = 1, .threads = 1});
    CHECK(fit.values()[0] == Approx(2.0).epsilon(0.01));
    CHECK_FALSE(fit.parameters[1].spread);
    CHECK(fit.values()[2] == Approx(0.3).margin(1e-6));
    CHECK(fit.parameters[0].is_identified);
    CHECK_FALSE(fit.parameters[1].is_identified);
    CHECK_FALSE(fit.parameters[2].is_identified);
}

TEST_CASE("fit_least_squares: a wide prior is no knowledge, however well the rows are met") {
    // Rows say the sum of two to 0.1 %, and neither.
    std::vector<double> const y{2, 2.002, 1.998, 2.001, 1.999};
    FitProblem const problem{
        .parameters = {{.name = "a", .start = 1, .low = -100, .high = 100, .prior = FitPrior{1, 30}},
                       {.name = "b", .start = 1, .low = -100, .high = 100, .prior = FitPrior{1, 30}}},
        .rows = y.size(),
        .residual = [&y](std::size_t i, std::span<double const> v) { return v[0] + v[1] - y[i]; }};
    for (FittedParameter const& parameter : fit_least_squares(problem, {.starts = 1, .threads = 1}).parameters) {
        REQUIRE(parameter.spread);
        CHECK(*parameter.spread < 0.1);
        CHECK_FALSE(parameter.is_identified);
    }
}

TEST_CASE("fit_least_squares: a solution outside of the bounds ends at the bound and says so") {
    auto const points = power_law(3.5, 0.7, 30, 0);
    FitProblem problem = power_problem(points);
    problem.parameters[1].high = 0.5;
    problem.parameters[1].start = 0.1;
    FitResult const fit = fit_least_squares(problem, {.threads = 1});
    CHECK(fit.values()[1] == Approx(0.5).epsilon(1e-3));
    CHECK(fit.parameters[1].at_bound);
}

TEST_CASE("fit_least_squares: the same input gives the same values for any number of threads") {
    auto const points = power_law(1.3, -0.4, 200, 10);
    auto const one = fit_least_squares(power_problem(points), {.threads = 1});
    auto const two = fit_least_squares(power_problem(points), {.threads = 2});
    CHECK(one.values()[0] == Approx(two.values()[0]).epsilon(1e-9));
    CHECK(one.values()[1] == Approx(two.values()[1]).epsilon(1e-9));
}

TEST_CASE("fit_least_squares: nothing to fit is refused") {
    std::vector<Point> const none;
    CHECK_THROWS_AS(fit_least_squares(power_problem(none), {}), InputError);
    auto const points = power_law(1, 1, 3, 0);
    FitProblem problem = power_problem(points);
    problem.parameters[0].start = 1e9;
    CHECK_THROWS_AS(fit_least_squares(problem, {}), InputError);
}

TEST_CASE("fit_least_squares: residuals that are worked out together give what they give row by row") {
    auto const points = power_law(3.5, 0.7, 60, 4);
    FitProblem const apart = power_problem(points);
    FitProblem together = power_problem(points);
    together.residual = {};
    together.residuals = [&](std::span<double const> values, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = apart.residual(i, values);
    };
    FitResult const a = fit_least_squares(apart, {.threads = 1});
    FitResult const b = fit_least_squares(together, {.threads = 2});
    // By one thread and by two: sums over the rows differ in the last digits.
    CHECK(a.values()[0] == Approx(b.values()[0]).epsilon(1e-9));
    CHECK(a.values()[1] == Approx(b.values()[1]).epsilon(1e-9));
    CHECK(a.cost == Approx(b.cost).epsilon(1e-9));
    CHECK(*a.parameters[1].spread == Approx(*b.parameters[1].spread).epsilon(1e-9));
}

TEST_CASE("fit_least_squares: a line that is nowhere the least at the start is found from the priors") {
    // The lesser of x and 5 + x / 5: at the start the second is 5 + 2 x, and no row depends on it.
    FitProblem const problem{
        .parameters = {{.name = "first", .start = 1.1, .low = 0.01, .high = 100, .scale = FitScale::logarithmic},
                       {.name = "second", .start = 2, .low = 0.01, .high = 100, .scale = FitScale::logarithmic}},
        .rows = 30,
        .residual =
            [](std::size_t i, std::span<double const> v) {
                auto const x = static_cast<double>(i + 1);
                return std::log(std::min(v[0] * x, 5 + v[1] * x) / std::min(x, 5 + 0.2 * x));
            },
        .weights = std::vector<double>(30, 100)};
    FitProblem with_priors = problem;
    for (FitParameter& parameter : with_priors.parameters)
        parameter.prior = FitPrior{parameter.start, 1.5};
    CHECK(fit_least_squares(with_priors, {.starts = 1, .threads = 1}).values()[1] == Approx(2).epsilon(0.01));
    CHECK(fit_least_squares(with_priors, {.starts = 5, .starts_from = StartsFrom::priors, .threads = 1}).values()[1] ==
          Approx(0.2).epsilon(0.02));
}

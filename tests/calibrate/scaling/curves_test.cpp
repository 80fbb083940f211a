#include "calibrate/scaling/batch_laws.hpp"
#include "calibrate/scaling/envelope.hpp"
#include "calibrate/scaling/isoflop.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace sextant;

namespace {

constexpr ChinchillaLaw law{.A = 480, .B = 2100, .E = 1.8, .alpha = 0.35, .beta = 0.35};

IsoflopRow run_of(double parameters, double flops) {
    double const tokens = flops / (6 * parameters);
    return {.parameters = parameters, .tokens = tokens, .flops = flops, .loss = loss_of(law, parameters, tokens)};
}

/// Sizes around the optimum of each budget.
std::vector<IsoflopRow> isoflops(std::vector<double> const& budgets) {
    std::vector<IsoflopRow> rows;
    for (double const budget : budgets)
        for (int k = -3; k <= 3; ++k)
            rows.push_back(run_of(compute_optimum(law, budget).parameters * std::pow(1.5, k), budget));
    return rows;
}

}  // namespace

TEST_CASE("isoflop: a symmetric law sampled around its optimum gives back the exponent") {
    IsoflopFit const fit = fit_isoflop(isoflops({1e18, 1e19, 1e20, 1e21}), {}, "test");
    CHECK(fit.vertices.size() == 4);
    CHECK(fit.size.exponent == Approx(0.5).margin(1e-6));
    CHECK(fit.size(1e20) == Approx(compute_optimum(law, 1e20).parameters).epsilon(0.02));
}

TEST_CASE("isoflop: budgets that cannot be judged are dropped with a reason") {
    std::vector<IsoflopRow> rows = isoflops({1e18, 1e19, 1e20});
    rows.push_back(run_of(1e9, 1e22));
    for (double const n : {1e7, 2e7, 4e7})  // all far below the optimum
        rows.push_back(run_of(n, 1e23));
    IsoflopFit const fit = fit_isoflop(rows, {.budgets = {1e18, 1e19, 1e20, 1e22, 1e23}}, "test");
    CHECK(fit.vertices[3].dropped == "fewer than three sizes");
    CHECK(fit.vertices[4].dropped == "the vertex lies outside the sampled sizes");
    CHECK(fit.rows == 21);
}

TEST_CASE("isoflop: one compute level is refused") {
    CHECK_THROWS_WITH(fit_isoflop(isoflops({1e20}), {}, "runs.csv"), contains("runs.csv: 1 compute level"));
    CHECK_THROWS_WITH(fit_isoflop({run_of(1e8, 1e19), run_of(1e9, 1e20)}, {}, "runs.csv"),
                      contains("0 compute levels"));
}

TEST_CASE("find_budgets: levels that only lie near each other are found at their middle") {
    std::vector<IsoflopRow> rows;
    for (double const budget : {1e19, 1e20, 1e21})
        for (int k = 0; k < 9; ++k)
            rows.push_back(run_of(1e8 * std::pow(1.4, k), budget * std::pow(10, 0.005 * (k - 4))));
    std::vector<double> const budgets = find_budgets(rows, 0.05);
    REQUIRE(budgets.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(budgets[i] == Approx(1e19 * std::pow(10, static_cast<double>(i))).epsilon(1e-9));
}

TEST_CASE("envelope: curves of a law give its exponent, and levels won by the last model do not count") {
    std::vector<IsoflopRow> rows;
    for (double n = 1e7; n < 2e10; n *= 1.3)
        for (double d = n; d < 500 * n; d *= 1.5)
            rows.push_back(run_of(n, 6 * n * d));
    EnvelopeFit const fit = fit_envelope(rows, {}, "test");
    CHECK(fit.size.exponent == Approx(0.5).margin(0.02));
    CHECK(fit.data.exponent == Approx(0.5).margin(0.02));
    double const largest = rows.back().parameters;
    for (IsoflopRow const& point : fit.points)
        CHECK(point.parameters < largest);
    CHECK_THROWS_WITH(fit_envelope({rows[0], rows[1]}, {}, "t"), contains("model sizes with two rows"));
    // A row belongs to one curve, and a curve to one size, whatever the order of the rows.
    std::reverse(rows.begin(), rows.end());
    std::size_t held = 0;
    double size = 0;
    for (auto const& curve : training_curves(rows, 1e-3)) {
        held += curve.size();
        CHECK(rows[curve.front()].parameters > size);
        size = rows[curve.front()].parameters;
        for (std::size_t const i : curve)
            CHECK(rows[i].parameters == size);
    }
    CHECK(held == rows.size());
}

TEST_CASE("critical batch: exact rows give the batch at the overhead") {
    std::vector<BatchRow> rows;
    for (double const n : {1e8, 1e9})
        for (double batch = 64; batch <= 8192; batch *= 2)
            rows.push_back({n, batch, 1000 + 4e6 / batch});
    CriticalBatchFit const fit = fit_critical_batch(rows, {.overhead = 0.2, .linear_from = 100}, "test");
    double const b = fit.sizes[0].batch_at_overhead;
    auto const steps = [](double batch) { return 1000 + 4e6 / batch; };
    CHECK(steps(b) == Approx(1.2 * steps(100) * 100 / b).epsilon(1e-9));
    CHECK(fit.at_overhead.exponent == Approx(0).margin(1e-9));
    CHECK_THROWS_WITH(fit_critical_batch({rows[0], rows[1], rows[2]}, {}, "t"), contains("one model size"));
    for (BatchRow& row : rows)
        row.steps = 1000 * row.batch;
    CHECK_THROWS(fit_critical_batch(rows, {}, "t"));
}

TEST_CASE("learning rate and batch: a grid around known optima gives back the laws") {
    std::vector<TuningRow> rows;
    for (double const n : {5e7, 2e8, 1e9})
        for (double const ratio : {10.0, 40.0, 160.0}) {
            double const d = ratio * n;
            double const best_rate = 1.8 * std::pow(n, -0.7) * std::pow(d, 0.3);
            double const best_batch = 0.6 * std::pow(d, 0.57);
            for (int i = -3; i <= 3; ++i)
                for (int k = -3; k <= 3; ++k)
                    rows.push_back({n, d, best_rate * std::pow(1.5, i), best_batch * std::pow(1.5, k),
                                    2.5 * (1 + 0.01 * (i * i + k * k))});
        }
    TuningLaws const laws = fit_tuning_laws(rows, 0.0025, "test");
    CHECK(laws.cells == 9);
    CHECK(laws.rows == 9);
    CHECK(laws.edges == 0);
    CHECK(laws.lr_by_parameters == Approx(-0.7).epsilon(1e-9));
    CHECK(laws.lr_by_tokens == Approx(0.3).epsilon(1e-9));
    CHECK(laws.lr_coefficient == Approx(1.8).epsilon(1e-7));
    CHECK(laws.batch_by_tokens.exponent == Approx(0.57).epsilon(1e-9));
    std::vector<TuningRow> along;
    for (TuningRow const& row : rows)
        if (row.tokens == 40 * row.parameters) along.push_back(row);
    CHECK_THROWS_WITH(fit_tuning_laws(along, 0.0025, "t"), contains("move together"));
}

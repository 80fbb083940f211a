#include "cost_models/serving/batch_occupancy.hpp"

#include "tests/catch.hpp"

#include <cmath>

using namespace sextant;

TEST_CASE("batch occupancy: places that never run out hold a Poisson number of requests") {
    auto const rate = GENERATE(0.01, 0.5, 3.0, 20.0);
    BatchOccupancy const batch = batch_occupancy(rate, 200, [](double n) { return n; });
    CHECK(batch.mean == Approx(rate).epsilon(1e-5));
    CHECK(batch.idle == Approx(std::exp(-rate)).epsilon(1e-3));
    CHECK(batch.wait / units::s < 1e-12);
    CHECK(batch.numbers[1] == Approx(rate * std::exp(-rate)).epsilon(1e-3));
}

TEST_CASE("batch occupancy: one place is M/D/1, several are Erlang's delay system but for equal services") {
    for (double const use : {0.2, 0.6, 0.9, 0.97}) {
        CAPTURE(use);
        BatchOccupancy const one = batch_occupancy(use, 1, [](double n) { return n; });
        CHECK(one.idle == Approx(1 - use));
        CHECK(one.mean == Approx(use));
        CHECK(one.wait / units::s == Approx(use / (2 * (1 - use))));
        // Erlang's formula by its recursion over the blocking probability.
        constexpr int places = 8;
        double const offered = use * places;
        double blocked = 1;
        for (int n = 1; n <= places; ++n)
            blocked = offered * blocked / (n + offered * blocked);
        double const delayed = blocked / (1 - use * (1 - blocked));
        BatchOccupancy const many = batch_occupancy(offered, places, [](double n) { return n; });
        double const exponential = delayed / (places * (1 - use));
        CHECK(many.mean == Approx(offered));
        CHECK(many.wait / units::s <= exponential * (1 + 1e-9));
        CHECK(many.wait / units::s >= 0.5 * exponential);
    }
}

TEST_CASE("batch occupancy: more places never make requests wait longer, a higher rate never less") {
    auto const leaving = [](double n) { return n / (1 + 0.02 * n); };  // steps that grow with the batch
    double last = 1e9;
    for (double const places : {10.0, 11.0, 16.0, 40.0, 300.0}) {
        double const wait = batch_occupancy(6, places, leaving).wait / units::s;
        CHECK(wait <= last);
        last = wait;
    }
    last = 0;
    for (double const rate : {1.0, 4.0, 6.0, 8.0}) {
        double const wait = batch_occupancy(rate, 10, leaving).wait / units::s;
        CHECK(wait >= last);
        last = wait;
    }
}

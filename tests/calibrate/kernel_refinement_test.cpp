#include "calibrate/kernel_refinement.hpp"

#include "calibrate/kernel_intervals.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <array>
#include <cmath>
#include <random>

using namespace sextant;

namespace {

ResidualGrid grid(std::vector<double> const& x, std::vector<double> const& y, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> values;
    for (std::size_t i = 0; i < x.size() * y.size(); ++i)
        values.push_back(fixtures::uniform(random, -1, 1));
    return {{{"x", x}, {"y", y}}, values};
}

}  // namespace

TEST_CASE("sum_of: two grids of other knots and ranges add up everywhere") {
    ResidualGrid const a = grid({0, 1, 3, 8}, {2, 4}, 1);
    ResidualGrid const b = grid({-2, 1, 2, 4}, {1, 3, 9}, 2);
    ResidualGrid const sum = sum_of(a, b);
    std::mt19937_64 random(fixtures::seeded(3));
    for (int i = 0; i < 500; ++i) {
        std::array const at{fixtures::uniform(random, -4, 12), fixtures::uniform(random, -4, 12)};
        CHECK(sum.value(at) == Approx(a.value(at) + b.value(at)).margin(1e-12));
    }
    CHECK(sum_of(a, {}).values() == a.values());
    CHECK(sum_of({}, b).values() == b.values());
}

TEST_CASE("faded: a grid stays as it is over the points, and is nothing from an octave beyond them on") {
    ResidualGrid const whole = grid({0, 1, 3, 8}, {2, 4}, 1);
    std::vector<ResidualPoint> const points{{.at = {0.5, 3}}, {.at = {4, 3}}};
    ResidualGrid const part = faded(whole, 0, points);
    std::mt19937_64 random(fixtures::seeded(3));
    for (int i = 0; i < 200; ++i) {
        std::array const inside{fixtures::uniform(random, 0.5, 4), 3.0};
        CHECK(part.value(inside) == Approx(whole.value(inside)).margin(1e-12));
        CHECK(part.value(std::array{inside[0], fixtures::uniform(random, 4, 9)}) == 0);
        CHECK(part.value(std::array{fixtures::uniform(random, 5, 9), 3.0}) == 0);
    }
    CHECK(std::abs(part.value(std::array{4.5, 3.0})) <= std::abs(whole.value(std::array{4.0, 3.0})));
    CHECK(faded({}, 0, points).empty());
}

TEST_CASE("hull_of: at every time the interval holds both") {
    std::vector<KernelInterval> const a{{0, {0.9, 1.1}}, {1e-5, {0.95, 1.02}}};
    std::vector<KernelInterval> const b{{0, {0.8, 1.05}}, {1e-4, {0.97, 1.2}}};
    std::vector<KernelInterval> const both = hull_of(a, b);
    REQUIRE(both.size() == 3);
    CHECK(both[0].factors.low == 0.8);
    CHECK(both[0].factors.high == 1.1);
    CHECK(both[1].from_seconds == 1e-5);
    CHECK(both[1].factors.low == 0.8);
    CHECK(both[1].factors.high == 1.05);
    CHECK(both[2].factors.low == 0.95);
    CHECK(both[2].factors.high == 1.2);
    CHECK(hull_of(a, {}).size() == 2);
}

#include "core/spec/residual_grid.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"

#include <array>
#include <limits>

using namespace sextant;

TEST_CASE("residual grid: linear between knots along each axis, constant beyond them") {
    // f(x, y) = x + 10 y is bilinear, so the grid reproduces it everywhere inside.
    ResidualGrid const grid({{"x", {0, 1, 4}}, {"y", {2, 3}}}, {20, 30, 21, 31, 24, 34});
    auto const at = [&](double x, double y) { return grid.value(std::array{x, y}); };
    CHECK(at(0, 2) == Approx(20));
    CHECK(at(2.5, 2.25) == Approx(25));
    CHECK(at(4, 3) == Approx(34));
    CHECK(at(-7, 99) == Approx(30));
    CHECK(at(100, 2.5) == Approx(29));
}

TEST_CASE("residual grid: weights add up to one and give the value") {
    ResidualGrid const grid({{"a", {0, 1}}, {"b", {0, 2}}, {"c", {1, 5}}}, {1, 2, 3, 4, 5, 6, 7, 8});
    std::array const at{0.3, 1.7, 4.0};
    double sum = 0;
    double value = 0;
    for (auto const& [i, w] : grid.weights(at)) {
        sum += w;
        value += w * grid.values()[i];
    }
    CHECK(sum == Approx(1));
    CHECK(value == Approx(grid.value(at)));
}

TEST_CASE("residual grid: it covers what lies between its outermost knots, an empty one nothing") {
    ResidualGrid const grid({{"x", {0, 4}}}, {1, 2});
    CHECK(grid.covers(std::array{4.0}));
    CHECK_FALSE(grid.covers(std::array{4.1}));
    CHECK_FALSE(ResidualGrid{}.covers(std::array{0.0}));
    CHECK(ResidualGrid{}.value(std::array{0.0}) == 0);
}

TEST_CASE("residual grid: knots that do not rise, too many axes and values that do not fit are refused") {
    CHECK_THROWS_AS(ResidualGrid({{"x", {0, 0}}}, {1, 2}), InputError);
    CHECK_THROWS_AS(ResidualGrid({{"x", {0}}}, {1}), InputError);
    CHECK_THROWS_AS(ResidualGrid({{"x", {0, 1}}}, {1}), InputError);
    CHECK_THROWS_AS(ResidualGrid({{"x", {0, 1}}}, {1, std::numeric_limits<double>::quiet_NaN()}), InputError);
    GridAxis const axis{"x", {0, 1}};
    CHECK_THROWS_AS(ResidualGrid({axis, axis, axis, axis, axis}, std::vector<double>(32, 0)), InputError);
}

#include "calibrate/residual_field.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace sextant;
using fixtures::uniform;

namespace {

/// Bends over the first coordinate, hardly over the second, not at all over the third.
double surface(double x, double y) { return 0.3 * std::sin(1.5 * x) + 0.02 * y; }

std::vector<ResidualPoint> drawn_points(std::mt19937_64& random, std::size_t count, double noise) {
    std::normal_distribution<double> error(0, noise);
    std::vector<ResidualPoint> points(count);
    for (ResidualPoint& p : points) {
        p.at = {uniform(random, 0, 8), uniform(random, 0, 8), uniform(random, 0, 8)};
        p.log_ratio = surface(p.at[0], p.at[1]) + error(random);
    }
    return points;
}

std::vector<GridAxis> axes() {
    std::vector<GridAxis> out{{"x", {}}, {"y", {0, 4, 8}}, {"z", {0, 8}}};
    for (double knot = 0; knot <= 8; knot += 0.5)
        out[0].knots.push_back(knot);
    return out;
}

}  // namespace

TEST_CASE("residual field: lengths are short where the residual bends and long where it does not") {
    std::mt19937_64 random(fixtures::seeded(1));
    std::vector<double> const usual{2, 2, 2};
    FieldScales const scales = find_scales(drawn_points(random, 300, 0.03), usual);
    CHECK(scales.lengths[0] < 3);
    CHECK(scales.lengths[1] > 1.5 * scales.lengths[0]);
    CHECK(scales.lengths[2] > 2 * scales.lengths[0]);
    CHECK(std::sqrt(scales.noise) == Approx(0.03).epsilon(0.35));
    CHECK(scales.variance > 10 * scales.noise);
}

TEST_CASE("residual field: points that were not seen lie near the grid, far from all it is zero") {
    std::mt19937_64 random(fixtures::seeded(2));
    std::vector<double> const usual{2, 2, 2};
    std::vector<ResidualPoint> const points = drawn_points(random, 400, 0.02);
    ResidualGrid const grid = field_grid(points, axes(), find_scales(points, usual));
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
        std::array const at{uniform(random, 0.5, 7.5), uniform(random, 0.5, 7.5), uniform(random, 0.5, 7.5)};
        sum += std::pow(grid.value(at) - surface(at[0], at[1]), 2);
    }
    CHECK(std::sqrt(sum / 200) < 0.03);  // of a surface with a deviation of 0.2

    // Two far groups of points: between them nothing is known.
    std::vector<ResidualPoint> apart(2);
    apart[0] = {.at = {0}, .log_ratio = 0.4};
    apart[1] = {.at = {100}, .log_ratio = -0.4};
    FieldScales const scales{.lengths = {2}, .variance = 0.1, .noise = 1e-4};
    ResidualGrid const line = field_grid(apart, {{"x", {0, 25, 50, 75, 100}}}, scales);
    CHECK(line.values()[0] == Approx(0.4).epsilon(0.01));
    CHECK(line.values()[2] == Approx(0).margin(1e-6));
    CHECK(line.values()[4] == Approx(-0.4).epsilon(0.01));
}

TEST_CASE("residual field: the order of the points decides nothing, and their noise is not followed") {
    std::mt19937_64 random(fixtures::seeded(3));
    std::vector<double> const usual{2, 2, 2};
    std::vector<ResidualPoint> points = drawn_points(random, 350, 0.02);
    FieldScales const scales = find_scales(points, usual);
    ResidualGrid const grid = field_grid(points, axes(), scales);
    std::shuffle(points.begin(), points.end(), random);
    CHECK(find_scales(points, usual).lengths == scales.lengths);
    CHECK(field_grid(points, axes(), scales).values() == grid.values());

    // The same place measured twice, 20 % apart: the mean of the two.
    std::vector<ResidualPoint> const twice{{.at = {1}, .log_ratio = 0.1}, {.at = {1}, .log_ratio = 0.3}};
    ResidualGrid const mean = field_grid(twice, {{"x", {0.9, 1.1}}}, {.lengths = {5}, .variance = 1, .noise = 0.01});
    CHECK(mean.value(std::array{1.0}) == Approx(0.2).epsilon(0.02));
}

TEST_CASE("residual field: one row far from all its neighbours is not followed, all others are") {
    std::mt19937_64 random(fixtures::seeded(5));
    std::vector<double> const usual{2, 2, 2};
    std::vector<ResidualPoint> points = drawn_points(random, 400, 0.03);
    FieldScales const before = find_scales(points, usual);
    CHECK(without_outliers(points, before, 3).size() == points.size());
    points[200].log_ratio += 2.9;  // 18 times its time
    points[300].log_ratio -= 0.7;
    FieldScales const with = find_scales(points, usual);
    std::vector<ResidualPoint> credible = without_outliers(points, with, 3);
    credible = without_outliers(points, find_scales(credible, usual), 3);
    CHECK(credible.size() == points.size() - 2);
    for (std::size_t const bad : {200, 300})
        CHECK(std::none_of(credible.begin(), credible.end(),
                           [&](ResidualPoint const& p) { return p.at == points[bad].at; }));
    // Too few to say what is usual.
    CHECK(without_outliers(std::span(points).subspan(195, 10), with, 3).size() == 10);
}

TEST_CASE("residual field: what sticks out is levelled, and the order and all others stay") {
    std::mt19937_64 random(fixtures::seeded(9));
    std::vector<ResidualPoint> points = drawn_points(random, 40, 0.01);
    points[7].log_ratio = 3;
    points[8].log_ratio = -3;
    std::vector<ResidualPoint> const level = levelled(points);
    for (std::size_t i = 0; i < points.size(); ++i)
        if (i == 7 || i == 8)
            CHECK(std::abs(level[i].log_ratio) < 2.5);
        else
            CHECK(level[i].log_ratio == points[i].log_ratio);
}

TEST_CASE("residual field: a twin that bends alike tells of places without points, one that does not is not believed") {
    std::mt19937_64 random(fixtures::seeded(4));
    std::vector<double> const usual{2, 2, 2};
    auto const error_beyond = [&](double factor) {
        std::vector<ResidualPoint> points = drawn_points(random, 150, 0.01);
        std::erase_if(points, [](ResidualPoint const& p) { return p.at[0] > 4; });
        for (ResidualPoint twin : drawn_points(random, 150, 0.01)) {
            twin.of_twin = true;
            twin.log_ratio *= factor;
            points.push_back(twin);
        }
        FieldScales const scales = find_scales(points, usual);
        ResidualGrid const grid = field_grid(points, axes(), scales);
        double sum = 0;
        for (int i = 0; i < 200; ++i) {
            std::array const at{uniform(random, 5, 7.5), uniform(random, 0.5, 7.5), uniform(random, 0.5, 7.5)};
            sum += std::pow(grid.value(at) - surface(at[0], at[1]), 2);
        }
        return std::pair(std::sqrt(sum / 200), scales.twins);
    };
    auto const [alike, trust] = error_beyond(1);
    auto const [opposite, distrust] = error_beyond(-1);
    CHECK(alike < 0.08);  // of a surface with a deviation of 0.2
    CHECK(trust > 0.9);
    CHECK(distrust < 0.5);
    CHECK(opposite > alike);
}

TEST_CASE("residual field: knots beyond the points are left out, and without points there is none") {
    std::vector<ResidualPoint> const points{{.at = {2.2}, .log_ratio = 0.1}, {.at = {3.7}, .log_ratio = 0.2}};
    FieldScales const scales{.lengths = {2}, .variance = 0.1, .noise = 1e-3};
    ResidualGrid const grid = field_grid(points, {{"x", {0, 1, 2, 3, 4, 5, 6}}}, scales);
    CHECK(grid.axes().front().knots == std::vector<double>{2, 3, 4});
    std::vector<double> const usual{2};
    CHECK_THROWS_AS(find_scales({}, usual), InputError);
    CHECK_THROWS_AS(field_grid({}, {{"x", {0, 1}}}, scales), InputError);
}

#include "cli/sweep/grid.hpp"
#include "cli/sweep/sensitivity.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace sextant;
using namespace sextant::cli;

namespace {

std::vector<std::string> values(std::string const& text) { return parse_axis("a=" + text, "--axis").values; }
using Texts = std::vector<std::string>;

SweepAxis numbers(std::string name, Texts list) { return {.name = std::move(name), .values = std::move(list)}; }

/// The figure at every point of a grid, from the positions on the axes.
template <class Figure>
std::vector<double> on_grid(std::vector<SweepAxis> const& axes, std::vector<std::vector<std::size_t>> const& groups,
                            Figure const& figure) {
    std::vector<double> out;
    for (std::int64_t point = 0; point < point_count(axes, groups); ++point) {
        std::vector<double> x;
        std::vector<std::size_t> const at = positions_at(axes, groups, point);
        for (std::size_t i = 0; i < axes.size(); ++i)
            x.push_back(std::stod(axes[i].values[at[i]]));
        out.push_back(figure(x));
    }
    return out;
}

AxisEffect const& effect_of(Sensitivity const& s, std::string const& axis) {
    for (AxisEffect const& effect : s.effects)
        if (effect.axis == axis) return effect;
    throw std::runtime_error("no axis " + axis);
}

}  // namespace

TEST_CASE("an axis lists what its ranges and lists say, and no range passes its end") {
    CHECK(values("64..4096x2") == Texts{"64", "128", "256", "512", "1024", "2048", "4096"});
    CHECK(values("64..4095x2").back() == "2048");
    CHECK(values("1..8") == Texts{"1", "2", "3", "4", "5", "6", "7", "8"});
    CHECK(values("1..8+2") == Texts{"1", "3", "5", "7"});
    CHECK(values("0.1..0.5+0.1") == Texts{"0.1", "0.2", "0.3", "0.4", "0.5"});
    CHECK(values("1e21..1e24x10") == Texts{"1e+21", "1e+22", "1e+23", "1e+24"});
    CHECK(values("-2..0") == Texts{"-2", "-1", "0"});
    CHECK(values("x0.25..4x4") == Texts{"x0.25", "x1", "x4"});
    CHECK(values("25..100x2 GB/s") == Texts{"25 GB/s", "50 GB/s", "100 GB/s"});
    CHECK(values("1..3,8..16x2,100") == Texts{"1", "2", "3", "8", "16", "100"});
    CHECK(values("h100-sxm, b200-sxm") == Texts{"h100-sxm", "b200-sxm"});
    CHECK(values("1,2;3,4") == Texts{"1,2", "3,4"});
    CHECK(values("../a/config.json,b..c") == Texts{"../a/config.json", "b..c"});
    CHECK(values("5..5") == Texts{"5"});
    CHECK(parse_axis("--gpus=8", "--axis").name == "gpus");
}

TEST_CASE("what is no axis is refused with the reason") {
    auto const [text, part] = GENERATE(table<char const*, char const*>({
        {"gpus", "is no axis"},
        {"=3", "is no axis"},
        {"", "is no axis"},
        {"-n=3", "is no axis"},
        {"a=", "has no values"},
        {"a=1,,2", "empty entry"},
        {"a=1,", "empty entry"},
        {"a=8..1", "ends before it begins"},
        {"a=8..64x1", "ratio must be above 1"},
        {"a=8..64x0.5", "ratio must be above 1"},
        {"a=0..64x2", "must begin above 0"},
        {"a=1..4+0", "step must be above 0"},
        {"a=1..4+-1", "step must be above 0"},
        {"a=1..", "no number after"},
        {"a=1..4x", "no number for its step"},
        {"a=1..1e12", "more than 100000 values"},
        {"a=1..1e308x1.0000001", "more than 100000 values"},
        {"a=1,2,1", "given twice"},
        {"a=1..4,2", "given twice"},
        {"a=1\n2", "control character"},
    }));
    INFO(text);
    CHECK_THROWS_AS(parse_axis(text, "--axis"), InputError);
    CHECK_THROWS_WITH(parse_axis(text, "--axis"), contains(part));
}

TEST_CASE("every setting of a grid is one point, and the last dimension varies fastest") {
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2"}), numbers("b", {"1", "2", "3"}),
                                      numbers("c", {"7", "8", "9"})};
    auto const groups = axis_groups(axes, {"c,b"}, "--zip");
    REQUIRE(groups.size() == 2);
    CHECK(point_count(axes, groups) == 6);
    std::set<std::vector<std::size_t>> seen;
    for (std::int64_t point = 0; point < 6; ++point) {
        auto const at = positions_at(axes, groups, point);
        CHECK(at[1] == at[2]);
        seen.insert(at);
    }
    CHECK(seen.size() == 6);
    CHECK(positions_at(axes, groups, 1) == std::vector<std::size_t>{0, 1, 1});
    CHECK_THROWS_WITH(axis_groups(axes, {"a,b"}, "--zip"), contains("a has 2 values and b has 3"));
    CHECK_THROWS_WITH(axis_groups(axes, {"a,d"}, "--zip"), contains("no axis 'd'"));
    CHECK_THROWS_WITH(axis_groups(axes, {"b,c", "c,a"}, "--zip"), contains("named twice"));
}

TEST_CASE("of a sum each axis explains its own share of the variance, and there are no interactions") {
    // Var of {0, 1, 2} is 2/3, of {0, 3} 9/4; the sum has 35/12.
    std::vector<SweepAxis> const axes{numbers("a", {"0", "1", "2"}), numbers("b", {"0", "3"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    Sensitivity const s =
        sensitivity_of("y", axes, groups, on_grid(axes, groups, [](auto const& x) { return x[0] + x[1]; }));
    CHECK(s.mean == Approx(2.5));
    CHECK(s.deviation == Approx(std::sqrt(35.0 / 12)));
    CHECK(s.effects.front().axis == "b");
    CHECK(effect_of(s, "a").first_order == Approx(8.0 / 35));
    CHECK(effect_of(s, "b").first_order == Approx(27.0 / 35));
    for (AxisEffect const& e : s.effects)
        CHECK(e.total == Approx(e.first_order));
    CHECK(effect_of(s, "b").least.value() == Approx(1));
    CHECK(effect_of(s, "b").most.value() == Approx(4));
    CHECK(effect_of(s, "a").pairs == 6);
    CHECK(effect_of(s, "b").pairs == 3);
    CHECK(effect_of(s, "b").most_at == "3");
    CHECK_FALSE(effect_of(s, "a").elasticity);  // 0 has no logarithm
}

TEST_CASE("holes of one axis are no effect of another") {
    // What a has no part in: with a = 2 the points of great b are missing, so that means over all points differ.
    double const none = std::numeric_limits<double>::quiet_NaN();
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2"}), numbers("b", {"1", "10", "100"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    auto figures = on_grid(axes, groups, [](auto const& x) { return x[1]; });
    figures[4] = figures[5] = none;
    Sensitivity const s = sensitivity_of("y", axes, groups, figures);
    CHECK(s.used == 4);
    AxisEffect const& a = effect_of(s, "a");
    CHECK(a.pairs == 1);
    CHECK(a.first_order == Approx(0).margin(1e-12));
    CHECK(a.total == Approx(0).margin(1e-12));
    CHECK(a.least.value() == Approx(a.most.value()));
    AxisEffect const& b = effect_of(s, "b");
    CHECK(b.pairs == 3);
    CHECK(b.first_order == Approx(b.total));
    CHECK(b.most.value() - b.least.value() == Approx(99));
}

TEST_CASE("effects of a sum are found whatever points of the grid are there, of values that lines connect") {
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2", "5", "7"}), numbers("b", {"3", "11", "20"}),
                                      numbers("c", {"1", "4"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    auto const seed = GENERATE(take(20, random(1, 100000)));
    std::mt19937 draw(static_cast<unsigned>(seed));
    auto const figures = on_grid(axes, groups, [&](auto const& x) {
        return draw() % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : 4 * x[0] + x[1] - 9 * x[2];
    });
    Sensitivity const s = sensitivity_of("y", axes, groups, figures);
    CAPTURE(seed);
    for (auto const& [name, slope] : {std::pair{"a", 4.0}, {"b", 1.0}, {"c", -9.0}}) {
        AxisEffect const& e = effect_of(s, name);
        if (e.pairs == 0) {
            CHECK_FALSE(e.least);
            continue;
        }
        double const between = std::stod(e.most_at) - std::stod(e.least_at);
        CHECK(*e.most - *e.least == Approx(slope * between));
        CHECK(e.first_order == Approx(e.total));
        CHECK(e.total <= 1 + 1e-12);
    }
}

TEST_CASE("values that no line has together are not compared, and an axis without pairs has no effect") {
    double const none = std::numeric_limits<double>::quiet_NaN();
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2"}), numbers("b", {"1", "2"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    Sensitivity const diagonal = sensitivity_of("y", axes, groups, {3, none, none, 8});
    for (AxisEffect const& e : diagonal.effects) {
        CHECK(e.pairs == 0);
        CHECK_FALSE(e.least);
        CHECK(e.total == 0);
    }
    // a: 1 and 2 in one line, 3 and 4 in two others.
    std::vector<SweepAxis> const longer{numbers("a", {"1", "2", "3", "4"}), numbers("b", {"1", "2", "3"})};
    Sensitivity const split = sensitivity_of("y", longer, axis_groups(longer, {}, "--zip"),
                                             {1, none, none, 2, none, none, none, 50, 60, none, 55, 65});
    AxisEffect const& a = effect_of(split, "a");
    CHECK(a.pairs == 3);
    CHECK(a.least_at == "3");
    CHECK(a.most_at == "4");
    CHECK(*a.most - *a.least == Approx(5));
}

TEST_CASE("of a product of centred axes all variance is interaction") {
    std::vector<SweepAxis> const axes{numbers("a", {"-1", "1"}), numbers("b", {"-1", "1"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    Sensitivity const s =
        sensitivity_of("y", axes, groups, on_grid(axes, groups, [](auto const& x) { return x[0] * x[1]; }));
    for (AxisEffect const& e : s.effects) {
        CHECK(e.first_order == Approx(0).margin(1e-12));
        CHECK(e.total == Approx(1));
    }
}

TEST_CASE("the elasticity of a power law is its exponent, also where points are missing") {
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2", "4", "8"}), numbers("b", {"3", "5", "11"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    auto figures = on_grid(axes, groups, [](auto const& x) { return 7 * std::pow(x[0], 1.5) / x[1]; });
    if (GENERATE(false, true)) figures[1] = figures[5] = std::numeric_limits<double>::quiet_NaN();
    Sensitivity const s = sensitivity_of("y", axes, groups, figures);
    REQUIRE(effect_of(s, "a").elasticity);
    CHECK(*effect_of(s, "a").elasticity == Approx(1.5));
    CHECK(*effect_of(s, "b").elasticity == Approx(-1));
}

TEST_CASE("shares are between none and all, first-order ones not above total ones, whatever the figure") {
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2", "3"}), numbers("b", {"1", "2"}),
                                      numbers("c", {"1", "2", "4", "9"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    auto const seed = GENERATE(take(20, random(1.0, 1000.0)));
    Sensitivity const s = sensitivity_of("y", axes, groups, on_grid(axes, groups, [seed](auto const& x) {
                                             return std::sin(seed * x[0] + x[1] * x[2]) + x[2] * std::cos(seed * x[1]);
                                         }));
    double sum = 0;
    for (AxisEffect const& e : s.effects) {
        CHECK(e.first_order >= -1e-12);
        CHECK(e.first_order <= e.total + 1e-12);
        CHECK(e.total <= 1 + 1e-12);
        CHECK(e.least.value() <= e.most.value());
        sum += e.first_order;
    }
    CHECK(sum <= 1 + 1e-9);
}

TEST_CASE("a figure that no point has, or that does not vary, gives no shares and no division by zero") {
    std::vector<SweepAxis> const axes{numbers("a", {"1", "2"})};
    auto const groups = axis_groups(axes, {}, "--zip");
    double const none = std::numeric_limits<double>::quiet_NaN();
    CHECK(sensitivity_of("y", axes, groups, {none, none}).used == 0);
    Sensitivity const flat = sensitivity_of("y", axes, groups, {4, 4});
    CHECK(flat.effects.front().first_order == 0);
    CHECK(flat.effects.front().total == 0);
    CHECK(*flat.effects.front().elasticity == Approx(0).margin(1e-12));
}

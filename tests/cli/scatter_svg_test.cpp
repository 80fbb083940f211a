#include "cli/view/scatter_svg.hpp"

#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/seeds.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

using namespace sextant::cli;

namespace {

std::size_t count(std::string const& text, std::string const& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++n;
    return n;
}

}  // namespace

TEST_CASE("scatter: a point on the diagonal lies on it, and the axes hold every point") {
    std::string const svg =
        scatter_svg({.title = "a < b & c", .subtitle = "s", .series = {{"one", {{1e-5, 1e-5}, {1e-3, 2e-3}}}}});
    CHECK_THAT(svg, contains("a &lt; b &amp; c"));
    CHECK_THAT(svg, contains("10 us"));
    CHECK_THAT(svg, contains("10 ms"));
    // 10 us is the lower left corner of 10 us to 10 ms: x = 78, y = 64 + 480.
    CHECK_THAT(svg, contains("M78 544h0"));
    CHECK_THAT(svg, contains("one (2)"));
    CHECK(count(svg, "<svg") == 1);
    CHECK(count(svg, "</svg>") == 1);
}

TEST_CASE("scatter: many points on few pixels stay a small file, none is outside of the frame") {
    std::mt19937_64 random(sextant::fixtures::seeded(3));
    std::uniform_real_distribution<double> decades(-6, 0);
    ScatterSeries series{.name = "many", .points = {}};
    for (int i = 0; i < 100'000; ++i) {
        double const measured = std::pow(10.0, decades(random));
        series.points.emplace_back(measured, 1.01 * measured);
    }
    std::string const svg = scatter_svg({.title = "t", .subtitle = "", .series = {series}});
    CHECK(svg.size() < 60'000);
    for (auto at = svg.find('M'); at != std::string::npos; at = svg.find('M', at + 1)) {
        double const x = std::strtod(svg.c_str() + at + 1, nullptr);
        CHECK(x >= 78);
        CHECK(x <= 78 + 480);
    }
    CHECK_THAT(scatter_svg({.title = "empty", .subtitle = "", .series = {}}), contains("empty"));
}

TEST_CASE("scatter: file names are plain whatever the source") {
    CHECK(file_name_of("github.com/a b/c?d") == "github.com_a_b_c_d");
    CHECK(file_name_of("../../etc") == "etc");
    CHECK(file_name_of("...") == "plot");
    CHECK(file_name_of(std::string(500, 'x')).size() < 120);
}

TEST_CASE("validate --plots: one picture per source and one of all, and the ten worst rows with a reason") {
    ScratchFolder const folder("plots");
    std::string const data = SEXTANT_SOURCE_DIR "/tests/data/gemm_excerpt.csv";
    auto const run = run_sextant({"validate", "kernels", data, "--plots", folder.path("p"), "--format", "markdown"});
    REQUIRE(run.code == 0);
    CHECK_THAT(run.err, contains("plots in"));
    CHECK(std::filesystem::exists(folder.path("p") + "/overall.svg"));
    auto const all = std::distance(std::filesystem::directory_iterator(folder.path("p")), {});
    CHECK(all > 2);
    CHECK_THAT(run.out, contains("The ten rows that are off by the largest factors"));
    CHECK_THAT(run.out, contains("gemm_excerpt.csv line"));
    CHECK(run_sextant({"validate", "kernels", data, "--plots", folder.file("file", "x")}).code == 2);
}

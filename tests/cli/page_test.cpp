#include "cli/page/page.hpp"
#include "cli/page/html_text.hpp"
#include "cli/page/page_cells.hpp"
#include "cli/page/plotting_library.hpp"
#include "cli/simulate/timeline_chart.hpp"
#include "cli/unavailable.hpp"
#include "tests/catch.hpp"
#include "tests/cli/questions.hpp"

#include <limits>

using namespace sextant::cli;

namespace {

constexpr char const* hostile = "</script><img src=x onerror=\"alert(1)\">'&<!--\xe2\x80\xa8\xff\x01";

/// What a page says apart from its scripts and style, which are ours.
std::string without_assets(std::string const& page) {
    std::size_t const begin = page.find("<body>");
    return page.substr(begin, page.find("<script nonce", begin) - begin);
}

Page page_with(std::string const& name) {
    BarChart const bars{
        .categories = {name}, .series = {{.name = name, .role = name, .values = {1}}}, .x = {.title = name}};
    PageTable const table{
        .title = name, .note = name, .columns = {{.header = name, .hint = name}}, .rows = {{{name, 1.0}}}};
    return {.command = name,
            .title = name,
            .lines = {name},
            .verdict = name,
            .figures = {{name, name, name}},
            .blocks = {Chart{.title = name, .note = name, .body = bars}, table, PageList{name, {name}},
                       PagePairs{name, {{name, name}}}, PageText{name, name}}};
}

std::size_t count_of(std::string const& text, std::string const& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("html: what has a meaning in HTML is written as it is read") {
    CHECK(html("a<b> & \"c\" 'd'") == "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    CHECK(html(std::string("x\0\n\x7fy", 5)) == "x   y");
    CHECK(html("\xe2\x89\xa4 80 %") == "\xe2\x89\xa4 80 %");
}

TEST_CASE("script_json: nothing ends the element, and the JSON stays the same") {
    std::string const json = Json({hostile, "a<b>&"}).dump(-1, ' ', true, Json::error_handler_t::replace);
    std::string const written = script_json(json);
    CHECK(written.find_first_of("<>&") == std::string::npos);
    CHECK(Json::parse(written) == Json::parse(json));
}

TEST_CASE("chart_json: numbers have six digits, what is not finite is a gap") {
    Chart const chart{.title = "t",
                      .note = "n",
                      .body = PointChart{.series = {{.name = hostile,
                                                     .x = {1.0 / 3, std::numeric_limits<double>::infinity()},
                                                     .y = {std::numeric_limits<double>::quiet_NaN(), 1e300}}},
                                         .x = {},
                                         .y = {}}};
    Json const json = Json::parse(chart_json(chart));
    CHECK(json["kind"] == "points");
    CHECK(json["series"][0]["x"][0] == 0.333333);
    CHECK(json["series"][0]["x"][1].is_null());
    CHECK(json["series"][0]["y"][0].is_null());
    CHECK(json["series"][0]["y"][1] == 1e300);
}

TEST_CASE("html_page: a hostile name adds no element, wherever it stands") {
    std::string const plain = without_assets(html_page(page_with("name")));
    std::string const page = without_assets(html_page(page_with(hostile)));
    CHECK(count_of(page, "<") == count_of(plain, "<"));
    auto const quotes = [](std::string const& text) { return count_of(text, "\"") - count_of(text, "\\\""); };
    CHECK(quotes(page) == quotes(plain));
    CHECK(count_of(page, "<img") == 0);
    CHECK(count_of(page, "&lt;img") > 10);
}

TEST_CASE("html_page: every script of the page carries the nonce that its policy asks for, and nothing is fetched") {
    std::string const page = html_page(page_with("name"));
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(count_of(page, "default-src 'none'") == 1);
    CHECK(count_of(page, "unsafe-eval") == 0);
    std::string const ours = without_assets(page) + page.substr(0, page.find("<body>"));
    CHECK(count_of(ours, "http://") + count_of(ours, "https://") + count_of(ours, " src=") == 0);
    if (!plotting_library().empty()) CHECK(count_of(page, "Licensed under the MIT license") >= 1);
}

TEST_CASE("html_page: what scrolls is reached by keys and named after its title") {
    std::string const page = without_assets(html_page(page_with("a \"wide\" table")));
    std::string const box = "class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"a &quot;wide&quot; table\">";
    CHECK(count_of(page, "class=\"scroll\"") == 2);  // the table and the text
    CHECK(count_of(page, box) == 2);
}

TEST_CASE("--format html is a page of the question, or says with code 3 what is missing") {
    Arguments const question{"estimate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--tp", "2",
                             "--dp",     "4",       "--zero",       "1"};
    RunResult const result = run_sextant(question + Arguments{"--format", "html"});
    if (plotting_library().empty()) {
        CHECK(result.code == 3);
        CHECK(result.out.empty());
        CHECK_THAT(result.err, contains("scripts/python-env"));
        CHECK_THROWS_AS(require_plotting_library(), UnavailableError);
        return;
    }
    REQUIRE(result.code == 0);
    Json const json = report(question);
    std::string const page = without_assets(result.out);
    CHECK_THAT(page, contains("llama-3.1-8b on 8 x h100-sxm"));
    CHECK_THAT(page, contains("MFU"));
    CHECK_THAT(page, contains(json["graph_digest"].get<std::string>()));
    for (Json const& assumption : json["assumptions"])
        CHECK_THAT(page, contains(html(assumption.get<std::string>())));
}

TEST_CASE("numbers in tables of pages are whole up to a million, and powers of ten only beyond") {
    CHECK(number_cell("{:.4g}", 10553.7).text == "10554");
    CHECK(number_cell("{:.4g}", -34230).text == "-34230");
    CHECK(number_cell("{:.4g}", 662.71).text == "662.7");
    CHECK(number_cell("{:.3g}", 2e-7).text == "2e-07");
    CHECK(number_cell("{:.4g}", 1.88e10).text == "1.88e+10");
    CHECK(number_cell("{:.4g}", std::numeric_limits<double>::infinity()).text == "-");
}

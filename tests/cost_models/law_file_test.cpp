#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "cost_models/scaling/published_laws.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace sextant;

namespace {

std::string const plain = R"({"format": "scaling-law", "version": 1, "law": "chinchilla", "title": "t",
 "basis": "fitted", "source": "s", "parameters": {"A": 400, "B": 2000, "E": 1.8, "alpha": 0.34, "beta": 0.36}})";

std::string changed(std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

void check_refused(std::string const& text, std::string const& part) {
    CAPTURE(text);
    try {
        (void)parse_fitted_law(text, "law.json");
        FAIL("was read");
    } catch (InputError const& error) {
        CHECK_THAT(error.what(), contains(part));
        CHECK_THAT(error.what(), contains("law.json"));
    }
}

}  // namespace

TEST_CASE("law files: every law of the catalogue comes back to the last bit", "[scaling]") {
    auto const laws = published_laws();
    CHECK(laws.size() >= 20);
    CHECK(laws.front().name == default_scaling_law);
    for (auto const& [name, law] : laws) {
        CAPTURE(name);
        CHECK_FALSE(law.title.empty());
        CHECK_FALSE(law.source.empty());
        FittedLaw const again = parse_fitted_law(fitted_law_text(law), name);
        CHECK(again.law == law.law);
        REQUIRE(again.names.size() == law.names.size());
        for (std::size_t i = 0; i < law.names.size(); ++i)
            CHECK(again.value(law.names[i]) == law.values[i]);
        CHECK(again.resamples == law.resamples);
        CHECK(again.ranges == law.ranges);
        CHECK(again.warnings == law.warnings);
        CHECK(again.counting == law.counting);
        if (has_chinchilla_form(law)) CHECK(std::isfinite(compute_optimum(chinchilla_of(law, name), 1e24).loss));
    }
}

TEST_CASE("law files: resamples in another order of names, keys of a fit's report", "[scaling]") {
    std::string const text = changed(plain, "}}", R"(}, "objective": 0.1, "intervals": {"A": [1, 2]}, "rows_used": 240,
        "resamples": {"names": ["beta", "alpha", "E", "B", "A"], "rows": [[0.3, 0.4, 1.7, 1500, 500]]}})");
    FittedLaw const law = parse_fitted_law(text, "law.json");
    REQUIRE(law.resamples.size() == 1);
    CHECK(law.resample(0).value("A") == 500);
    CHECK(law.resample(0).value("beta") == 0.3);
    CHECK(chinchilla_resamples(law).front().E == 1.7);
}

TEST_CASE("law files: what cannot be used is refused with the place", "[scaling]") {
    check_refused("", "law.json");
    check_refused(plain.substr(0, 80), "law.json");
    check_refused(changed(plain, "scaling-law", "model"), "format");
    check_refused(changed(plain, "\"version\": 1", "\"version\": 2"), "version");
    check_refused(changed(plain, "\"fitted\"", "\"guessed\""), "basis");
    check_refused(changed(plain, "400", "\"x\""), "parameters.A");
    check_refused(changed(plain, "400", "1e999"), "law.json");
    check_refused(changed(plain, "\"source\"", "\"sauce\""), "source");
    check_refused(changed(plain, "}}", R"(}, "colour": 1})"), "colour");
    check_refused(changed(plain, "}}", R"(}, "ranges": {"flops": [3, 1]}})"), "ranges.flops");
    check_refused(changed(plain, "}}", R"(}, "resamples": {"names": ["A"], "rows": []}})"), "resamples");
    check_refused(
        changed(plain, "}}", R"(}, "resamples": {"names": ["A", "B", "E", "alpha", "beta"], "rows": [[1, 2, 3]]}})"),
        "rows[0]");
    std::string const names = R"("names": ["A", "B", "E", "alpha", "beta"])";
    check_refused(changed(plain, "}}", R"(}, "resamples": {)" + names + R"(, "rows": 1}})"),
                  "resamples.rows: is not a list");
    check_refused(changed(plain, "}}", R"(}, "resamples": {)" + names + R"(, "rows": [7]}})"),
                  "rows[0]: is not a list");
    check_refused(changed(plain, "}}", R"(}, "resamples": {)" + names + R"(, "rows": [[1, 2, 3, 4, "x"]]}})"),
                  "rows[0][4]: is not a finite number");
    check_refused(changed(plain, "}}", R"(}, "resamples": [1]})"), "has no names and rows");
    check_refused(changed(plain, plain.substr(plain.find("\"A\"")), "}}"), "parameters: is empty");
    CHECK_THROWS_AS(find_scaling_law("/nowhere/law.json", "--law"), InputError);
}

TEST_CASE("law files: parameters and resamples have a meaning in their form", "[scaling]") {
    auto const with = [](std::string const& rows) {
        return changed(plain, "}}",
                       R"(}, "resamples": {"names": ["A", "B", "E", "alpha", "beta"], "rows": [)" + rows + "]}}");
    };
    std::string const good = "[400, 2000, 1.8, 0.34, 0.36]";
    check_refused(changed(plain, "400", "-400"), "parameters.A: -400");
    check_refused(changed(plain, "1.8", "-1.8"), "parameters.E: -1.8");
    check_refused(with(good + ",[400, -1, 1.8, 0.34, 0.36]"), "resamples.rows[1]: B is -1");
    check_refused(changed(plain, "chinchilla", "chinchila"), "did you mean 'chinchilla'");
    check_refused(changed(plain, "}}", R"(}, "ranges": {"flops": [-3, 1]}})"), "ranges.flops");
    CHECK(parse_fitted_law(with(good), "law.json").warnings.empty());
    // A bootstrap may turn an exponent round: such a resample has no optimum, which is said, once.
    FittedLaw const law = parse_fitted_law(with(good + ",[400, 2000, 1.8, -0.01, 0.36]," + good), "law.json");
    REQUIRE(law.warnings.size() == 1);
    CHECK_THAT(law.warnings.front(), contains("1 of 3 resamples"));
    CHECK(chinchilla_resamples(law).size() == 2);
    CHECK(parse_fitted_law(fitted_law_text(law), "law.json").warnings == law.warnings);
    CHECK_NOTHROW(parse_fitted_law(changed(plain, "1.8", "0"), "law.json"));  // no floor
    FittedLaw const one_size = parse_fitted_law(changed(plain, "}}", R"(}, "ranges": {"flops": [3, 3]}})"), "law.json");
    CHECK(one_size.ranges.at("flops") == std::pair{3.0, 3.0});
}

TEST_CASE("law files: an unknown name offers the nearest, a law without an optimum says why", "[scaling]") {
    try {
        (void)find_scaling_law("hoffman-tex", "--law");
        FAIL("was found");
    } catch (InputError const& error) {
        CHECK_THAT(error.what(), contains("did you mean 'hoffmann-tex'"));
    }
    CHECK_THROWS_AS(chinchilla_of(find_scaling_law("clark-s-base", "--law"), "--law"), InputError);
    CHECK_THROWS_AS(chinchilla_of(parse_fitted_law(changed(plain, "0.34", "-0.34"), "law.json"), "--law"), InputError);
    CHECK_THROWS_AS(parse_fitted_law(plain, "law.json").value("gamma"), InputError);
}

#include "cli/view/percent_text.hpp"

#include "tests/catch.hpp"

using namespace sextant::cli;

TEST_CASE("percents that round to nothing have no minus") {
    CHECK(percent(-1e-9) == "0.0 %");
    CHECK(percent(-0.0) == "0.0 %");
    CHECK(percent(-0.004, 0) == "0 %");
    CHECK(signed_percent(-1e-9) == "+0.0 %");
    CHECK(signed_percent(-0.0004) == "+0.0 %");
    CHECK(signed_percent(0) == "+0.0 %");
    auto const change = GENERATE(take(1000, random(-0.01, 0.01)));
    auto const digits = GENERATE(0, 1, 2);
    CAPTURE(change, digits);
    for (std::string const& text : {percent(change, digits), signed_percent(change, digits)})
        if (text.find_first_of("123456789") == std::string::npos) CHECK(text.find('-') == std::string::npos);
}

TEST_CASE("percents keep their sign and digits") {
    CHECK(percent(0.5312) == "53.1 %");
    CHECK(percent(-0.25, 0) == "-25 %");
    CHECK(signed_percent(0.024) == "+2.4 %");
    CHECK(signed_percent(-0.0006) == "-0.1 %");
}

#include "core/spec/release.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace sextant;

TEST_CASE("a release is a year and a month, written as it is read") {
    for (char const* text : {"24.07", "25.12", "00.01", "99.10"})
        CHECK(name_of(release_from(text, "test")) == text);
    CHECK(release_from("24.12", "test") < release_from("25.01", "test"));
    CHECK(years_between(release_from("24.07", "test"), release_from("26.01", "test")) == 1.5);
    CHECK(name_of(midway(release_from("24.03", "test"), release_from("26.03", "test"))) == "25.03");
}

TEST_CASE("what is no release is refused with an example") {
    auto const text =
        GENERATE("", "24", "24.7", "24.13", "24.00", "2024.07", "24-07", "2..07", "24.0.", ".4.07", "24.07.01", "x0.5");
    INFO(text);
    CHECK_THROWS_WITH(release_from(text, "test"), contains("such as 24.07"));
}

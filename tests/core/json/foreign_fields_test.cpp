// JSON that other programs wrote.
#include "core/json/foreign_fields.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>

using namespace sextant;

TEST_CASE("foreign JSON: fields of any kind, numbers that are none") {
    auto const documents = foreign_documents(
        "{\"a\": 1.5, \"b\": \"0.25\", \"c\": NaN, \"d\": Infinity, \"e\": -Infinity, \"f\": -2, "
        "\"g\": [1], \"h\": \"1.5 s\", \"i\": null, \"j\": 7}",
        "x");
    REQUIRE(documents.size() == 1);
    auto const& object = documents[0];
    CHECK(foreign_number(object, "a") == 1.5);
    CHECK(foreign_number(object, "b") == 0.25);
    for (char const* none : {"c", "d", "e", "f", "g", "h", "i", "missing"}) {
        INFO(none);
        CHECK_FALSE(foreign_number(object, none));
    }
    CHECK(foreign_text(object, "a") == "1.5");
    CHECK(foreign_text(object, "d") == "inf");
    CHECK(foreign_text(object, "j") == "7");
    for (char const* none : {"c", "g", "i", "missing"})
        CHECK(foreign_text(object, none).empty());
    CHECK_FALSE(foreign_number(object["g"], "a"));
    CHECK(foreign_text(object["g"], "a").empty());
}

TEST_CASE("foreign JSON: a document or one a line, and what is neither") {
    CHECK(foreign_documents("{\n  \"a\": 1\n}\n", "x").size() == 1);
    CHECK(foreign_documents("{\"a\": 1}\r\n\n{\"a\": 2}\n", "x").size() == 2);
    CHECK_THROWS_WITH(foreign_documents("{\"a\": 1}\n{\"a\": ", "x"), contains("x: is no JSON, or was cut off"));
    CHECK_THROWS_WITH(foreign_documents("\n \n", "x"), contains("x: is no JSON, or was cut off"));
    CHECK_THROWS_WITH(foreign_documents("{\"a\": 1}\n{\"a\": \"\xff and more\"}", "x"),
                      contains("line 2 has a byte that is no UTF-8"));
}

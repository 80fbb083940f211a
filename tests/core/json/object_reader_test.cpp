#include "core/json/object_reader.hpp"

#include "tests/catch.hpp"

#include <string>

using namespace sextant;

namespace {

JsonDocument document(std::string const& text) { return JsonDocument::from_text(text, "test.json"); }

}  // namespace

TEST_CASE("JsonDocument names line and column of a syntax error") {
    CHECK_THROWS_WITH(document("{\n  \"a\": 1,\n  \"b\": }\n"), contains("test.json: line 3, column 8"));
    CHECK_THROWS_WITH(document("{\"a\": 1"), contains("line 1, column 8") && contains("not valid JSON"));
    CHECK_THROWS_WITH(document("  \n"), contains("is empty"));
    CHECK_THROWS_WITH(document("{\"a\": NaN}"), contains("not valid JSON"));
    CHECK_THROWS_WITH(document("{\"a\": 1e999}"), contains("test.json"));
    CHECK_THROWS_AS(document(std::string(5000, '[')), InputError);
    CHECK_THROWS_AS(document("{\"a\": \"\xff\xfe\"}"), InputError);
}

TEST_CASE("JsonDocument refuses a key given twice in one object and takes it in two") {
    CHECK_THROWS_WITH(document(R"({"a": {"b": 1, "b": 2}})"), contains("'b' is given twice"));
    CHECK_NOTHROW(document(R"({"a": {"b": 1}, "c": {"b": 2}, "d": [{"b": 1}, {"b": 2}]})"));
}

TEST_CASE("ObjectReader refuses a value of another type and says what it found") {
    auto const text = document(R"({"a": "x", "b": 1.5, "c": [1], "d": null, "e": true, "o": {"k": 1}})");
    ObjectReader in(text);
    CHECK_THROWS_WITH(in.number("a"), contains("test.json: a: is the text 'x' (a number is expected)"));
    CHECK_THROWS_WITH(in.integer("b"), contains("1.5 (a whole number is expected)"));
    CHECK_THROWS_WITH(in.text("c"), contains("is a list"));
    CHECK_THROWS_WITH(in.text("d"), contains("is null"));
    CHECK_THROWS_WITH(in.flag("b"), contains("true or false"));
    CHECK_THROWS_WITH(in.texts("c"), contains("test.json: c[0]"));
    CHECK_THROWS_WITH(in.object("e"), contains("test.json: e: is true (an object in {} is expected)"));
    CHECK_THROWS_WITH(in.object("o").text("k"), contains("test.json: o.k"));
    CHECK_THROWS_AS(ObjectReader(document("[1]")), InputError);
}

TEST_CASE("ObjectReader integer takes whole numbers up to 2^53 and nothing beyond") {
    auto const text = document(R"({"a": 9007199254740992, "b": 9007199254740994, "c": 1e6, "d": -3, "e": 1e300})");
    ObjectReader in(text);
    CHECK(in.integer("a") == 9007199254740992);
    CHECK_THROWS_WITH(in.integer("b"), contains("2^53"));
    CHECK(in.integer("c") == 1'000'000);
    CHECK(in.integer("d") == -3);
    CHECK_THROWS_AS(in.integer("e"), InputError);
}

TEST_CASE("ObjectReader gives fallbacks for absent and null keys only") {
    auto const text = document(R"({"a": null, "b": "wrong"})");
    ObjectReader in(text);
    CHECK(in.integer("a", 7) == 7);
    CHECK(in.number("missing", 0.5) == 0.5);
    CHECK(in.text("missing", "x") == "x");
    CHECK(in.flag("missing", true));
    CHECK(in.integers("missing").empty());
    CHECK_FALSE(in.optional_object("missing"));
    CHECK_THROWS_AS(in.integer("b", 7), InputError);
    CHECK_THROWS_WITH(in.text("missing"), contains("the key 'missing' is missing"));
}

TEST_CASE("missing keys are named together, and no key that is right is taken for a misspelt one") {
    auto const text = document(R"({"memory_bandwidth": "1 GB/s", "host_update_bandwidth": "2 GB/s", "powr": 3})");
    ObjectReader in(text);
    CHECK_THROWS_WITH(in.expect({"memory_bandwidth", "host_bandwidth", "power"}, {"host_update_bandwidth"}),
                      contains("'host_bandwidth', 'power'; did you mean 'powr'?") && contains("docs/formats.md"));
    ObjectReader other(text);
    other.expect({"memory_bandwidth", "host_bandwidth"}, {"host_update_bandwidth"});  // one alone is named when read
    CHECK_THROWS_WITH(other.text("host_bandwidth"), contains("'host_bandwidth' is missing (it is required"));
    CHECK_THROWS_WITH(other.text("power"), contains("did you mean 'powr'?"));
}

TEST_CASE("finish names the first key nobody asked for and the nearest one that was") {
    auto const text = document(R"({"bandwith": "1 GB/s"})");
    ObjectReader in(text);
    in.allow("bandwidth");
    CHECK_THROWS_WITH(in.finish(), contains("unknown key 'bandwith'; did you mean 'bandwidth'?"));
    auto const good = document(R"({"bandwidth": "1 GB/s"})");
    ObjectReader in_good(good);
    CHECK(in_good.quantity<BytesPerSecond>("bandwidth").base() == Approx(1e9));
    CHECK_NOTHROW(in_good.finish());
}

TEST_CASE("sourced values take their own provenance, else that of the file") {
    auto const text = document(R"({"a": "3 GB", "b": {"value": 0.5, "basis": "measured", "source": "log"},
        "c": {"value": 1, "basis": "guessed", "source": "x"}, "d": {"value": 1, "basis": "fitted", "source": ""},
        "e": {"value": 1, "basis": "fitted", "source": "s", "sources": "t"}})");
    ObjectReader in(text);
    in.set_default_provenance(Basis::datasheet, "sheet");
    auto const a = in.sourced_quantity<Bytes>("a");
    CHECK(a.value.base() == Approx(3e9));
    CHECK(a.basis == Basis::datasheet);
    CHECK(a.source == "sheet");
    auto const b = in.sourced_number("b");
    CHECK(b.value == 0.5);
    CHECK(b.basis == Basis::measured);
    CHECK(b.source == "log");
    CHECK_THROWS_WITH(in.sourced_number("c"), contains("test.json: c.basis: unknown basis 'guessed'"));
    CHECK_THROWS_WITH(in.sourced_number("d"), contains("where the value comes from"));
    CHECK_THROWS_WITH(in.sourced_number("e"), contains("unknown key 'sources'"));
}

TEST_CASE("format refuses another format and another version by name") {
    auto const text = document(R"({"format": "cluster", "version": 2})");
    ObjectReader in(text);
    CHECK_THROWS_WITH(in.format("accelerator", 1), contains("'cluster'") && contains("'accelerator'"));
    CHECK_THROWS_WITH(in.format("cluster", 1), contains("version 2") && contains("version 1"));
}

TEST_CASE("ObjectReader numbers names the element that is none") {
    auto const text = document(
        R"({"good": [1, 2.5, -3e10], "bad": [1, 2, "3"], "none": [null], "number": 4, "object": {"a": [[]]}})");
    ObjectReader in(text);
    CHECK(in.numbers("good") == std::vector<double>{1, 2.5, -3e10});
    CHECK(in.numbers("missing").empty());
    CHECK_THROWS_WITH(in.numbers("bad"), contains("test.json: bad[2]: is the text '3' (a number is expected)"));
    CHECK_THROWS_WITH(in.numbers("none"), contains("none[0]: is null"));
    CHECK_THROWS_WITH(in.numbers("number"), contains("number: is the number 4 (a list is expected)"));
    CHECK_THROWS_WITH(in.object("object").numbers("a"), contains("object.a[0]: is a list"));
}

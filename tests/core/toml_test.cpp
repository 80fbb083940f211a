#include "core/toml.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace sextant;

TEST_CASE("parse_toml reads tables, strings, numbers, booleans and lists with their lines") {
    auto const entries = parse_toml(
        "# a plan\r\n"
        "model = \"llama-3.1-70b\"  # with a comment\n"
        "note = 'C:\\raw # no comment'\n"
        "\n[plan]\n"
        "gpus = [64, 128,\n  256,  # more\n]\n"
        "price = 2.5e0\n"
        "[scaling . \"fit\"]\n"
        "\"odd key\" = \"tab\\t\\u00b5\\U0001F600\"\n"
        "big = 1_000\n"
        "flag=false",
        "t.toml");
    REQUIRE(entries.size() == 7);
    CHECK(entries[0].section.empty());
    CHECK(entries[0].values == std::vector<std::string>{"llama-3.1-70b"});
    CHECK(entries[0].line == 2);
    CHECK(entries[1].values[0] == "C:\\raw # no comment");
    CHECK(entries[2].section == "plan");
    CHECK(entries[2].kind == TomlKind::list);
    CHECK(entries[2].values == std::vector<std::string>{"64", "128", "256"});
    CHECK(entries[3].kind == TomlKind::number);
    CHECK(entries[4].section == "scaling.fit");
    CHECK(entries[4].key == "odd key");
    CHECK(entries[4].values[0] == "tab\t\xC2\xB5\xF0\x9F\x98\x80");
    CHECK(entries[5].values[0] == "1000");
    CHECK(entries[6].kind == TomlKind::boolean);
    CHECK(entries[6].line == 13);
    CHECK(parse_toml("", "t").empty());
    CHECK(parse_toml("\n# only this", "t").empty());
}

TEST_CASE("parse_toml refuses what it does not read, with the line") {
    auto const message = [](std::string const& text) -> std::string {
        try {
            static_cast<void>(parse_toml(text, "t.toml"));
        } catch (InputError const& error) {
            return error.what();
        }
        return "accepted";
    };
    CHECK_THAT(message("a = 1\nb = bf16"), contains("t.toml:2: "));
    CHECK_THAT(message("a = 1\na = 2"), contains("t.toml:2: "));
    CHECK_THAT(message("\n\na = 2024-01-01"), contains("t.toml:3: a: dates"));
    CHECK_THAT(message("a = [[1]]"), contains("a: lists and tables inside a list"));
    CHECK_THAT(message("[[a]]\nb = 1"), contains("inside a list"));
    for (char const* const text :
         {"a", "a =", "= 1", "[x", "[x]\n[x]", "gpus 64", "a = \"x", "a = 'x", "a = [1", "a = [1 2]", "a = 1 2",
          "a = \"\\q\"", "a = \"\\u12\"", "a = \"\\ud800\"", "a = .", "]", "a = \"\\u"})
        CHECK(message(text) != "accepted");
}

TEST_CASE("parse_toml gives back every text that toml_string wrote") {
    for (std::string const& text :
         {std::string("plain"), std::string("a \"quoted\" \\ path"), std::string("two\nlines\ttab"),
          std::string("# no comment"), std::string("\x01\x7F"), std::string()}) {
        auto const entries = parse_toml("key = " + toml_string(text), "t");
        REQUIRE(entries.size() == 1);
        CHECK(entries[0].values[0] == text);
    }
}

#include "planner/exporters/quoting.hpp"

#include "core/error.hpp"
#include "planner/importers/shell_words.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>

using namespace sextant;

namespace {

std::string random_text(std::mt19937_64& random) {
    static std::vector<std::string> const pieces{"a",  "-",     "--x",  " ",     "\n", "\t", "'", "\"",
                                                 "\\", "$(rm)", "`x`",  "$HOME", ";",  "&",  "|", "#",
                                                 ": ", "é",     "\x01", "%",     "{",  "*"};
    std::string out;
    for (std::size_t i = random() % 12; i > 0; --i)
        out += pieces[random() % pieces.size()];
    return out;
}

}  // namespace

TEST_CASE("a quoted text is one word of a shell, whatever is in it", "[export]") {
    std::mt19937_64 random(fixtures::seeded(3));
    for (int i = 0; i < 2000; ++i) {
        std::string const text = random_text(random);
        INFO(text);
        REQUIRE(shell_words("first " + shell_quoted(text) + " last", "test") ==
                std::vector<std::string>{"first", text, "last"});
    }
    CHECK(shell_quoted("a/b-c_1.2") == "a/b-c_1.2");
    CHECK(shell_quoted("") == "''");
    CHECK(shell_quoted("a b") == "'a b'");
}

TEST_CASE("quoted YAML, TOML and Python are one line of ASCII", "[export]") {
    CHECK(yaml_quoted("a\"b\\c\nd: é#\x7f") == "\"a\\\"b\\\\c\\nd: \\u00E9#\\u007F\"");
    CHECK(toml_quoted("\xF0\x9F\x98\x80") == "\"\\U0001F600\"");
    CHECK(python_quoted("$(x)`y`'") == "\"$(x)`y`'\"");
}

TEST_CASE("a comment has no line break of any reader", "[export]") {
    for (char const* text : {"a\nb", "a\rb",
                             "a\xC2\x85"
                             "b",
                             "a\xE2\x80\xA8"
                             "b"})
        for (char const c : comment_text(text)) {
            CHECK(c >= ' ');
            CHECK(c < 0x7F);
        }
    for (std::string const& text : {std::string(500, 'x'), std::string("a b c\nd")}) {
        std::string const lines = comment_lines(text, 40);
        CHECK(lines.ends_with('\n'));
        for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
            CHECK(lines.substr(at, 2) == "# ");
    }
}

TEST_CASE("a text that no file can hold is refused", "[export]") {
    for (std::string const& bad : {std::string("a\0b", 3), std::string("\xC3"), std::string("\xED\xA0\x80"),
                                   std::string("\xC0\xAF"), std::string("\xF5\x80\x80\x80"), std::string("\x80")})
        CHECK_THROWS_AS(check_exported_text(bad, "--data"), InputError);
    CHECK_THROWS_WITH(check_exported_text(std::string("a\0b", 3), "--data"), contains("--data: contains a NUL byte"));
    CHECK_THROWS_WITH(check_exported_text("abc\x80", "--data"), contains("--data: not UTF-8 (byte 4)"));
    CHECK_NOTHROW(check_exported_text("é \n \x01 \xF0\x9F\x98\x80", "--data"));
}

TEST_CASE("names of objects keep to what Kubernetes takes", "[export]") {
    CHECK(dns_label("Llama-3.1_70B") == "llama-3-1-70b");
    CHECK(dns_label("$(rm -rf /)") == "rm-rf");
    CHECK(dns_label("...") == "m");
    CHECK(dns_label("7b") == "m7b");
    CHECK(dns_label(std::string(200, 'a')).size() == 50);
    CHECK(operand("-x") == "./-x");
    CHECK(operand("x") == "x");
}

#include "core/utf8.hpp"

#include "tests/catch.hpp"

#include <string>

using namespace sextant;

TEST_CASE("UTF-8: sequences have their length, and what is none has none") {
    for (auto const& [text, length] : {std::pair{"a", 1},
                                       {"\xC3\xA9", 2},
                                       {"\xE2\x82\xAC", 3},
                                       {"\xF0\x9F\x98\x80", 4},
                                       {"\x80", 0},
                                       {"\xC3", 0},
                                       {"\xC0\xAF", 0},
                                       {"\xE0\x80\x80", 0},
                                       {"\xED\xA0\x80", 0},
                                       {"\xF4\x90\x80\x80", 0},
                                       {"\xFF", 0}})
        CHECK(utf8_length(text, 0) == static_cast<std::size_t>(length));
}

TEST_CASE("UTF-8: the first byte that is none is found") {
    CHECK(first_byte_outside_utf8("") == std::string_view::npos);
    CHECK(first_byte_outside_utf8("caf\xC3\xA9") == std::string_view::npos);
    CHECK(first_byte_outside_utf8("caf\xC3\xA9\xE9 au lait") == 5);
    CHECK(first_byte_outside_utf8("caf\xC3") == 3);
}

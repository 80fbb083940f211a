#include "core/text.hpp"
#include "tests/catch.hpp"

using namespace sextant;

TEST_CASE("a trimmed text begins and ends with no blank, and keeps those within") {
    CHECK(trimmed(" \ta b\t ") == "a b");
    CHECK(trimmed("a") == "a");
    CHECK(trimmed(" \t ").empty());
    CHECK(trimmed("").empty());
    CHECK(trimmed("\na\n") == "\na\n");
    CHECK(trimmed(" \na\t", " \n") == "a\t");
}

TEST_CASE("spellings of a name share their letters and digits") {
    CHECK(letters_and_digits("NVIDIA H100 80GB-HBM3") == "nvidiah10080gbhbm3");
    CHECK(letters_and_digits("Llama-3.1_8B") == letters_and_digits("llama 31 8b"));
    CHECK(letters_and_digits("\xC3\xA9-/").empty());
    CHECK(lower_case("A-Z 1") == "a-z 1");
}

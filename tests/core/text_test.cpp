#include "core/text.hpp"

#include "core/words.hpp"
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

TEST_CASE("a word is found where no letter goes on before or after it") {
    CHECK(has_word("slingshot-11 and 100gbe", "slingshot"));
    CHECK(has_word("100GbE", "GbE"));
    CHECK(has_word("fabric ib", "ib"));
    CHECK_FALSE(has_word("fibre", "ib"));
    CHECK_FALSE(has_word("ibx ibs", "ib"));
    CHECK_FALSE(has_word("", "ib"));
}

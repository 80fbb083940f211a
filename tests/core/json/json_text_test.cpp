#include "core/json/json_text.hpp"

#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <nlohmann/json.hpp>

#include <random>

using namespace sextant;

TEST_CASE(
    "json_text: whatever bytes a text has, the document can be read again, and is the same where they are UTF-8") {
    std::mt19937_64 random(fixtures::seeded(37));
    for (int i = 0; i < 500; ++i) {
        std::string bytes;
        for (std::uint64_t n = random() % 12; n > 0; --n)
            bytes += static_cast<char>(random() % 256);
        nlohmann::json const document = {{"name", bytes}, {"plain", "caf\u00e9 \"x\""}};
        for (int const indent : {-1, 2}) {
            auto const again = nlohmann::json::parse(json_text(document, indent));
            CHECK(again["plain"] == document["plain"]);
            CHECK(again["name"].get<std::string>().empty() == bytes.empty());
        }
    }
    CHECK(json_text(nlohmann::json("caf\xe9")) == "\"caf\xef\xbf\xbd\"");
}

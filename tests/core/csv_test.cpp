#include "core/csv.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <random>

using namespace sextant;

namespace {

CsvTable parse(std::string_view text) { return parse_csv(text, "t.csv"); }

}  // namespace

TEST_CASE("csv: cells in quotes hold commas, doubled quotes and line ends") {
    CsvTable const table = parse("a,b\n\"x, y\",\"say \"\"no\"\"\"\n\"two\nlines\",\n");
    REQUIRE(table.records.size() == 2);
    CHECK(table.records[0].cells == std::vector<std::string>{"x, y", "say \"no\""});
    CHECK(table.records[1].cells == std::vector<std::string>{"two\nlines", ""});
    CHECK(table.records[1].line == 3);
}

TEST_CASE("csv: a byte-order mark, CRLF line ends, empty lines and a missing last line end change nothing") {
    CsvTable const plain = parse("a,b\n1,2\n3,4\n");
    CsvTable const odd = parse(
        "\xEF\xBB\xBF"
        "a,b\r\n\r\n1,2\r\n\r\n3,4");
    CHECK(odd.header == plain.header);
    REQUIRE(odd.records.size() == 2);
    CHECK(odd.records[1].cells == plain.records[1].cells);
    CHECK(odd.records[1].line == 5);
}

TEST_CASE(
    "csv: columns are found without the blanks around their names, and in capitals where none has the very name") {
    CsvTable const table = parse("M, n ,m\n1,2,3\n");
    CHECK(table.header == std::vector<std::string>{"M", "n", "m"});
    CHECK(table.find("m") == 2);
    CHECK(table.find("M") == 0);
    CHECK(table.find("N") == 1);
    CHECK_FALSE(table.find("nn"));
}

TEST_CASE("csv: what is written is read back, whatever the cells hold") {
    std::mt19937_64 random(fixtures::seeded(20240611));
    std::string_view const letters = "ab,\"\n\r;0 ";
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> header{"first", "second", "third"};
        std::string text = csv_line(header);
        std::vector<std::vector<std::string>> rows(1 + random() % 5, std::vector<std::string>(3));
        for (auto& row : rows) {
            row[0] = "key";  // a line of empty cells only would be an empty line for a single column
            for (std::size_t i = 1; i < 3; ++i)
                for (std::size_t n = random() % 6; n > 0; --n)
                    row[i] += letters[random() % letters.size()];
            text += csv_line(row);
        }
        CsvTable const table = parse(text);
        REQUIRE(table.records.size() == rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            CHECK(table.records[i].cells == rows[i]);
    }
}

TEST_CASE("csv: a fault is reported with its line") {
    CHECK_THROWS_WITH(parse(""), contains("empty"));
    CHECK_THROWS_WITH(parse("\n\n"), contains("empty"));
    CHECK_THROWS_WITH(parse("a,b\n1,2\n1,2,3\n"), contains("line 3: 3 cells (the header has 2;"));
    CHECK_THROWS_WITH(parse("a,b\n1\n"), contains("line 2: 1 cells"));
    CHECK_THROWS_WITH(parse("a,b\n1,\"cut\noff"), contains("line 2: a quote is opened and never closed"));
    CHECK_THROWS_WITH(parse("a,b\n\"1\"2,3\n"), contains("line 2: text after a closing quote"));
    CHECK_THROWS_WITH(parse("a,b\nx\"y,3\n"), contains("a quote inside an unquoted cell"));
    CHECK_THROWS_WITH(parse("a,b,a\n1,2,3\n"), contains("'a' is in the header twice"));
    CHECK_THROWS_AS(read_csv("no/such/file.csv"), InputError);
}

TEST_CASE("csv: another separator is named, with what to do") {
    CHECK_THROWS_WITH(parse("m;n;k\n1;2;3\n"), contains("parted by semicolons") && contains("sep=None"));
    CHECK_THROWS_WITH(parse("m\tn\n1\t2\n"), contains("parted by tabs"));
    CHECK_NOTHROW(parse("loss\n1\n"));
    CHECK_NOTHROW(parse("a;b,c\n1,2\n"));
}

TEST_CASE("csv: every missing column is named") {
    CsvTable const table = parse("a,b\n");
    CHECK(table.require({"b", "a"}) == std::vector<std::size_t>{1, 0});
    CHECK_THROWS_WITH(table.require({"a", "c", "d"}), contains("lacks 2 of 3 columns: c, d"));
}

TEST_CASE("parse_csv_records: records without a header keep their own length and line") {
    auto const records = parse_csv_records("a,,a\n\nb\r\n\"c,d\",e\n", "r.csv");
    REQUIRE(records.size() == 3);
    CHECK(records[0].cells == std::vector<std::string>{"a", "", "a"});
    CHECK(records[1].cells == std::vector<std::string>{"b"});
    CHECK(records[1].line == 3);
    CHECK(records[2].cells == std::vector<std::string>{"c,d", "e"});
    CHECK(parse_csv_records("", "r.csv").empty());
    CHECK_THROWS_WITH(parse_csv_records("\"open", "r.csv"), contains("r.csv: line 1"));
}

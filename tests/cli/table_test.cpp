#include "cli/view/table.hpp"

#include "tests/catch.hpp"

#include <algorithm>
#include <sstream>
#include <string>

using namespace sextant::cli;

namespace {

Table sample() {
    Table table({{"name"}, {"memory", Align::right}, {"note"}});
    table.add_row({"a", "80 GB", "x|y"});
    table.add_row({"longer name", "1 GB"});
    return table;
}

}  // namespace

TEST_CASE("Table text aligns columns by their widest cell and ends no line in a space") {
    CHECK(sample().text() ==
          "name         memory  note\n"
          "-----------  ------  ----\n"
          "a             80 GB  x|y\n"
          "longer name    1 GB\n");
}

TEST_CASE("Table: a column is left out where no row has a text in it, and only then") {
    Table table = sample();
    table.leave_out_if_empty("note");
    CHECK(table.text() == sample().text());
    Table without({{"name"}, {"split"}, {"memory"}});
    without.add_row({"a", "", "80 GB"});
    without.add_row({"b"});
    without.leave_out_if_empty("split");
    CHECK(without.csv() == "name,memory\na,80 GB\nb,\n");
}

TEST_CASE("Table markdown escapes bars and marks right-aligned columns") {
    CHECK(sample().markdown() ==
          "| name | memory | note |\n"
          "|---|---:|---|\n"
          "| a | 80 GB | x\\|y |\n"
          "| longer name | 1 GB | |\n");
}

TEST_CASE("Table csv quotes commas, quotes and line ends") {
    Table table({{"a"}, {"b"}});
    table.add_row({"x, y", "say \"hi\""});
    table.add_row({"two\nlines", "plain"});
    CHECK(table.csv() == "a,b\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\nlines\",plain\n");
}

TEST_CASE("Table widths count letters, not bytes") {
    Table table({{"µs", Align::right}, {"n"}});
    table.add_row({"10", "x"});
    CHECK(table.text() == "µs  n\n--  -\n10  x\n");
}

TEST_CASE("Table text lines are all as wide as the longest, before trailing spaces are cut") {
    auto const width = GENERATE(take(20, random(1, 30)));
    Table table({{"a"}, {"b", Align::right}});
    table.add_row({std::string(static_cast<std::size_t>(width), 'x'), "1"});
    table.add_row({"y", std::string(static_cast<std::size_t>(31 - width), 'z')});
    std::istringstream lines(table.text());
    std::string header;
    std::string line;
    std::getline(lines, header);
    while (std::getline(lines, line))
        CHECK(line.size() == header.size());
}

TEST_CASE("aligned_pairs starts every value in the same column") {
    CHECK(aligned_pairs({{"time", "1 s"}, {"memory", "2 GB"}, {"none", ""}}, "  ") ==
          "  time    1 s\n  memory  2 GB\n  none\n");
}

TEST_CASE("wrapped keeps every word in order, within 100 columns, and indents what follows the first line") {
    std::string paragraph = "  - start";
    for (int i = 0; i < 60; ++i)
        paragraph += " wörd" + std::string(static_cast<std::size_t>(i % 7), 'x');
    std::string const text = wrapped(paragraph, "    ");
    std::string joined;
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        auto const columns = std::count_if(line.begin(), line.end(),
                                           [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
        CHECK(columns <= 100);
        CHECK_FALSE(line.ends_with(' '));
        if (count > 0) CHECK((line.starts_with("    ") && line[4] != ' '));
        joined += count == 0 ? line : " " + line.substr(4);
    }
    CHECK(count > 3);
    CHECK(joined == paragraph);
    CHECK(wrapped("short") == "short\n");
    CHECK(wrapped("") == "\n");
    std::string const address(150, 'a');
    CHECK(wrapped(address) == address + "\n");
    CHECK(wrapped("see " + address + " there") == "see\n  " + address + "\n  there\n");
}

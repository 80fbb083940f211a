#include "core/measurements/row_cells.hpp"

#include "tests/catch.hpp"

#include <cmath>

using namespace sextant;

TEST_CASE("cells of bytes: units as nccl-tests takes them, or in full") {
    auto const bytes = [](std::string const& cell) {
        std::string problem;
        auto const value = bytes_in(cell, "size_bytes", problem);
        INFO(cell);
        CHECK(problem.empty());
        return value.value_or(-1);
    };
    std::int64_t const mib = std::int64_t{1} << 20;
    CHECK(bytes("1073741824") == 1024 * mib);
    CHECK(bytes("1,073,741,824") == 1024 * mib);
    CHECK(bytes("1.073741824e9") == 1024 * mib);
    for (char const* cell : {"1G", "1g", "1 GiB", "1Gi", "1024M", "1048576 K", "1024 MiB"})
        CHECK(bytes(cell) == 1024 * mib);
    for (char const* cell : {"1GB", "1 gb", "1000 MB", "1e9", "1000000000 B"})
        CHECK(bytes(cell) == 1000000000);
    CHECK(bytes("512K") == mib / 2);
    CHECK(bytes("1.5 KiB") == 1536);
    CHECK(bytes("N/A") == -1);
    for (char const* cell : {"1 parsec", "G", "-1G", "1.3 B", "x", "nan bytes", "1e30"}) {
        std::string problem;
        CHECK_FALSE(bytes_in(cell, "size_bytes", problem));
        CHECK_THAT(problem, contains("size_bytes "));
    }
}

TEST_CASE("cells of yes and no: as numbers, in words, as Python prints them") {
    std::string problem;
    for (char const* cell : {"1", "True", "true", "yes", "1.0", "Y"})
        CHECK(flag_in(cell, "causal", problem) == true);
    for (char const* cell : {"0", "False", "no", "0.0", "off"})
        CHECK(flag_in(cell, "causal", problem) == false);
    CHECK_FALSE(flag_in("-", "causal", problem));
    CHECK(problem.empty());
    CHECK_FALSE(flag_in("2", "causal", problem));
    CHECK(problem == "causal is neither yes nor no");
}

TEST_CASE("a comma parts thousands of lengths and rates, and is doubtful in times") {
    std::string problem;
    CHECK(number_in("1,024", "input_len", problem) == 1024);
    CHECK(number_in("1,024", "concurrency_or_batch", problem) == 1024);
    CHECK(number_in("1,024", "output_tokens_per_s", problem) == 1024);
    CHECK(problem.empty());
    CHECK_FALSE(number_in("1,024", "ttft_ms", problem));
    CHECK(problem == "ttft_ms has a comma that may be of thousands or of decimals");
}

TEST_CASE("a cell that cannot be read skips its row, and says which it is") {
    CsvTable const table = parse_csv("a,b\n1,None\nx,2\n", "folder/t.csv");
    CHECK_FALSE(RowCells(table, table.records[0]).number("b"));
    try {
        static_cast<void>(RowCells(table, table.records[1]).number("a"));
        FAIL();
    } catch (RowSkip const& skip) {
        CHECK(std::string(skip.what()) == "a is not a number");
        CHECK(skip.place() == "t.csv line 3: 'x'");
    }
}

TEST_CASE("rows that cannot be read are counted by what is wrong, with the first of them") {
    SkipCounts counts;
    count_skip(counts, RowSkip("a is not a number", "t.csv line 3: 'x'"));
    count_skip(counts, RowSkip("a is not a number", "t.csv line 9: 'y'"));
    count_skip(counts, RowSkip("a is negative", "t.csv line 4: '-1'"));
    count_skip(counts, RowSkip("a is not stated"));
    count_skip(counts, RowSkip("a is not stated"));
    CHECK(counts == SkipCounts{{"a is not a number (t.csv line 3: 'x')", 2},
                               {"a is negative (t.csv line 4: '-1')", 1},
                               {"a is not stated", 2}});
}

#include "core/csv_stream.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/seeds.hpp"

#include <random>

using namespace sextant;

namespace {

/// The records as `next` gives them, so many at a time.
CsvTable streamed(std::string const& path, std::size_t rows) {
    CsvStream stream(path);
    CsvTable all{.name = stream.name(), .header = stream.header(), .records = {}};
    while (true) {
        CsvTable part = stream.next(rows);
        if (part.records.empty()) return all;
        CHECK(part.records.size() <= rows);
        all.records.insert(all.records.end(), part.records.begin(), part.records.end());
    }
}

bool same(CsvTable const& a, CsvTable const& b) {
    if (a.header != b.header || a.records.size() != b.records.size()) return false;
    for (std::size_t i = 0; i < a.records.size(); ++i)
        if (a.records[i].cells != b.records[i].cells || a.records[i].line != b.records[i].line) return false;
    return true;
}

/// Cut after every byte, as if the file came in parts of these sizes.
std::vector<CsvRecord> in_two_parts(std::string const& text, std::size_t cut) {
    std::string const name = "t.csv";
    CsvRecords records(name);
    std::vector<CsvRecord> out;
    records.set(std::string_view(text).substr(0, cut), CsvRecords::Part::more_to_come);
    while (auto record = records.next())
        out.push_back(std::move(*record));
    std::string const rest = text.substr(records.used());
    records.set(rest, CsvRecords::Part::last);
    while (auto record = records.next())
        out.push_back(std::move(*record));
    return out;
}

}  // namespace

TEST_CASE("csv stream: a file gives the same records as a text in memory, however many are asked for at once") {
    ScratchFolder const scratch("csv_stream");
    std::mt19937_64 random(fixtures::seeded(20261122));
    std::string_view const letters = "ab,\"\n\r;0 ";
    std::string text = "\xEF\xBB\xBF" + csv_line({"first", "second"});
    while (text.size() < (std::size_t{3} << 18)) {
        std::vector<std::string> row(2);
        for (std::string& cell : row)
            for (std::uint64_t length = random() % 12; length > 0; --length)
                cell += letters[random() % letters.size()];
        row[0] += 'x';  // never an empty line
        text += csv_line(row);
    }
    text += csv_line({"long", std::string(std::size_t{3} << 18, 'y')});
    text += "cut,off";
    std::string const path = scratch.file("a.csv", text);
    CsvTable const whole = read_csv(path);
    for (std::size_t const rows : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20})
        CHECK(same(streamed(path, rows), whole));
}

TEST_CASE("csv stream: wherever a text is cut in two, its records are the same") {
    std::string const text =
        "\xEF\xBB\xBF"
        "a,b\r\n\r\n1,\"x\"\"\r\ny\"\r\n\n\"\",\"\"\r\n3,4\r\n\r\n";
    std::vector<CsvRecord> const whole = parse_csv_records(text, "t.csv");
    REQUIRE(whole.size() == 4);
    for (std::size_t cut = 3; cut <= text.size(); ++cut) {
        INFO("cut after " << cut << " bytes");
        std::vector<CsvRecord> const parts = in_two_parts(text, cut);
        REQUIRE(parts.size() == whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            CHECK(parts[i].cells == whole[i].cells);
            CHECK(parts[i].line == whole[i].line);
        }
    }
}

TEST_CASE("csv stream: what a text in memory is refused for, a file is, with its line") {
    ScratchFolder const scratch("csv_stream_bad");
    auto const fault_of = [&](std::string const& text) -> std::string {
        try {
            streamed(scratch.file("a.csv", text), 3);
        } catch (InputError const& error) {
            return error.what();
        }
        return "none";
    };
    CHECK_THAT(fault_of(""), contains("the file is empty"));
    CHECK_THAT(fault_of("a,a\n"), contains("column 'a' is in the header twice"));
    CHECK_THAT(fault_of("a,b\n1,2\n3\n"), contains("line 3: 1 cells (the header has 2;"));
    CHECK_THAT(fault_of("a,b\n1,\"2\n"), contains("line 2: a quote is opened and never closed"));
    CHECK_THAT(fault_of("a,b\n1,\"" + std::string(3 * CsvStream::longest_record, ' ')),
               contains("line 2: a record of more than 16777216 bytes"));
    CHECK_THROWS_AS(CsvStream(scratch.path("absent.csv")), InputError);
    CHECK_THROWS_AS(CsvStream(scratch.path("")), InputError);
}

TEST_CASE("csv: a text of more cells than a table may hold is refused, not held fifty times over") {
    std::string text = "a\n";
    for (int i = 0; i < 6'000'000; ++i)
        text += "1\n";
    CHECK_THROWS_WITH(parse_csv(text, "t.csv"), contains("split the file"));
}

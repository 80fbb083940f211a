#include "kernels/harness/row.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/row_file.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

/// A row with every cell set or not, by the bits of `seed`.
Row random_row(std::uint64_t seed) {
    Row row;
    std::uint64_t number = 0;
    for (Column const& column : columns()) {
        ++number;
        if (mixed(seed, number) % 3 == 0) continue;
        std::string text;
        if (column.field.index() == 0)
            text = mixed(seed, number) % 2 ? "a \"b\", c\\d; e|f" : "plain";
        else if (column.field.index() == 1)
            text = std::to_string(static_cast<double>(value_at(seed, number)) * 1e3);
        else
            text = std::to_string(mixed(seed, number) % 100000);
        set_cell(row, column, text);
    }
    return row;
}

void check_same(Row const& a, Row const& b) {
    for (Column const& column : columns()) {
        INFO(column.name);
        CHECK(cell(a, column) == cell(b, column));
    }
}

struct TemporaryFile {
    std::string path;
    explicit TemporaryFile(std::string const& name)
        : path((std::filesystem::temp_directory_path() / ("sextant_" + name)).string()) {
        std::filesystem::remove(path);
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("rows: what is written as CSV or JSON lines reads back the same", "[row]") {
    auto const seed = static_cast<std::uint64_t>(GENERATE(range(0, 50)));
    Row const row = random_row(seed);
    auto const csv = read_rows(csv_header() + "\n" + csv_line(row) + "\n", FileFormat::csv);
    REQUIRE(csv.size() == 1);
    check_same(csv[0], row);
    auto const json = read_rows(jsonl_line(row) + "\n", FileFormat::jsonl);
    REQUIRE(json.size() == 1);
    check_same(json[0], row);
}

TEST_CASE("rows: a file's columns may come in another order, and unknown ones are ignored", "[row]") {
    auto const rows = read_rows("kernel,colour,m,bench\nx,red,12,gemm\n", FileFormat::csv);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].kernel == "x");
    CHECK(rows[0].bench == "gemm");
    CHECK(rows[0].shape.m == 12);
    CHECK(rows[0].shape.n == Shape::unset);
    CHECK(std::isnan(rows[0].median_us));
}

TEST_CASE("rows: bad input is refused with its line", "[row]") {
    CHECK_THROWS_WITH(read_rows("bench,m\ngemm,1\ngemm,one\n", FileFormat::csv), contains("line 3"));
    CHECK_THROWS_WITH(read_rows("bench,m\ngemm\n", FileFormat::csv), contains("line 2"));
    CHECK_THROWS_WITH(read_rows("{\"bench\": \"gemm\"\n", FileFormat::jsonl), contains("line 1"));
    CHECK_THROWS_WITH(read_rows("[]\n", FileFormat::jsonl), contains("line 1"));
}

TEST_CASE("rows: an infinite error survives both formats", "[row]") {
    Row row;
    row.max_rel_error = std::numeric_limits<double>::infinity();
    CHECK(std::isinf(read_rows(jsonl_line(row) + "\n", FileFormat::jsonl)[0].max_rel_error));
    CHECK(std::isinf(read_rows(csv_header() + "\n" + csv_line(row) + "\n", FileFormat::csv)[0].max_rel_error));
}

TEST_CASE("resume_key: only what identifies a measurement changes it", "[row]") {
    Row row;
    row.bench = "gemm";
    row.kernel = "eigen";
    row.dtype = "fp32";
    row.cache = "hot";
    row.launch = "stream";
    row.shape.m = 4;
    std::string const key = resume_key(row);
    Row same = row;
    same.median_us = 3;
    same.date = "2026-01-01T00:00:00Z";
    same.driver = "other";
    same.note = "x";
    CHECK(resume_key(same) == key);
    CHECK(method_in("580.65.06, driver 13.0, runtime 13.0, method 2") == "method 2");
    CHECK(method_in("driver 13.0, runtime 13.0").empty());
    std::set<std::string> keys{key};
    for (auto const change :
         {&Row::bench, &Row::backend, &Row::device, &Row::kernel, &Row::dtype, &Row::cache, &Row::launch}) {
        Row other = row;
        other.*change += "2";
        keys.insert(resume_key(other));
    }
    for (Column const& column : columns())
        if (column.field.index() == 3) {
            Row other = row;
            set_cell(other, column, "77");
            keys.insert(resume_key(other));
        }
    CHECK(keys.size() == 1 + 7 + 14);
}

TEST_CASE("row writer: a file of somebody else is left as it is", "[row]") {
    FileFormat const format = GENERATE(FileFormat::csv, FileFormat::jsonl);
    for (std::string const text : {"hello\n", "hello", "bench,m\ngemm,1\n", "[1]\n", "\n"}) {
        CAPTURE(text);
        TemporaryFile const file("notes.txt");
        std::ofstream(file.path) << text;
        CHECK_THROWS_AS(RowWriter(file.path, format, Existing::append), BadInput);
        std::ifstream in(file.path);
        CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == text);
    }
}

TEST_CASE("row writer: a full disk ends the measurements", "[row]") {
    if (!std::filesystem::exists("/dev/full")) return;
    CHECK_THROWS_WITH(RowWriter("/dev/full", FileFormat::csv, Existing::append), contains("writing failed"));
    RowWriter writer("/dev/full", FileFormat::jsonl, Existing::append);
    CHECK_THROWS_AS(writer.write(Row{}), CannotWrite);
}

TEST_CASE("row writer: an interrupted file keeps its whole rows and goes on after them", "[row]") {
    FileFormat const format = GENERATE(FileFormat::csv, FileFormat::jsonl);
    TemporaryFile const file(format == FileFormat::csv ? "rows.csv" : "rows.jsonl");
    Row row;
    row.bench = "gemm";
    {
        RowWriter writer(file.path, format, Existing::refuse);
        for (std::int64_t m = 1; m <= 2; ++m) {
            row.shape.m = m;
            writer.write(row);
        }
    }
    std::ofstream(file.path, std::ios::app) << "gemm,half a ro";
    CHECK_THROWS_AS(RowWriter(file.path, format, Existing::refuse), BadInput);
    CHECK(read_row_file(file.path, format).size() == 2);
    {
        RowWriter writer(file.path, format, Existing::append);
        row.shape.m = 3;
        writer.write(row);
    }
    auto const rows = read_row_file(file.path, format);
    REQUIRE(rows.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(rows[i].shape.m == static_cast<std::int64_t>(i) + 1);
}

TEST_CASE("row writer: a place that cannot be written is bad input", "[row]") {
    CHECK_THROWS_AS(RowWriter("/no/such/folder/rows.csv", FileFormat::csv, Existing::refuse), BadInput);
    CHECK(read_row_file("/no/such/folder/rows.csv", FileFormat::csv).empty());
}

}  // namespace sextant::bench

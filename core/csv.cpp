#include "core/csv.hpp"

#include "core/csv_records.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

void add(CsvRecord record, std::size_t& cells, std::vector<CsvRecord>& out, std::string const& name) {
    cells += record.cells.size() + 2;
    if (cells > most_csv_cells)
        throw InputError("{}: line {}: more than {} cells and records (the most that are read at once; split the file)",
                         name, record.line, most_csv_cells);
    out.push_back(std::move(record));
}

bool is_same_in_any_case(std::string_view a, std::string_view b) {
    auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
    auto found = std::find(header.begin(), header.end(), column);
    if (found == header.end())
        found = std::find_if(header.begin(), header.end(),
                             [&](std::string_view of) { return is_same_in_any_case(of, column); });
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
}

std::vector<std::size_t> CsvTable::require(std::vector<std::string_view> const& columns) const {
    std::vector<std::size_t> positions;
    std::vector<std::string> missing;
    for (auto const column : columns) {
        if (auto const position = find(column))
            positions.push_back(*position);
        else
            missing.emplace_back(column);
    }
    if (!missing.empty())
        throw InputError("{}: the header lacks {} of {} columns: {} (it has: {})", name, missing.size(), columns.size(),
                         join(missing), join(header).substr(0, 400));
    return positions;
}

void check_separator(std::string_view header, std::string const& name) {
    if (header.find(',') != std::string_view::npos) return;
    for (auto const& [separator, what] : {std::pair(';', "semicolons"), std::pair('\t', "tabs")})
        if (header.find(separator) != std::string_view::npos)
            throw InputError(
                "{}: its columns are parted by {} (commas are expected, and points in numbers: save it so, as "
                "with pandas: read_csv(FILE, sep=None, engine='python', decimal=','), to_csv)",
                name, what);
}

std::vector<std::string> column_names(std::vector<std::string> cells) {
    for (std::string& cell : cells)
        cell = std::string(trimmed(cell));
    return cells;
}

void check_csv_header(std::vector<std::string> header, std::string const& name) {
    if (header.size() == 1) check_separator(header.front(), name);
    std::sort(header.begin(), header.end());
    if (auto const twice = std::adjacent_find(header.begin(), header.end()); twice != header.end())
        throw InputError("{}: column '{}' is in the header twice (names must differ)", name, *twice);
}

void check_csv_record(CsvRecord const& record, std::size_t columns, std::string const& name) {
    if (record.cells.size() != columns)
        throw InputError(
            "{}: line {}: {} cells (the header has {}; a cell with a comma in it stands in quotes, a number has a "
            "decimal point)",
            name, record.line, record.cells.size(), columns);
}

CsvTable parse_csv(std::string_view text, std::string name) {
    CsvTable table{.name = std::move(name), .header = {}, .records = {}};
    CsvRecords reader(table.name);
    reader.set(text, CsvRecords::Part::last);
    auto head = reader.next();
    if (!head) throw InputError("{}: the file is empty (a header line is expected)", table.name);
    table.header = column_names(std::move(head->cells));
    check_csv_header(table.header, table.name);
    std::size_t cells = table.header.size();
    while (auto record = reader.next()) {
        check_csv_record(*record, table.header.size(), table.name);
        add(std::move(*record), cells, table.records, table.name);
    }
    return table;
}

std::vector<CsvRecord> parse_csv_records(std::string_view text, std::string const& name) {
    std::vector<CsvRecord> records;
    std::size_t cells = 0;
    CsvRecords reader(name);
    reader.set(text, CsvRecords::Part::last);
    while (auto record = reader.next())
        add(std::move(*record), cells, records, name);
    return records;
}

CsvTable read_csv(std::string const& path) { return parse_csv(read_text_file(path), path); }

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (char const c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::string csv_line(std::vector<std::string> const& cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) out += ',';
        out += csv_cell(cells[i]);
    }
    return out + '\n';
}

}  // namespace sextant

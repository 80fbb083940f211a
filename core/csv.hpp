#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// One record of a CSV file and the line it begins on (1 is the header's).
struct CsvRecord {
    std::size_t line = 0;
    std::vector<std::string> cells;
};

/// A CSV file with a header: every record has as many cells as the header.
struct CsvTable {
    std::string name;  ///< of the file, for messages
    std::vector<std::string> header;
    std::vector<CsvRecord> records;

    /// Position of a column, or nothing; where none has just this name, that of one that has it in capitals.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
    /// Positions of all these columns. @throws InputError naming every one that is missing.
    [[nodiscard]] std::vector<std::size_t> require(std::vector<std::string_view> const& columns) const;
};

/// Reads RFC 4180: cells in double quotes may hold commas, line ends and doubled quotes. A byte-order mark and CRLF
/// line ends are accepted, empty lines are skipped, blanks around the names of columns dropped.
/// @throws InputError: empty, a record with more or fewer cells than the header (with its line), an open quote, text
/// after a quote, a column named twice.
CsvTable parse_csv(std::string_view text, std::string name);
/// The records of a text without a header, each with as many cells as it has.
/// @throws InputError: an open quote, text after a quote.
std::vector<CsvRecord> parse_csv_records(std::string_view text, std::string const& name);
/// The same from a file. @throws InputError also when it cannot be read.
CsvTable read_csv(std::string const& path);

/// A cell as it has to be written: in quotes if it holds a comma, a quote or a line end.
std::string csv_cell(std::string_view text);
/// A record with its line end (\n).
std::string csv_line(std::vector<std::string> const& cells);

}  // namespace sextant

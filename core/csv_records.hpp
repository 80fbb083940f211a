#pragma once

#include "core/csv.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Cuts a text, or one part of it after another, into the records of a CSV file (RFC 4180, see `parse_csv`).
class CsvRecords {
public:
    /// Whether the text ends with this part.
    enum class Part { last, more_to_come };

    /// @param name of the file, for messages; it must outlive this.
    explicit CsvRecords(std::string const& name) : name_(name) {}

    /// The text to cut from now on: what `next` had not used of the part before, and what follows it. It must outlive
    /// the calls of `next`.
    void set(std::string_view text, Part part);

    /// The next record; nothing at the end, or where a part ends within a record. Empty lines are skipped.
    /// @throws InputError: a quote inside an unquoted cell, text after a closing quote, a quote that is never closed,
    /// 100,000 cells.
    std::optional<CsvRecord> next();

    /// Bytes of the text that the records so far took.
    [[nodiscard]] std::size_t used() const { return at_; }
    /// The line on which the next record begins, or will.
    [[nodiscard]] std::size_t line() const { return line_; }

private:
    [[nodiscard]] bool ends_line() const;
    [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
    void skip_line_end();
    void skip_empty_lines();
    void read(CsvRecord& record);
    std::string plain();
    std::string quoted();

    std::string const& name_;
    std::string_view text_;
    Part part_ = Part::last;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    bool started_ = false;
};

/// Cells of a table that is held in memory at once, a record counting as two more: beyond it `parse_csv` and
/// `parse_csv_records` throw InputError, as short cells of text take fifty times that in memory. `CsvStream` has no
/// such limit.
inline constexpr std::size_t most_csv_cells = 16'000'000;

/// @throws InputError: a header whose columns something else than commas parts, semicolons or tabs.
void check_separator(std::string_view header, std::string const& name);
/// The cells of a header without the blanks around them.
std::vector<std::string> column_names(std::vector<std::string> cells);
/// @throws InputError: as above, and for a column named twice.
void check_csv_header(std::vector<std::string> header, std::string const& name);
/// @throws InputError: a record of more or fewer cells than there are columns.
void check_csv_record(CsvRecord const& record, std::size_t columns, std::string const& name);

}  // namespace sextant

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant::cli {

enum class Align { left, right };

struct Column {
    std::string header;
    Align align = Align::left;
};

/// What a report was asked, key by key ("model", "llama-3.1-8b"): columns of its CSV, so that tables of several
/// questions can lie in one.
using QuestionCells = std::vector<std::pair<std::string, std::string>>;

/// Rows of text under named columns. Sample of `text()`:
///
///     name       memory  bandwidth
///     ---------  ------  ---------
///     h100-sxm    80 GB  3.35 TB/s
///
/// Widths count UTF-8 code points; no line ends in a space.
class Table {
public:
    explicit Table(std::vector<Column> columns);

    /// A row shorter than the header is filled with empty cells; a longer one is a bug (assert).
    void add_row(std::vector<std::string> cells);

    /// The column of this name goes where no row has a text in it.
    void leave_out_if_empty(std::string_view header);

    [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string markdown() const;  ///< `|` in a cell is escaped
    /// RFC 4180 quoting, lines end in \n; every row begins with what was asked.
    [[nodiscard]] std::string csv(QuestionCells const& question = {}) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Columns of (name, value) lines: two-column text without a header, for key figures.
std::string aligned_pairs(std::vector<std::pair<std::string, std::string>> const& pairs, std::string_view indent = "");

/// One paragraph broken at spaces into lines of at most `width` columns (whatever the terminal, so that reports can be
/// compared), each ended. Lines after the first begin with `indent`. A word longer than a line stays whole.
std::string wrapped(std::string_view paragraph, std::string_view indent = "  ", std::size_t width = 100);

/// Below a table in Markdown, what it stands on: "Assumed:" and a list; nothing without one.
std::string assumed_markdown(std::vector<std::string> const& assumptions);

}  // namespace sextant::cli

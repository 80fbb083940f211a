#include "core/csv_records.hpp"

#include "core/error.hpp"

#include <utility>

namespace sextant {

namespace {

/// Files of another kind, which would be reported as a table with a fault somewhere.
void refuse_other_kinds(std::string_view text, std::string const& name) {
    constexpr std::size_t looked_at = 4096;
    if (text.substr(0, looked_at).find('\0') != std::string_view::npos)
        throw InputError("{}: is binary (CSV, a text with commas, is expected)", name);
    constexpr std::string_view blanks = " \t\r\n";
    std::size_t const first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return;
    // Lines of logs begin with "[2025-10-01 ...]", too.
    std::size_t const second = text[first] == '[' ? text.find_first_not_of(blanks, first + 1) : first;
    constexpr std::string_view of_json = R"({["])";
    if (second != std::string_view::npos &&
        (second == first ? text[first] == '{' : of_json.find(text[second]) != of_json.npos))
        throw InputError("{}: is JSON (CSV with a header line is expected)", name);
}

}  // namespace

void CsvRecords::set(std::string_view text, Part part) {
    text_ = text;
    part_ = part;
    at_ = 0;
    if (std::exchange(started_, true)) return;
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    refuse_other_kinds(text_, name_);
}

std::optional<CsvRecord> CsvRecords::next() {
    skip_empty_lines();
    if (at_end()) return std::nullopt;
    std::size_t const begin = at_;
    CsvRecord record{.line = line_, .cells = {}};
    read(record);
    // What ends with the part may go on in the next one: a cell, a quote, a line end of \r and then \n.
    if (part_ == Part::last || !at_end()) return record;
    at_ = begin;
    line_ = record.line;
    return std::nullopt;
}

bool CsvRecords::ends_line() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
}

void CsvRecords::skip_line_end() {
    if (text_[at_] == '\r') ++at_;
    if (!at_end() && text_[at_] == '\n') ++at_;
    ++line_;
}

void CsvRecords::skip_empty_lines() {
    while (!at_end() && ends_line()) {
        if (part_ == Part::more_to_come && text_[at_] == '\r' && at_ + 1 == text_.size()) return;
        skip_line_end();
    }
}

void CsvRecords::read(CsvRecord& record) {
    constexpr std::size_t most_cells = 100'000;
    while (true) {
        if (record.cells.size() == most_cells)
            throw InputError("{}: line {}: more than {} cells (the most that a record may have)", name_, record.line,
                             most_cells);
        record.cells.push_back(!at_end() && text_[at_] == '"' ? quoted() : plain());
        if (at_end()) return;
        if (text_[at_] != ',') break;
        ++at_;
    }
    skip_line_end();
}

std::string CsvRecords::plain() {
    std::size_t const begin = at_;
    while (!at_end() && text_[at_] != ',' && !ends_line()) {
        if (text_[at_] == '"')
            throw InputError("{}: line {}: a quote inside an unquoted cell (quote the whole cell and double the quote)",
                             name_, line_);
        ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
}

std::string CsvRecords::quoted() {
    std::size_t const opened = line_;
    std::string cell;
    for (++at_; !at_end(); ++at_) {
        char const c = text_[at_];
        if (c == '\n') ++line_;
        if (c != '"') {
            cell += c;
            continue;
        }
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
            cell += '"';
            ++at_;
            continue;
        }
        ++at_;
        if (!at_end() && text_[at_] != ',' && !ends_line())
            throw InputError("{}: line {}: text after a closing quote (a comma or a line end must follow)", name_,
                             line_);
        return cell;
    }
    if (part_ == Part::more_to_come) return cell;
    throw InputError("{}: line {}: a quote is opened and never closed (is the file cut off?)", name_, opened);
}

}  // namespace sextant

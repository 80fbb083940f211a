#include "core/csv.hpp"

#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

/// Cuts a text into records.
class CsvReader {
public:
    CsvReader(std::string_view text, std::string const& name) : text_(text), name_(name) {
        if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    }

    /// The next record, or nothing at the end. Empty lines are skipped.
    std::optional<CsvRecord> next() {
        while (at_ < text_.size() && ends_line())
            skip_line_end();
        if (at_ >= text_.size()) return std::nullopt;
        CsvRecord record{.line = line_, .cells = {}};
        while (true) {
            record.cells.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted() : plain());
            if (at_ >= text_.size()) return record;
            if (text_[at_] == ',') {
                ++at_;
                continue;
            }
            skip_line_end();
            return record;
        }
    }

private:
    [[nodiscard]] bool ends_line() const {
        return text_[at_] == '\n' || (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
    }

    void skip_line_end() {
        if (text_[at_] == '\r') ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++at_;
        ++line_;
    }

    std::string plain() {
        std::size_t const begin = at_;
        while (at_ < text_.size() && text_[at_] != ',' && !ends_line()) {
            if (text_[at_] == '"')
                throw InputError(
                    "{}: line {}: a quote inside an unquoted cell (quote the whole cell and double the quote)", name_,
                    line_);
            ++at_;
        }
        return std::string(text_.substr(begin, at_ - begin));
    }

    std::string quoted() {
        std::size_t const opened = line_;
        std::string cell;
        for (++at_; at_ < text_.size(); ++at_) {
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
            if (at_ < text_.size() && text_[at_] != ',' && !ends_line())
                throw InputError("{}: line {}: text after a closing quote (a comma or a line end must follow)", name_,
                                 line_);
            return cell;
        }
        throw InputError("{}: line {}: a quote is opened and never closed (is the file cut off?)", name_, opened);
    }

    std::string_view text_;
    std::string const& name_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
};

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
    auto const found = std::find(header.begin(), header.end(), column);
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

CsvTable parse_csv(std::string_view text, std::string name) {
    CsvTable table{.name = std::move(name), .header = {}, .records = {}};
    CsvReader reader(text, table.name);
    auto head = reader.next();
    if (!head) throw InputError("{}: the file is empty (a header line is expected)", table.name);
    table.header = std::move(head->cells);
    auto sorted = table.header;
    std::sort(sorted.begin(), sorted.end());
    if (auto const twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
        throw InputError("{}: column '{}' is in the header twice (names must differ)", table.name, *twice);
    while (auto record = reader.next()) {
        if (record->cells.size() != table.header.size())
            throw InputError("{}: line {}: {} cells (the header has {})", table.name, record->line,
                             record->cells.size(), table.header.size());
        table.records.push_back(std::move(*record));
    }
    return table;
}

std::vector<CsvRecord> parse_csv_records(std::string_view text, std::string const& name) {
    std::vector<CsvRecord> records;
    CsvReader reader(text, name);
    while (auto record = reader.next())
        records.push_back(std::move(*record));
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

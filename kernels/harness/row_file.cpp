#include "kernels/harness/row_file.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {
namespace {

std::string quoted(std::string const& text, char const* escaped_quote) {
    std::string result = "\"";
    for (char const c : text) {
        if (c == '"')
            result += escaped_quote;
        else if (c == '\\' && escaped_quote[0] == '\\')
            result += "\\\\";
        else
            result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // a row stays on one line
    }
    return result + "\"";
}

std::vector<std::string> csv_cells(std::string const& line) {
    std::vector<std::string> cells(1);
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char const c = line[i];
        if (inside && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
            cells.back() += '"';
            ++i;
        } else if (c == '"') {
            inside = !inside;
        } else if (c == ',' && !inside) {
            cells.emplace_back();
        } else if (c != '\r') {
            cells.back() += c;
        }
    }
    return cells;
}

Column const* find_column(std::string const& name) {
    for (Column const& column : columns())
        if (name == column.name) return &column;
    return nullptr;
}

/// Reads the flat objects that jsonl_line writes: "key": "text" | number | null.
class FlatObject {
public:
    explicit FlatObject(std::string const& line) : line_(line) {}

    Row read() {
        Row row;
        expect('{');
        while (true) {
            std::string const key = text();
            expect(':');
            std::string const value = peek() == '"' ? text() : bare();
            if (Column const* column = find_column(key)) set_cell(row, *column, value);
            if (peek() != ',') break;
            ++at_;
        }
        expect('}');
        return row;
    }

private:
    char peek() {
        while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\r'))
            ++at_;
        return at_ < line_.size() ? line_[at_] : '\0';
    }
    void expect(char c) {
        if (peek() != c) throw BadInput(std::string("'") + c + "' expected at column " + std::to_string(at_ + 1));
        ++at_;
    }
    std::string text() {
        expect('"');
        std::string result;
        while (at_ < line_.size() && line_[at_] != '"') {
            if (line_[at_] == '\\' && at_ + 1 < line_.size()) ++at_;
            result += line_[at_++];
        }
        expect('"');
        return result;
    }
    std::string bare() {
        std::string result;
        for (char c = peek(); c != '\0' && c != ',' && c != '}'; c = peek()) {
            result += c;
            ++at_;
        }
        return result == "null" ? "" : result;
    }

    std::string const& line_;
    std::size_t at_ = 0;
};

Row row_of_cells(std::vector<std::string> const& header, std::vector<std::string> const& cells) {
    if (cells.size() != header.size())
        throw BadInput(std::to_string(cells.size()) + " cells (the header has " + std::to_string(header.size()) + ")");
    Row row;
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (Column const* column = find_column(header[i])) set_cell(row, *column, cells[i]);
    return row;
}

std::string text_of_file(std::string const& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string csv_header() {
    std::string line;
    for (Column const& column : columns())
        line += (line.empty() ? "" : ",") + std::string(column.name);
    return line;
}

std::string csv_line(Row const& row) {
    std::string line;
    for (Column const& column : columns()) {
        std::string const text = cell(row, column);
        if (&column != &columns().front()) line += ',';
        line += text.find_first_of(",\"\n\r") == std::string::npos ? text : quoted(text, "\"\"");
    }
    return line;
}

std::string jsonl_line(Row const& row) {
    std::string line = "{";
    for (Column const& column : columns()) {
        std::string const text = cell(row, column);
        if (line.size() > 1) line += ", ";
        line += "\"" + std::string(column.name) + "\": ";
        bool const is_text = column.field.index() == 0;
        // JSON has no infinity: an infinite error is written as text, which reads back.
        bool const finite = text.find_first_of("in") == std::string::npos;
        line += is_text || (!text.empty() && !finite) ? quoted(text, "\\\"") : text.empty() ? "null" : text;
    }
    return line + "}";
}

std::vector<Row> read_rows(std::string const& text, FileFormat format) {
    std::vector<Row> rows;
    std::vector<std::string> header;
    std::size_t begin = 0;
    for (int number = 1;; ++number) {
        std::size_t const end = text.find('\n', begin);
        if (end == std::string::npos) return rows;
        std::string const line = text.substr(begin, end - begin);
        begin = end + 1;
        try {
            if (line.empty() || line == "\r") continue;
            if (format == FileFormat::jsonl)
                rows.push_back(FlatObject(line).read());
            else if (header.empty())
                header = csv_cells(line);
            else
                rows.push_back(row_of_cells(header, csv_cells(line)));
        } catch (BadInput const& fault) {
            throw BadInput("line " + std::to_string(number) + ": " + fault.what());
        }
    }
}

std::vector<Row> read_row_file(std::string const& path, FileFormat format) {
    if (path == "-" || !std::filesystem::exists(path)) return {};
    try {
        return read_rows(text_of_file(path), format);
    } catch (BadInput const& fault) {
        throw BadInput(path + ": " + fault.what());
    }
}

namespace {

/// Rows of this program, or the beginning of its first line.
bool is_begun(std::string const& text, FileFormat format) {
    std::string const first = text.substr(0, text.find_first_of("\r\n"));
    std::string const start = format == FileFormat::csv ? csv_header() : "{\"bench\": ";
    if (first.size() == text.size())
        return start.starts_with(first) || (format == FileFormat::jsonl && first.starts_with(start));
    return format == FileFormat::csv ? first == start : first.starts_with(start);
}

}  // namespace

RowWriter::RowWriter(std::string const& path, FileFormat format, Existing existing)
    : file_(stdout), path_(path), format_(format) {
    bool fresh = true;
    if (path != "-") {
        std::string const old = std::filesystem::is_regular_file(path) ? text_of_file(path) : "";
        if (!old.empty() && existing == Existing::refuse)
            throw BadInput("--out " + path + ": the file exists (give --resume to add to it, or another name)");
        if (!old.empty() && !is_begun(old, format))
            throw BadInput("--out " + path + ": holds something else than rows in this format (give another name)");
        std::size_t const whole = old.rfind('\n') == std::string::npos ? 0 : old.rfind('\n') + 1;
        if (whole < old.size()) std::filesystem::resize_file(path, whole);
        fresh = whole == 0;
        file_ = std::fopen(path.c_str(), "ab");
        if (file_ == nullptr) throw BadInput("--out " + path + ": cannot be written (" + std::strerror(errno) + ")");
    }
    if (fresh && format == FileFormat::csv) put(csv_header());
}

RowWriter::~RowWriter() {
    if (file_ != stdout) std::fclose(file_);
}

void RowWriter::write(Row const& row) { put(format_ == FileFormat::csv ? csv_line(row) : jsonl_line(row)); }

void RowWriter::put(std::string const& line) {
    bool const written = std::fprintf(file_, "%s\n", line.c_str()) >= 0 && std::fflush(file_) == 0;
    if (!written)
        throw CannotWrite("--out " + path_ + ": writing failed, " + std::strerror(errno) +
                          " (the rows so far are whole; make room and go on with --resume)");
}

}  // namespace sextant::bench

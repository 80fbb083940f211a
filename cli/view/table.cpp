#include "cli/view/table.hpp"

#include "cli/view/empty_columns.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace sextant::cli {
namespace {

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(std::string const& text, std::size_t width, Align align) {
    std::string const space(width - std::min(width, width_of(text)), ' ');
    return align == Align::right ? space + text : text + space;
}

void end_line(std::string& out) {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
}

std::string markdown_cell(std::string const& text) {
    std::string out;
    for (char const c : text) {
        if (c == '|') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

std::string csv_cell(std::string const& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string out = "\"";
    for (char const c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
    assert(cells.size() <= columns_.size());
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

void Table::leave_out_if_empty(std::string_view header) {
    cli::leave_out_if_empty(columns_, rows_, header, [](std::string const& cell) { return std::string_view(cell); });
}

std::string Table::text() const {
    std::vector<std::size_t> widths;
    for (auto const& column : columns_)
        widths.push_back(width_of(column.header));
    for (auto const& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));

    std::string out;
    auto const add_line = [&](auto const& cell_at) {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) out += "  ";
            out += padded(cell_at(i), widths[i], columns_[i].align);
        }
        end_line(out);
    };
    add_line([&](std::size_t i) { return columns_[i].header; });
    add_line([&](std::size_t i) { return std::string(widths[i], '-'); });
    for (auto const& row : rows_)
        add_line([&](std::size_t i) { return row[i]; });
    return out;
}

std::string Table::markdown() const {
    std::string out = "|";
    for (auto const& column : columns_)
        out += " " + markdown_cell(column.header) + " |";
    out += "\n|";
    for (auto const& column : columns_)
        out += column.align == Align::right ? "---:|" : "---|";
    out += "\n";
    for (auto const& row : rows_) {
        out += "|";
        for (auto const& cell : row)
            out += " " + markdown_cell(cell) + (cell.empty() ? "|" : " |");
        out += "\n";
    }
    return out;
}

std::string Table::csv(QuestionCells const& question) const {
    std::string out;
    auto const add_line = [&](auto const& cell_at, auto const& asked_at) {
        for (auto const& asked : question)
            out += csv_cell(asked_at(asked)) + ',';
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) out += ',';
            out += csv_cell(cell_at(i));
        }
        out += '\n';
    };
    using Asked = QuestionCells::value_type;
    add_line([&](std::size_t i) -> std::string const& { return columns_[i].header; },
             [](Asked const& asked) -> std::string const& { return asked.first; });
    for (auto const& row : rows_)
        add_line([&](std::size_t i) -> std::string const& { return row[i]; },
                 [](Asked const& asked) -> std::string const& { return asked.second; });
    return out;
}

std::string aligned_pairs(std::vector<std::pair<std::string, std::string>> const& pairs, std::string_view indent) {
    std::size_t width = 0;
    for (auto const& pair : pairs)
        width = std::max(width, width_of(pair.first));
    std::string out;
    for (auto const& [name, value] : pairs) {
        out += std::string(indent) + padded(name, width, Align::left) + "  " + value;
        end_line(out);
    }
    return out;
}

std::string wrapped(std::string_view paragraph, std::string_view indent, std::size_t width) {
    std::string out;
    std::string_view rest = paragraph;
    std::size_t room = width;
    while (width_of(rest) > room) {
        std::size_t at = std::string_view::npos;  // the last space that still leaves the line within the width
        for (std::size_t i = rest.find_first_not_of(' '); i < rest.size(); ++i) {
            if (rest[i] != ' ') continue;
            if (at != std::string_view::npos && width_of(rest.substr(0, i)) > room) break;
            at = i;
        }
        if (at == std::string_view::npos) break;
        out += rest.substr(0, at);
        end_line(out);
        out += indent;
        room = width - std::min(width, width_of(indent));
        rest = rest.substr(at);
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    out += rest;
    end_line(out);
    return out;
}

std::string assumed_markdown(std::vector<std::string> const& assumptions) {
    if (assumptions.empty()) return "";
    std::string out = "\nAssumed:\n\n";
    for (std::string const& line : assumptions)
        out += wrapped("- " + line);
    return out;
}

}  // namespace sextant::cli

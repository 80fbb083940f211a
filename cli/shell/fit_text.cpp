#include "cli/shell/fit_text.hpp"

#include "cli/view/table.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sextant::cli {
namespace {

bool continues_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t width_of(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_letter));
}

/// `count` letters of the text from letter `first` on.
std::string_view letters(std::string_view text, std::size_t first, std::size_t count) {
    auto const byte_of = [&](std::size_t letter) {
        std::size_t at = 0;
        for (; at < text.size() && letter > 0; --letter)
            for (++at; at < text.size() && continues_letter(text[at]);)
                ++at;
        return at;
    };
    std::size_t const begin = byte_of(first);
    text.remove_prefix(begin);
    return text.substr(0, byte_of(count));
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

struct Span {
    std::size_t begin = 0;
    std::size_t width = 0;
};

/// Where the columns of a table stand, if this is the rule under its header ("----  ---"), else nothing.
std::vector<Span> columns_of_rule(std::string_view line) {
    std::vector<Span> spans;
    for (std::size_t at = 0; at < line.size();) {
        std::size_t const end = std::min(line.find(' ', at), line.size());
        if (end == at || line.substr(at, end - at).find_first_not_of('-') != std::string_view::npos) return {};
        spans.push_back({at, end - at});
        if (end == line.size()) break;
        if (line.substr(end, 2) != "  ") return {};
        at = end + 2;
    }
    return spans;
}

/// A line of the table has nothing between its columns.
bool is_row(std::string_view line, std::vector<Span> const& columns) {
    if (line.empty()) return false;
    for (Span const& column : columns)
        if (column.begin > 0 && letters(line, column.begin - 2, 2).find_first_not_of(' ') != std::string_view::npos)
            return false;
    Span const& last = columns.back();
    return width_of(line) <= last.begin + last.width;
}

std::string padded(std::string_view text, std::size_t width) {
    return std::string(text) + std::string(width - std::min(width, width_of(text)), ' ');
}

void add_line(std::string& out, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
}

/// The lines of a cell inside its column: itself, or its words wrapped.
std::vector<std::string> cell_lines(std::string_view row, Span const& column, std::size_t width) {
    std::string_view cell = letters(row, column.begin, column.width);
    if (width >= column.width) return {std::string(cell)};
    cell.remove_prefix(std::min(cell.find_first_not_of(' '), cell.size()));
    cell = cell.substr(0, cell.find_last_not_of(' ') + 1);
    std::vector<std::string> out;
    std::string const text = wrapped(cell, "", width);
    for (std::string_view const line : lines_of(text))
        out.emplace_back(line);
    return out;
}

/// The longest word that a column holds, and its header: no narrower can it be.
std::size_t longest_word(std::vector<std::string_view> const& rows, Span const& column) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i == 1) continue;  // the rule
        std::string_view cell = letters(rows[i], column.begin, column.width);
        while (!cell.empty()) {
            std::size_t const end = std::min(cell.find(' '), cell.size());
            longest = std::max(longest, width_of(cell.substr(0, end)));
            cell.remove_prefix(std::min(end + 1, cell.size()));
        }
    }
    return longest;
}

/// Widths after the columns of words, widest first, gave way.
std::vector<std::size_t> shrunk(std::vector<std::string_view> const& rows, std::vector<Span> const& columns,
                                std::size_t total) {
    constexpr std::size_t narrowest = 24;
    std::vector<std::size_t> widths;
    std::size_t sum = 2 * (columns.size() - 1);
    for (Span const& column : columns) {
        widths.push_back(column.width);
        sum += column.width;
    }
    std::vector<std::size_t> least(columns.size());
    std::transform(columns.begin(), columns.end(), least.begin(),
                   [&](Span const& c) { return std::max(std::min(narrowest, c.width), longest_word(rows, c)); });
    while (sum > total) {
        std::size_t best = columns.size();
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (widths[i] > least[i] && (best == columns.size() || widths[i] > widths[best])) best = i;
        if (best == columns.size()) break;
        --widths[best];
        --sum;
    }
    return widths;
}

/// Columns first..last of every row, wrapped inside their columns.
void add_block(std::string& out, std::vector<std::string_view> const& rows, std::vector<Span> const& columns,
               std::vector<std::size_t> const& widths, std::vector<std::size_t> const& chosen) {
    for (std::string_view const row : rows) {
        bool const rule = row.find_first_not_of("- ") == std::string_view::npos && row.starts_with('-');
        std::vector<std::vector<std::string>> cells;
        std::size_t height = 1;
        for (std::size_t const i : chosen) {
            cells.push_back(rule ? std::vector{std::string(widths[i], '-')} : cell_lines(row, columns[i], widths[i]));
            height = std::max(height, cells.back().size());
        }
        for (std::size_t h = 0; h < height; ++h) {
            std::string line;
            for (std::size_t c = 0; c < chosen.size(); ++c) {
                if (c > 0) line += "  ";
                line += padded(h < cells[c].size() ? cells[c][h] : "", widths[chosen[c]]);
            }
            add_line(out, line);
        }
    }
}

/// Widths for a table that has to be cut: a column gives way only to what is wider than a block of its own.
std::vector<std::size_t> widths_in_blocks(std::vector<std::string_view> const& rows, std::vector<Span> const& columns,
                                          std::size_t total) {
    std::size_t const room = total - std::min(total, columns[0].width + 2);
    std::vector<std::size_t> widths;
    for (Span const& column : columns)
        widths.push_back(std::min(column.width, std::max(room, longest_word(rows, column))));
    widths[0] = columns[0].width;
    return widths;
}

void add_table(std::string& out, std::vector<std::string_view> const& rows, std::vector<Span> const& columns,
               std::size_t total) {
    auto widths = shrunk(rows, columns, total);
    if (std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1)) > total)
        widths = widths_in_blocks(rows, columns, total);
    std::vector<std::size_t> chosen{0};
    std::size_t width = widths[0];
    for (std::size_t i = 1; i < columns.size(); ++i) {
        if (width + 2 + widths[i] > total && chosen.size() > 1) {
            add_block(out, rows, columns, widths, chosen);
            out += '\n';
            chosen = {0};
            width = widths[0];
        }
        chosen.push_back(i);
        width += 2 + widths[i];
    }
    add_block(out, rows, columns, widths, chosen);
}

/// The last part of a line of several columns, where it is a sentence: four words or more, one space apart.
bool ends_in_sentence(std::string_view line) {
    std::size_t const gap = line.rfind("  ");
    return gap != std::string_view::npos &&
           std::count(line.begin() + static_cast<std::ptrdiff_t>(gap) + 2, line.end(), ' ') >= 3;
}

/// A picture or a line of several columns: broken, it would say nothing.
bool is_picture(std::string_view line) {
    if (line.find('|') != std::string_view::npos || line.find("\xE2\x96") != std::string_view::npos) return true;
    std::size_t gaps = 0;
    std::size_t at = line.find_first_not_of(' ');
    while ((at = line.find("  ", at)) != std::string_view::npos) {
        ++gaps;
        at = line.find_first_not_of(' ', at);
    }
    return gaps > 1 && !ends_in_sentence(line);
}

void add_sentence(std::string& out, std::string_view line, std::size_t columns) {
    if (width_of(line) <= columns || is_picture(line)) {
        out += std::string(line) + '\n';
        return;
    }
    std::size_t const text = std::min(line.find_first_not_of(' '), line.size());
    std::size_t indent = text + 2;
    std::size_t const gap = line.rfind("  ");  // "name    value": go on under the value
    if (gap != std::string_view::npos && gap > text)
        indent = width_of(line.substr(0, line.find_first_not_of(' ', gap)));
    if (indent > columns / 2) indent = text + 2;
    out += wrapped(line, std::string(indent, ' '), columns);
}

/// Whether a line as far in as the one before is an item of its own: "- ...", "plan: tp8 ...", "name = value ...", a
/// price.
bool begins_item(std::string_view text, std::string_view word) {
    return word == "-" || word.starts_with('$') || word.ends_with(':') || text.find(" = ") != std::string_view::npos;
}

/// The line and those after it that go on with it: a report breaks its sentences at a width of its own, and broken
/// again at another they would end in single words. `i` becomes the last line that was taken.
std::string whole_sentence(std::vector<std::string_view> const& lines, std::size_t& i) {
    constexpr std::size_t width_of_reports = 100;  // the default of `wrapped`
    constexpr std::size_t narrowest = 96;          // of lists and of values behind a name
    std::string sentence(lines[i]);
    std::size_t const text = std::min(sentence.find_first_not_of(' '), sentence.size());
    std::size_t const gap = std::min(sentence.find("  ", text), sentence.size());
    std::size_t const value = sentence.find_first_not_of(' ', gap);
    while (i + 1 < lines.size() && !is_picture(lines[i]) && width_of(lines[i]) <= width_of_reports) {
        std::string_view const next = lines[i + 1];
        std::size_t const indent = next.find_first_not_of(' ');
        if (indent == std::string_view::npos || is_picture(next)) break;
        bool const hangs = indent == value || (indent > text && indent <= text + 4);
        if (!hangs && indent != text) break;
        if (next.find("  ", indent) != std::string_view::npos) break;  // a name and its value
        std::string_view const word = next.substr(indent, next.find(' ', indent) - indent);
        if ((indent == text || indent == value) && begins_item(next, word)) break;
        if (width_of(lines[i]) + 1 + width_of(word) <= (hangs ? narrowest : width_of_reports)) break;
        sentence += " " + std::string(next.substr(indent));
        ++i;
    }
    return sentence;
}

}  // namespace

std::string fit_text(std::string_view report, std::size_t columns) {
    if (columns == 0) return std::string(report);
    std::string out;
    auto const lines = lines_of(report);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::vector<Span> spans;
        if (i + 1 < lines.size() && !lines[i].empty()) spans = columns_of_rule(lines[i + 1]);
        if (spans.empty() || width_of(lines[i + 1]) <= columns || !is_row(lines[i], spans)) {
            bool const broken = width_of(lines[i]) > columns;
            std::string const sentence = broken ? whole_sentence(lines, i) : std::string(lines[i]);
            add_sentence(out, sentence, columns);
            continue;
        }
        std::vector<std::string_view> rows{lines[i], lines[i + 1]};
        for (i += 2; i < lines.size() && is_row(lines[i], spans); ++i)
            rows.push_back(lines[i]);
        --i;
        add_table(out, rows, spans, columns);
    }
    if (!report.ends_with('\n') && !out.empty()) out.pop_back();
    return out;
}

std::string for_terminal(std::string_view report, Terminal const& terminal) {
    std::string const fitted = fit_text(report, terminal.columns);
    return terminal.colour == Colour::used ? coloured(fitted) : fitted;
}

}  // namespace sextant::cli

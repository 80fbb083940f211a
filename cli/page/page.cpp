#include "cli/page/page.hpp"

#include "cli/page/html_text.hpp"
#include "cli/page/page_assets.hpp"
#include "cli/page/plotting_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>

namespace sextant::cli {
namespace {

/// What scripts must carry to run. It depends on all that the page says, so that nothing in the page can know it: a
/// name that got past the escapes would still run nothing.
std::string nonce_of(std::string const& content) { return fmt::format("{:016x}", std::hash<std::string>{}(content)); }

std::string_view asset(std::string_view name) {
    for (EmbeddedText const& text : embedded_page_assets())
        if (text.name == name) return text.text;
    assert(false);
    return {};
}

std::string_view class_of(Tone tone) {
    switch (tone) {
        case Tone::plain: return "plain";
        case Tone::good: return "good";
        case Tone::warning: return "warning";
        case Tone::bad: return "bad";
    }
    return "plain";
}

std::string head(Page const& page, std::string const& nonce) {
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{0}'; style-src "
        "'unsafe-inline'; img-src data: blob:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{1}</title>\n<style>\n{2}</style>\n</head>\n",
        nonce, html(page.title), asset("page_style"));
}

std::string figures(std::vector<PageFigure> const& list) {
    if (list.empty()) return "";
    constexpr std::size_t most_in_a_row = 7;  // of a window that is as wide as the page
    bool const two_rows = list.size() > most_in_a_row;
    std::string out = fmt::format("<div class=\"figures{}\">\n", two_rows ? " even" : "");
    for (PageFigure const& f : list) {
        out += fmt::format("<div class=\"figure {}\"><div class=\"label\">{}</div><div class=\"value\">{}</div>",
                           class_of(f.tone), html(f.label), html(f.value));
        if (!f.note.empty()) out += fmt::format("<div class=\"note\">{}</div>", html(f.note));
        out += "</div>\n";
    }
    return out + "</div>\n";
}

/// Attributes of what scrolls by itself: keys reach it, and a screen reader says what it is.
std::string scroll_box(std::string const& title) {
    return fmt::format("class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"", html(title));
}

std::string table_head(std::vector<PageColumn> const& columns) {
    std::string out = "<thead><tr>";
    for (PageColumn const& c : columns) {
        out += fmt::format("<th scope=\"col\"{}", c.align == Align::right ? " class=\"n\"" : "");
        if (c.choice == PageColumn::Choice::list) out += " data-choice";
        if (!c.hint.empty()) out += fmt::format(" title=\"{}\"", html(c.hint));
        out += fmt::format("><button type=\"button\">{}</button></th>", html(c.header));
    }
    return out + "</tr></thead>\n";
}

std::string table_rows(PageTable const& table) {
    std::string out = "<tbody>\n";
    for (auto const& row : table.rows) {
        assert(row.size() == table.columns.size());
        out += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            out += "<td";
            if (table.columns[i].align == Align::right) out += " class=n";
            if (row[i].value) out += fmt::format(" data-v={:.6g}", *row[i].value);
            out += fmt::format(">{}</td>", html(row[i].text));
        }
        out += "</tr>\n";
    }
    return out + "</tbody>";
}

/// The blocks of a page, one after the other; charts get a number by which the script finds their data.
class BlockWriter {
public:
    void operator()(Chart const& chart) {
        if (!in_charts_) out_ += "<div class=\"charts\">\n";
        in_charts_ = true;
        out_ += fmt::format(
            "<section class=\"chart{0}\"><h2>{1}</h2><p class=\"note\">{2}</p><div class=\"plot\" id=\"chart{3}\" "
            "role=\"img\" aria-label=\"{1}\"></div><script type=\"application/json\" "
            "id=\"data{3}\">{4}</script></section>\n",
            chart.wide ? " wide" : "", html(chart.title), html(chart.note), charts_, script_json(chart_json(chart)));
        ++charts_;
    }

    void operator()(PageTable const& table) {
        begin(table.title);
        if (!table.note.empty()) out_ += fmt::format("<p class=\"note\">{}</p>\n", html(table.note));
        out_ += fmt::format(
            "<div class=\"controls\" hidden></div>\n<div {}><table class=\"data\">\n{}{}</table></div></section>\n",
            scroll_box(table.title), table_head(table.columns), table_rows(table));
    }

    void operator()(PageList const& list) {
        begin(list.title, class_of(list.tone));
        out_ += "<ul>\n";
        for (std::string const& item : list.items)
            out_ += fmt::format("<li>{}</li>\n", html(item));
        out_ += "</ul></section>\n";
    }

    void operator()(PagePairs const& list) {
        begin(list.title);
        out_ += "<dl>\n";
        for (auto const& [name, value] : list.pairs)
            out_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html(name), html(value));
        out_ += "</dl></section>\n";
    }

    void operator()(PageText const& text) {
        begin(text.title);
        std::string lines;
        for (std::size_t begin = 0; begin < text.text.size();) {  // `html` makes spaces of line ends
            std::size_t const end = std::min(text.text.find('\n', begin), text.text.size());
            lines += html(text.text.substr(begin, end - begin)) + "\n";
            begin = end + 1;
        }
        out_ += fmt::format("<pre {}>{}</pre></section>\n", scroll_box(text.title), lines);
    }

    std::string done() {
        end_charts();
        return std::move(out_);
    }

private:
    void begin(std::string const& title, std::string_view kind = "plain") {
        end_charts();
        out_ += fmt::format("<section class=\"{}\"><h2>{}</h2>\n", kind, html(title));
    }
    void end_charts() {
        if (in_charts_) out_ += "</div>\n";
        in_charts_ = false;
    }

    std::string out_;
    int charts_ = 0;
    bool in_charts_ = false;
};

}  // namespace

std::string html_page(Page const& page) {
    std::string out =
        fmt::format("<body>\n<header><p class=\"command\">{}</p><h1>{}</h1>\n", html(page.command), html(page.title));
    for (std::string const& line : page.lines)
        out += fmt::format("<p class=\"asked\">{}</p>\n", html(line));
    out += "</header>\n<main>\n";
    if (!page.verdict.empty())
        out += fmt::format("<p class=\"verdict {}\">{}</p>\n", class_of(page.tone), html(page.verdict));
    out += figures(page.figures);
    BlockWriter blocks;
    for (PageBlock const& block : page.blocks)
        std::visit(blocks, block);
    out += blocks.done();
    out += "</main>\n<noscript><p>The charts need JavaScript; the tables do not.</p></noscript>\n";
    std::string const nonce = nonce_of(out);
    out.insert(0, head(page, nonce));
    auto const script = [&](std::string_view text) {
        out += fmt::format("<script nonce=\"{}\">\n{}\n</script>\n", nonce, text);
    };
    script(asset("page_tables"));  // before the plotting library has been read
    if (std::any_of(page.blocks.begin(), page.blocks.end(),
                    [](PageBlock const& block) { return std::holds_alternative<Chart>(block); })) {
        script(asset("page_charts"));
        script(plotting_library());
        script("sextantDrawCharts();");
    }
    return out + "</body>\n</html>\n";
}

}  // namespace sextant::cli

#pragma once

#include "cli/page/chart.hpp"
#include "cli/view/table.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sextant::cli {

enum class Tone : std::uint8_t { plain, good, warning, bad };

/// A figure that answers the question: "step time", "5.37 s", "80 %: 4.4 s to 6.2 s".
struct PageFigure {
    std::string label;
    std::string value;
    std::string note{};
    Tone tone = Tone::plain;
};

/// A cell: what is shown, and the number that it sorts by (else by its text).
struct PageCell {
    std::string text;
    std::optional<double> value{};
};

/// A column; one with few values gets a list to choose from above the table.
struct PageColumn {
    enum class Choice : std::uint8_t { none, list };
    std::string header;
    Align align = Align::right;
    Choice choice = Choice::none;
    std::string hint{};  ///< what the column is, when one points at it
};

/// Rows that sort by a click on a header and are filtered by words and choices.
struct PageTable {
    std::string title;
    std::string note{};
    std::vector<PageColumn> columns;
    std::vector<std::vector<PageCell>> rows{};
};

/// Sentences under a title.
struct PageList {
    std::string title;
    std::vector<std::string> items;
    Tone tone = Tone::plain;
};

/// Names and values under a title.
struct PagePairs {
    std::string title;
    std::vector<std::pair<std::string, std::string>> pairs;
};

/// A text whose columns and lines stand as they are.
struct PageText {
    std::string title;
    std::string text;
};

using PageBlock = std::variant<Chart, PageTable, PageList, PagePairs, PageText>;

/// A report for a browser, in reading order.
struct Page {
    std::string command;  ///< "sextant plan"
    std::string title;
    std::vector<std::string> lines{};  ///< what was asked, under the title
    std::string verdict{};             ///< the answer in a sentence
    Tone tone = Tone::plain;           ///< of the verdict
    std::vector<PageFigure> figures{};
    std::vector<PageBlock> blocks{};
};

/// One HTML file that needs nothing else: style, script, plotting library and data are inside, and its content security
/// policy forbids any connection and any other script. Every text of the page is escaped.
/// @pre the plotting library is there (`require_plotting_library`).
std::string html_page(Page const& page);

}  // namespace sextant::cli

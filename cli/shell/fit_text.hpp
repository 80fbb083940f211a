#pragma once

#include "cli/shell/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace sextant::cli {

/// A text report with no line longer than `columns`, as far as its words allow. 0 columns: unchanged.
///
/// A table (known by the rule of dashes under its header) that is too wide first wraps its widest columns of words
/// inside the column, then is cut into blocks one below the other, each beginning with the first column. Sentences are
/// wrapped at spaces and indented; pictures (lines of boxes, bars or columns) stay whole. No word is lost or changed.
std::string fit_text(std::string_view report, std::size_t columns);

/// The report with headers of tables in bold, rules dim, and the words that say whether something fits in colour.
/// Without the escape sequences it is the report again.
std::string coloured(std::string_view report);

/// What a terminal is shown: fitted and coloured as it allows.
std::string for_terminal(std::string_view report, Terminal const& terminal);

/// "\x1b[31m...\x1b[0m" if the terminal shows colour.
std::string in_red(std::string_view text, Terminal const& terminal);
std::string in_bold(std::string_view text, Terminal const& terminal);

}  // namespace sextant::cli

#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

/// The lines of a report.
inline std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

/// The cells of one CSV line (RFC 4180: a quoted cell may hold commas and doubled quotes).
inline std::vector<std::string> csv_cells(std::string const& line) {
    std::vector<std::string> cells{""};
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char const c = line[i];
        if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
            cells.back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

/// Whether all lines have as many cells as the first.
inline bool is_csv_table(std::string const& text) {
    auto const lines = lines_of(text);
    return lines.size() > 1 && std::all_of(lines.begin(), lines.end(), [&](std::string const& line) {
               return csv_cells(line).size() == csv_cells(lines[0]).size();
           });
}

/// Whether all lines begin and end with a bar and have as many bars as the first, and the second is the rule.
inline bool is_markdown_table(std::string const& text) {
    auto const lines = lines_of(text.substr(0, text.find("\n\nAssumed:")));
    auto const bars = [](std::string const& line) { return std::count(line.begin(), line.end(), '|'); };
    return lines.size() > 2 && lines[1].find("---") != std::string::npos &&
           std::all_of(lines.begin(), lines.end(), [&](std::string const& line) {
               return line.starts_with('|') && line.ends_with('|') && bars(line) == bars(lines[0]);
           });
}

/// Whether a text has this word, not as a part of a longer one.
inline bool has_word(std::string const& text, std::string const& word) {
    auto const letter = [&](std::size_t i) {
        return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
    };
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
        if (!(at > 0 && letter(at - 1)) && !letter(at + word.size())) return true;
    return false;
}

/// Whether a report has no number that is none.
inline bool all_finite(nlohmann::json const& json) {
    if (json.is_structured()) return std::all_of(json.begin(), json.end(), all_finite);
    return !json.is_number() || std::isfinite(json.get<double>());
}

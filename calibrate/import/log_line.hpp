#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Words of a line, parted by blanks and tabs.
std::vector<std::string_view> words_of(std::string_view line);

/// Whether the whole word is a number of this kind, which `out` then is.
template <class Number>
bool is_number(std::string_view word, Number& out) {
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc{} && end == word.data() + word.size();
}

/// Without what launchers put before a line ("[1,0]<stdout>:", "[2024-05-01 12:00:00]", a date, a time, "node3 | ",
/// "0: ") and without a carriage return at its end.
std::string_view without_prefixes(std::string_view line);

/// Drops words at the end that are a date or a time: "2024-05-01 12:00:00".
void drop_trailing_time(std::vector<std::string_view>& words);

/// Without the colours of a terminal: ESC [ ... m.
std::string without_colours(std::string_view text);

/// The number behind these words and the signs between: "'words': 1.20", "words=1,024", "words: 1.2K". A letter behind
/// it is a power of 1000, as nanotron shortens its figures. Nothing where the words (null: none) are missing.
std::optional<double> figure_behind(std::string_view line, char const* words);

/// Lines of a text, which a progress bar ends with a carriage return.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace sextant

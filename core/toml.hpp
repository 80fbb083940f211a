#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class TomlKind : std::uint8_t { text, number, boolean, list };

/// One `key = value` of a TOML file.
struct TomlEntry {
    std::string section;  ///< "" before the first [section]; "a.b" in [a.b]
    std::string key;      ///< without quotes
    TomlKind kind = TomlKind::text;
    std::vector<std::string> values;  ///< one, or those of a list; strings without quotes, numbers as written
    std::int64_t line = 0;            ///< from 1
};

/// The entries of a flat TOML file, in order: tables, strings ("basic" with escapes and 'literal'), numbers, booleans,
/// and lists of these over any number of lines. Dates, inline tables, arrays of tables and multi-line strings are
/// refused by name rather than misread.
///
/// Source: https://toml.io/en/v1.0.0
/// @throws InputError with `where` and the line: what is not understood, a key or a table that is there twice.
std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view where);

/// `text` as a TOML string in quotes.
std::string toml_string(std::string_view text);

}  // namespace sextant

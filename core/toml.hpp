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
    std::vector<std::string> values;  ///< one, or those of a list; strings without quotes
    std::int64_t line = 0;            ///< from 1
};

/// The values of a TOML file, tables flattened, in the order of their lines. Dates and times, lists in lists and lists
/// of tables are refused.
///
/// Source: https://toml.io/en/v1.0.0 (toml++)
/// @throws InputError with `where` and the line.
std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view where);

/// `text` as a TOML string in quotes.
std::string toml_string(std::string_view text);

}  // namespace sextant

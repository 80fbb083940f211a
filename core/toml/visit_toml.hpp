#pragma once

#include "core/toml/checked_toml.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace sextant {

/// Is given each value that is no table: the dotted name of its table ("" before the first), its key, and itself.
using TomlVisitor = std::function<void(std::string const& section, toml::key const& key, toml::node const& value)>;

/// Parses a TOML text and shows its values to `visit`, tables flattened.
/// @throws InputError with `where` and the line.
void visit_toml(std::string_view text, std::string_view where, TomlVisitor const& visit);

}  // namespace sextant
